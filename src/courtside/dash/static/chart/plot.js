// A chart of curves over a common x axis, drawn by uPlot.
//
// A curve is {label, x, mean, low?, high?, colour?, band?, dash?, width?, faint?}; colours are names of the style sheet.
// Each becomes four columns of uPlot: low, high (a band between them), raw (pale, only when smoothed) and the line itself.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { colour } from "../colours.js";
import { duration, short } from "../format.js";
import { logKind, smooth } from "./curves.js";
import { markHooks } from "./marks.js";
import { dragByTouch } from "./touch.js";

const COLUMNS = 4;
const LINE = 3;
const FEW_POINTS = 40;
const FONT = "11px system-ui, sans-serif";
const LETTER = 6.6;
const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
/** Distances of ticks that are round in a time. */
const SECONDS = [
  [0.1, 0.2, 0.5],
  [1, 2, 5, 10, 15, 30],
  [1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  [1, 2, 4, 6, 12].map((each) => each * HOUR),
  [1, 2, 5, 10, 30].map((each) => each * DAY),
].flat();

const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => target.plot?.fit()));
const living = new Set();
document.addEventListener("themechange", () => living.forEach((plot) => plot.u?.redraw(false, true)));

export class Plot {
  /** `onSelect(from, to)` hears of a dragged range, `onCursor(index or null)` of the pointer; plots of one `link` share the cursor. */
  constructor(host, { height = 180, xKind = "step", link = null, yRange = null, onSelect = null, onCursor = () => {} } = {}) {
    Object.assign(this, { host, height, xKind, link, yRange, onSelect, onCursor });
    Object.assign(this, { curves: [], marks: {}, weight: 0, log: false, range: null, extent: null, u: null });
    host.plot = this;
    host.style.height = `${height}px`;
    sizes.observe(host);
    living.add(this);
  }

  /** Changes any of curves, marks, weight (of the smoothing), log, range, extent, xKind, height, and draws again. */
  set(changes) {
    const rebuild = !this.u || this.needsRebuild(changes);
    Object.assign(this, changes);
    if (this.curves.length === 0 || this.host.clientWidth === 0) return;
    if (rebuild) this.build();
    else this.u.setData(this.table());
  }

  needsRebuild({ curves = this.curves, log = this.log, xKind = this.xKind }) {
    const looks = (list) => JSON.stringify(list.map(({ label, colour: name, dash, faint }) => [label, name, dash, faint]));
    const isOtherLog = log && logKind(curves)?.distr !== this.logScale?.distr;
    return log !== this.log || isOtherLog || xKind !== this.xKind || looks(curves) !== looks(this.curves);
  }

  build() {
    this.u?.destroy();
    this.logScale = this.log ? logKind(this.curves) : null;
    this.u = new uPlot(this.options(), this.table(), this.host);
    if (this.onSelect) dragByTouch(this.u, () => this.selected(this.u));
  }

  fit() {
    if (!this.u) return this.set({});
    if (this.host.clientWidth > 0) this.u.setSize({ width: this.host.clientWidth, height: this.height });
  }

  destroy() {
    this.u?.destroy();
    sizes.unobserve(this.host);
    living.delete(this);
  }

  /** Columns of uPlot; curves over different x are joined, and gaps are drawn through. */
  table() {
    const parts = this.curves.map((curve) => [curve.x, ...this.columns(curve)]);
    const joined = parts.length === 1 ? parts[0] : uPlot.join(parts);
    this.xs = joined[0];
    return joined;
  }

  columns({ x, mean, low, high }) {
    const none = () => new Array(x.length).fill(null);
    const isSmoothed = this.weight > 0;
    return [low ?? none(), high ?? none(), isSmoothed ? mean : none(), smooth(mean, this.weight)];
  }

  options() {
    return {
      width: this.host.clientWidth,
      height: this.height,
      legend: { show: false },
      padding: [8, 14, 0, 0],
      series: [{}, ...this.curves.flatMap(seriesOf)],
      bands: this.curves.map(bandOf),
      scales: {
        x: { time: false, range: (u, low, high) => this.xRange(low, high) },
        y: { ...this.logScale, range: (u, low, high) => this.rangeOfY(low, high) },
      },
      axes: [
        this.axis({
          size: 20,
          space: 70,
          incrs: this.xKind === "time" ? SECONDS : undefined,
          values: (u, ticks) => ticks.map((tick) => this.xWords(tick)),
        }),
        this.axis({ size: widthOfLabels, space: 34, values: (u, ticks) => ticks.map(short) }),
      ],
      cursor: this.cursor(),
      hooks: { ...markHooks(() => this.marks), ...this.hooks() },
    };
  }

  axis(own) {
    const grid = { stroke: () => colour("grid"), width: 1 };
    return { stroke: () => colour("muted"), font: FONT, grid, ticks: { show: false }, gap: 4, ...own };
  }

  xWords(tick) {
    return this.xKind === "time" ? duration(tick) : short(tick);
  }

  cursor() {
    const followPointer = (type) => type === "mousemove" || type === "mouseleave";
    return {
      y: false,
      points: { size: 6 },
      drag: { x: this.onSelect !== null, y: false, setScale: false },
      sync: this.link ? { key: this.link, filters: { pub: followPointer, sub: followPointer } } : undefined,
    };
  }

  hooks() {
    return { setSelect: [(u) => this.selected(u)], setCursor: [(u) => this.onCursor(u.cursor.left >= 0 ? u.cursor.idx : null)] };
  }

  selected(u) {
    if (u.select.width > 4) this.onSelect?.(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }

  /** A chosen range first, then the common extent of all charts, then that of the data. */
  xRange(low, high) {
    const [from, to] = this.range ?? this.extent ?? [low, high];
    return from < to ? [from, to] : [from - 1, from + 1];
  }

  /** Room for the levels of thresholds too: how far there is to go is worth seeing. */
  rangeOfY(low, high) {
    if (this.yRange) return this.yRange;
    const levels = this.range ? [] : (this.marks.levels ?? []).map((level) => level.y);
    const [least, most] = [Math.min(low ?? 0, ...levels), Math.max(high ?? 1, ...levels)];
    if (this.logScale?.distr === 3) return uPlot.rangeLog(least > 0 ? least : low, most, 10, false);
    if (this.logScale) return uPlot.rangeAsinh(least, most, 10, false);
    return least === most
      ? [least - (Math.abs(least) || 1) * 0.1, most + (Math.abs(most) || 1) * 0.1]
      : uPlot.rangeNum(least, most, 0.08, false);
  }

  /** Puts the cursor on a point, as the pointer would; null takes it away. */
  point(index) {
    const left = index === null ? -10 : this.u.valToPos(this.xs[index], "x");
    this.u.setCursor({ left, top: 10 }, true, true);
  }

  /** The value of a curve's line at an index of the joined table. */
  lineAt(curve, index) {
    return this.u.data[1 + COLUMNS * curve + LINE][index];
  }
}

/** As much room as the longest label needs. */
const widthOfLabels = (u, labels) => 12 + LETTER * Math.max(3, ...(labels ?? []).map((label) => label?.length ?? 0));

function seriesOf(curve) {
  const own = () => colour(curve.colour ?? "data");
  const hidden = { width: 0, stroke: "transparent", spanGaps: true, points: { show: false } };
  const dots = { show: (u) => !curve.faint && u.data[0].length < FEW_POINTS, size: 5, fill: own, stroke: own };
  const line = {
    stroke: curve.faint ? () => colour("raw") : own,
    width: curve.width ?? (curve.faint ? 1 : 1.6),
    dash: curve.dash,
    spanGaps: true,
    points: dots,
  };
  return [hidden, { ...hidden }, { stroke: () => faded(own()), width: 1, spanGaps: true, points: { show: false } }, line];
}

const bandOf = (curve, index) => ({
  series: [2 + COLUMNS * index, 1 + COLUMNS * index],
  fill: () => faded(colour(curve.colour ?? "data"), 0.17),
});

/** A colour as getComputedStyle gives it, made paler. */
const faded = (text, alpha = 0.4) => text.replace(/^rgb\(([^)]*)\)$/, `rgba($1, ${alpha})`);

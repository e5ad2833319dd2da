// One metric: its name, newest value, curve, and what it means in plain words.

import { newest, trend } from "../chart/curves.js";
import { Plot } from "../chart/plot.js";
import { el, replace, say, setText } from "../dom.js";
import { number, place } from "../format.js";
import { chartId, ownName } from "./metric_groups.js";

const TRENDS = { rising: "↗", falling: "↘", steady: "→" };
const HEIGHT = { usual: 170, large: 300 };

export class ChartCard {
  constructor(metric, explanation, board, isLarge) {
    Object.assign(this, { metric, board, isStale: true, series: null, cursor: null, walked: null });
    this.value = el("b", {}, "…");
    this.where = el("span", {}, "\u00a0");
    this.host = el("div", {
      class: "plot",
      role: "img",
      tabindex: "0",
      "aria-label": `${metric}: no values yet`,
      onkeydown: (event) => this.key(event),
      onblur: () => this.move(null),
    });
    this.explanation = el("div", { class: "explanation" });
    this.explain(explanation);
    this.node = el(
      "figure",
      { class: isLarge ? "chart large" : "chart", id: chartId(metric) },
      el(
        "figcaption",
        {},
        el("h3", { title: metric }, isLarge ? metric : ownName(metric)),
        el("p", { class: "readout" }, this.value),
        el("p", { class: "where muted" }, this.where),
      ),
      this.host,
      this.explanation,
    );
    this.node.card = this;
    this.plot = new Plot(this.host, {
      height: isLarge ? HEIGHT.large : HEIGHT.usual,
      link: "run",
      onSelect: (from, to) => board.zoom([from, to]),
      onCursor: (index) => this.read(index),
    });
  }

  /** The meaning shows in two lines; opened, it shows whole, with what good and bad look like. */
  explain(explanation) {
    if (!explanation) return;
    const lines = [
      ["Good", "✓", explanation.good],
      ["Bad", "✕", explanation.bad],
    ]
      .filter(([, , text]) => text)
      .map(([word, shape, text]) => el("p", {}, el("b", { class: word.toLowerCase() }, `${shape} ${word}: `), text));
    replace(
      this.explanation,
      el("details", {}, el("summary", {}, el("span", {}, explanation.meaning || "What good and bad look like.")), lines),
    );
  }

  /** Takes a new answer of the server. */
  show(series) {
    this.series = series;
    this.isStale = false;
    this.draw();
  }

  draw() {
    if (!this.series) return;
    const { kind, weight, log, range, extent } = this.board.view;
    this.plot.set({
      curves: [{ label: this.metric, ...this.series }],
      marks: this.board.marksFor(this.metric),
      weight,
      log,
      range,
      extent,
      xKind: kind,
    });
    this.describe();
  }

  describe() {
    const last = newest(this.series);
    const label = last
      ? `${this.metric}: newest value ${number(last.value)} at ${place(this.board.view.kind, last.x)}, ${trend(this.series)}`
      : `${this.metric}: no values yet`;
    this.host.setAttribute("aria-label", label);
    this.read(this.cursor);
  }

  /** Shows the value under the cursor, or the newest one; always two lines, so that nothing moves under the pointer. */
  read(index) {
    this.cursor = index;
    const last = this.series && newest(this.series);
    if (!last) return setText(this.value, "no values yet");
    const at = Math.min(index ?? last.index, this.series.x.length - 1);
    setText(this.value, index === null ? `${number(last.value)} ${TRENDS[trend(this.series)]}` : number(this.plot.lineAt(0, at)));
    setText(this.where, this.placeWords(at));
  }

  placeWords(index) {
    const [low, high] = [this.series.low?.[index] ?? null, this.series.high?.[index] ?? null];
    const band = low === null || low === high ? "" : `, most updates ${number(low)} to ${number(high)}`;
    return `at ${place(this.board.view.kind, this.series.x[index])}${band}`;
  }

  /** The arrows walk along the curve, + and - zoom around the cursor. */
  key(event) {
    const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!this.series?.x.length || event.ctrlKey || event.metaKey) return;
    if (steps) this.walk(steps * (event.shiftKey ? 10 : 1));
    else if (event.key === "+" || event.key === "-") this.zoomAround(event.key === "+" ? 0.5 : 2);
    else return;
    event.preventDefault();
  }

  walk(steps) {
    const end = this.series.x.length - 1;
    this.move(Math.max(0, Math.min(end, (this.walked ?? end + 1) + steps)));
    say(`${number(this.plot.lineAt(0, this.walked))} ${this.placeWords(this.walked)}`);
  }

  /** What the keys reached is kept apart from what the pointer shows, which may move on its own. */
  move(index) {
    this.walked = index;
    if (this.plot.u) this.plot.point(index);
    this.read(index);
  }

  zoomAround(factor) {
    const [from, to] = this.board.view.range ?? this.board.view.extent;
    const centre = this.series.x[this.walked ?? this.series.x.length - 1];
    const half = ((to - from) * factor) / 2;
    this.board.zoom([centre - half, centre + half]);
  }

  /** Brings the chart in front of the reader, for a link from a finding. */
  visit() {
    this.node.scrollIntoView({ block: "center" });
    this.host.focus({ preventScroll: true });
    this.node.classList.add("visited");
    setTimeout(() => this.node.classList.remove("visited"), 1600);
  }
}

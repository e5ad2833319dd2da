// All charts of a run. They are made as they scroll into view, asked for together, and share one view: x axis, range, smoothing, scale.

import { ask } from "../api.js";
import { translate } from "../chart/curves.js";
import { thresholdLevel } from "../chart/marks.js";
import { AXES } from "../controls.js";
import { el, setText } from "../dom.js";
import { report } from "../embedded.js";
import { asked } from "../links.js";
import { ChartCard } from "./chart_card.js";
import { groupOf, groupTitle } from "./metric_groups.js";

const POINTS = 400;
/** Charts this near to the window are made; in a report all are, so that it can be printed. */
const NEAR = report ? "1000000px" : "250px";
const GATHER_MS = 10;
const DISTURBING = new Set(["rewound", "resumed", "notice", "knob"]);

export class Board {
  constructor(name, onView) {
    Object.assign(this, { name, onView, cards: new Map(), groups: new Map(), visible: new Set() });
    this.view = { kind: "step", weight: 0, log: false, range: null, extent: [0, 1], last: null, ...askedView() };
    this.known = { thresholds: [], findings: [], events: [], score: null, clock: null };
    this.note = el("p", { class: "muted small", role: "status" });
    this.empty = el("p", { class: "muted", hidden: true }, "No metric has this in its name.");
    this.node = el("div", { class: "board" }, this.note, this.empty);
    this.watcher = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: NEAR });
  }

  /** Adds charts for metrics that are new; the score's own comes first and large. */
  setMetrics(metrics, glossary, score) {
    this.known.score = score;
    const ordered = metrics.includes(score) ? [score, ...metrics.filter((metric) => metric !== score)] : metrics;
    for (const metric of ordered) if (!this.cards.has(metric)) this.add(metric, glossary[metric], metric === score);
  }

  add(metric, explanation, isScore) {
    const card = new ChartCard(metric, explanation, this, isScore);
    this.cards.set(metric, card);
    this.group(isScore ? "score" : groupOf(metric)).append(card.node);
    this.watcher.observe(card.node);
  }

  group(key) {
    if (!this.groups.has(key)) this.groups.set(key, this.makeGroup(key));
    return this.groups.get(key).lastChild;
  }

  makeGroup(key) {
    const id = `group-${key}`;
    const title = el("h2", { id }, key === "score" ? "The score" : groupTitle(key));
    const group = el("section", { class: "group", "aria-labelledby": id }, title, el("div", { class: "charts" }));
    this.node.append(group);
    return group;
  }

  /** What is drawn beside the curves, as the server tells of it; in steps. */
  know(facts) {
    Object.assign(this.known, facts);
    for (const card of this.visible) card.draw();
  }

  marksFor(metric) {
    const { thresholds, findings, events, score } = this.known;
    const own = thresholds.filter((threshold) => threshold.metric === metric);
    return {
      levels: own.map(({ op, target }) => thresholdLevel(op, target)),
      held: own
        .flatMap(({ held }) => held)
        .map((ends) => ends.map((step) => this.at(step)))
        .filter((ends) => !ends.includes(null)),
      findings: findings
        .filter((finding) => (finding.metric ?? score) === metric)
        .map((finding) => ({ x: this.at(finding.since_step), words: finding.title, sick: finding.sick }))
        .filter(isPlaced),
      events: events
        .map(({ step, kind, text }) => ({
          x: this.at(step),
          disturbs: DISTURBING.has(kind),
          words: metric === score && kind === "knob" ? `◐ ${text.replace(/ from update.*/, "")}` : null,
        }))
        .filter(isPlaced),
    };
  }

  at(step) {
    return translate(step, this.view.kind, this.known.clock);
  }

  seen(entries) {
    for (const { target, isIntersecting } of entries)
      isIntersecting ? this.visible.add(target.card) : this.visible.delete(target.card);
    if ([...this.visible].some((card) => card.isStale)) this.gather();
  }

  /** Charts that appear together are asked for together. */
  gather() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refresh(true).catch(() => {}), GATHER_MS);
  }

  /** Asks for the charts in view, or only for those among them that show something old. */
  async refresh(onlyStale = false) {
    const cards = [...this.visible].filter((card) => !card.node.hidden && (card.isStale || !onlyStale));
    if (cards.length === 0) return;
    const { kind, range } = this.view;
    const answer = await ask("series", {
      name: this.name,
      metric: cards.map((card) => card.metric),
      points: POINTS,
      x: kind,
      from: range?.[0],
      to: range?.[1],
    });
    if (kind === this.view.kind && range === this.view.range) this.take(answer, cards);
  }

  take(answer, cards) {
    this.known.clock = answer.clock ?? null;
    this.view.extent = [0, Math.max(this.view.extent[1], ends(answer, this.view.kind, this.view.range))];
    if (this.view.last) this.view.range = this.lastPart(this.view.last);
    this.onView(this.view);
    for (const card of cards) card.show(answer.series[card.metric] ?? { x: [], mean: [], low: [], high: [] });
    setText(
      this.note,
      answer.whole ? "" : "The log is so large that the curves are drawn from a sample of its lines. Zoom in to see more.",
    );
  }

  /** Changes the common view. Smoothing and scale are drawn at once; the axis and the range also need finer points. */
  setView(changes) {
    const isNewAxis = "kind" in changes && changes.kind !== this.view.kind;
    Object.assign(this.view, changes, isNewAxis ? { range: null, last: null, extent: [0, 1] } : {});
    const needsPoints = isNewAxis || "range" in changes;
    for (const card of this.cards.values()) card.isStale ||= needsPoints;
    if (!isNewAxis) for (const card of this.cards.values()) card.draw();
    if (needsPoints) this.gather();
    this.onView(this.view);
  }

  /** Whether there is such a range. */
  zoom(range) {
    const [least, most] = this.view.extent;
    const [from, to] = [Math.max(least, this.whole(range[0])), Math.min(most, this.whole(range[1]))];
    if (from < to) this.setView({ range: from <= least && to >= most ? null : [from, to], last: null });
    return from < to;
  }

  /** The newest share of a run, also as it grows. */
  showLast(share) {
    this.setView({ range: this.lastPart(share), last: share });
  }

  lastPart(share) {
    const end = this.view.extent[1];
    return [this.whole(end * (1 - share)), end];
  }

  /** Steps and updates are whole numbers, seconds are not. */
  whole(x) {
    return this.view.kind === "time" ? Number(x.toFixed(3)) : Math.round(x);
  }

  reset() {
    if (this.view.range) this.setView({ range: null, last: null });
  }

  /** Shows only metrics with all words in their names. */
  filter(text) {
    const words = text.toLowerCase().split(/\s+/);
    for (const card of this.cards.values()) card.node.hidden = !words.every((word) => card.metric.toLowerCase().includes(word));
    for (const group of this.groups.values()) group.hidden = ![...group.lastChild.children].some((node) => !node.hidden);
    this.empty.hidden = [...this.groups.values()].some((group) => !group.hidden);
  }
}

const isPlaced = (mark) => mark.x !== null;

/** Where the curves end, so that charts stand under each other in the same scale; the run's end where only a part is drawn. */
function ends({ series, clock }, kind, range) {
  const newest = clock?.[kind]?.at(-1) ?? 0;
  return range ? newest : Object.values(series).reduce((most, { x }) => Math.max(most, x.at(-1) ?? 0), newest);
}

/** What the address says of the view. */
function askedView() {
  const [from, to] = ["from", "to"].map((key) => Number(asked(key) ?? NaN));
  const kind = AXES.map(([axis]) => axis).find((axis) => axis === asked("x")) ?? "step";
  return { kind, log: asked("log") === "1", range: from < to ? [from, to] : null };
}

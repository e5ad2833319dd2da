// What happened to the run, newest first.

import { el, replace, sign } from "../dom.js";
import { count, plural, when, wholeDate } from "../format.js";

const SHAPES = {
  started: "▷",
  resumed: "▷",
  compiled: "⚙",
  notice: "◆",
  checkpoint: "▪",
  best: "★",
  rewound: "↺",
  knob: "◐",
  paused: "▮▮",
  "went on": "▷",
  finished: "✓",
};
const FEW = 12;

export class EventList {
  constructor() {
    this.all = false;
    this.list = el("ol", { class: "events" });
    this.more = el("button", { type: "button", class: "quiet", onclick: () => this.toggle() });
    this.node = el("div", {}, this.list, this.more);
  }

  toggle() {
    this.all = !this.all;
    this.render();
  }

  set(events) {
    const mark = JSON.stringify([events.length, events.at(-1)]);
    if (mark === this.mark) return;
    Object.assign(this, { events, mark });
    this.render();
  }

  render() {
    const newestFirst = [...this.events].reverse();
    const rarer = newestFirst.filter(({ kind }, index) => kind !== "checkpoint" || index === 0);
    replace(this.list, (this.all ? newestFirst : rarer.slice(0, FEW)).map(eventItem));
    this.more.hidden = this.events.length === Math.min(rarer.length, FEW);
    this.more.textContent = this.all ? "Show only the newest" : `Show all ${plural(this.events.length, "event")}`;
  }
}

function eventItem({ kind, step, time, text }) {
  const disturbs = ["notice", "rewound", "knob"].includes(kind);
  return el(
    "li",
    { class: disturbs ? "disturbs" : null },
    sign(SHAPES[kind] ?? "·", disturbs ? "warn" : "idle"),
    el("span", { class: "what" }, el("b", {}, kind), ` ${text}`),
    el("span", { class: "muted" }, `step ${count(step)}`),
    time ? el("time", { class: "muted", datetime: time, title: wholeDate(time) }, when(time)) : null,
  );
}

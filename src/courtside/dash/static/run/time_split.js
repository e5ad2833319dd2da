// Where the time of a run goes: playing (rollout) or learning.

import { Plot } from "../chart/plot.js";
import { el, replace, setText } from "../dom.js";
import { percent } from "../format.js";
import { compileWords } from "./settings.js";

export class TimeSplit {
  constructor() {
    this.words = el("p", {});
    this.bar = el(
      "div",
      { class: "split", "aria-hidden": "true" },
      el("span", { class: "playing" }),
      el("span", { class: "learning" }),
    );
    this.host = el("div", { class: "plot", role: "img" });
    this.plot = new Plot(this.host, { height: 120, yRange: [0, 100] });
    this.node = el(
      "div",
      {},
      this.words,
      this.bar,
      el("p", { class: "muted small" }, "Percent of the time spent playing, along the steps:"),
      this.host,
    );
  }

  set({ phases, compile_seconds: compile }) {
    const known = phases.filter((phase) => phase.rollout_share !== null);
    if (known.length === 0) return replace(this.node, el("p", { class: "muted" }, "The run has not measured its phases yet."));
    const playing = known.reduce((sum, phase) => sum + phase.rollout_share, 0) / known.length;
    const words = `Playing takes ${percent(playing)} of the time, learning ${percent(1 - playing)}.`;
    setText(this.words, `${words} ${compileWords(compile)}`);
    this.bar.firstChild.style.width = percent(playing);
    this.host.setAttribute("aria-label", words);
    this.plot.set({
      curves: [{ label: "playing", x: known.map((phase) => phase.x), mean: known.map((phase) => 100 * phase.rollout_share) }],
    });
  }
}

// Plays one episode: a picture, a scrubber, and the numbers of the frame.

import { address } from "../api.js";
import { probabilityBars } from "../bars.js";
import { Plot } from "../chart/plot.js";
import { choice, el, replace, setText } from "../dom.js";
import { number } from "../format.js";
import { episodeOf, returns } from "./episode.js";
import { valueHistogram } from "./histogram.js";

const AHEAD = 4;

export class Player {
  constructor(name, id, answer) {
    Object.assign(this, { name, id, answer, frame: 0, timer: null, ahead: [] });
    this.picture = el("img", { class: "screen", alt: "" });
    this.scrubber = el("input", {
      type: "range",
      min: 0,
      max: answer.length - 1,
      value: 0,
      "aria-label": "Frame",
      oninput: () => this.seek(Number(this.scrubber.value)),
    });
    this.button = el("button", { type: "button", onclick: () => this.toggle() }, "Play");
    this.words = el("output", { class: "muted" });
    this.details = el("div", { class: "frame-details" });
    this.plots = ["Value", "Return so far"].map((title) => makeFigure(title, (index) => this.seek(index)));
    this.node = el(
      "div",
      { class: "player" },
      el("div", { class: "stage" }, this.picture, this.controls()),
      el(
        "div",
        { class: "readings" },
        this.agentChoice(),
        this.plots.map(({ node }) => node),
        this.details,
      ),
    );
    document.addEventListener("keydown", (event) => this.node.isConnected && this.key(event));
    this.chooseAgent(0);
  }

  controls() {
    const step = (by, words, shape) =>
      el("button", { type: "button", "aria-label": words, onclick: () => this.seek(this.frame + by) }, shape);
    return el(
      "div",
      { class: "transport" },
      this.button,
      step(-1, "One frame back", "◂"),
      this.scrubber,
      step(1, "One frame on", "▸"),
      this.words,
    );
  }

  agentChoice() {
    const agents = this.answer.agents ?? [];
    if (agents.length < 2) return null;
    return choice(
      "Agent",
      agents.map((agent, index) => [String(index), String(agent)]),
      "0",
      (index) => this.chooseAgent(Number(index)),
    );
  }

  chooseAgent(agent) {
    this.episode = episodeOf(this.answer, agent);
    this.drawCurves();
    this.seek(this.frame);
  }

  drawCurves() {
    const { value, reward } = this.episode;
    [value, reward && returns(reward)].forEach((numbers, row) => {
      const { node, plot } = this.plots[row];
      node.hidden = !numbers;
      if (numbers)
        plot.set({
          curves: [{ label: node.textContent, x: numbers.map((_, index) => index), mean: numbers, colour: `curve-${row}` }],
          extent: [0, Math.max(1, this.answer.length - 1)],
        });
    });
  }

  seek(frame) {
    this.frame = Math.max(0, Math.min(this.answer.length - 1, frame));
    this.scrubber.value = this.frame;
    this.scrubber.setAttribute("aria-valuetext", `frame ${this.frame + 1} of ${this.answer.length}`);
    this.picture.src = this.framePath(this.frame);
    this.picture.alt = `Frame ${this.frame + 1} of the episode`;
    this.ahead = Array.from({ length: AHEAD }, (_, index) =>
      preload(this.framePath(Math.min(this.answer.length - 1, this.frame + 1 + index))),
    );
    this.describe();
  }

  framePath(frame) {
    return address("/api/replay.png", { name: this.name, episode: this.id, frame });
  }

  describe() {
    const { reward, value, actions, atoms } = this.episode;
    const at = this.frame;
    setText(
      this.words,
      [
        `${at + 1} of ${this.answer.length}`,
        reward ? `reward ${number(reward[at])}` : null,
        value ? `value ${number(value[at])}` : null,
      ]
        .filter(Boolean)
        .join(", "),
    );
    for (const { plot, node } of this.plots) if (!node.hidden) plot.set({ marks: { moment: at } });
    replace(
      this.details,
      actions?.probability?.[at] ? [el("h2", {}, "Action probabilities"), probabilityBars(actionRows(actions, at))] : null,
      atoms?.probability?.[at]
        ? [el("h2", {}, "Predicted distribution of the value"), valueHistogram(atoms.support, atoms.probability[at])]
        : null,
    );
  }

  toggle() {
    this.timer === null ? this.play() : this.pause();
  }

  play() {
    if (this.frame >= this.answer.length - 1) this.seek(0);
    this.button.textContent = "Pause";
    this.timer = setInterval(
      () => (this.frame >= this.answer.length - 1 ? this.pause() : this.seek(this.frame + 1)),
      1000 / this.episode.fps,
    );
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = "Play";
  }

  /** Space plays and the arrows step, wherever the focus is; controls with keys of their own keep them. */
  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.("input, select")) return;
    if (event.key === " " && event.target.closest?.("button, a")) return;
    const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (steps) this.seek(this.frame + steps);
    else if (event.key === " ") this.toggle();
    else return;
    event.preventDefault();
  }

  stop() {
    this.pause();
    for (const { plot } of this.plots) plot.destroy();
  }
}

const actionRows = ({ names, probability, taken }, at) =>
  probability[at].map((share, index) => ({
    name: String(names?.[index] ?? index),
    probability: share,
    isTaken: taken?.[at] === index,
  }));

/** A curve along the episode; a click on it goes to that frame. */
function makeFigure(title, onPick) {
  const host = el("div", { class: "plot", role: "img", "aria-label": `${title} along the episode` });
  const plot = new Plot(host, { height: 110, xKind: "frame" });
  host.addEventListener("click", () => onPick(plot.u?.cursor.idx ?? 0));
  return { node: el("figure", {}, el("figcaption", {}, title), host), plot };
}

function preload(path) {
  const picture = new Image();
  picture.src = path;
  return picture;
}

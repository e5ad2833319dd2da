// One rate of a run: what it is now, and a field to turn it with.

import { el, setText } from "../dom.js";
import { number } from "../format.js";

const MEANINGS = {
  learning_rate: ["Learning rate", "How large the steps of learning are; smaller is calmer and slower."],
  clip_coef: ["Clip range", "How far one update may move the policy; smaller is calmer."],
  ent_coef: ["Entropy coefficient", "How much undecided actions are worth; more explores for longer."],
  actor_learn_rate: ["Actor's learning rate", "How large the steps of the policy are; smaller is calmer and slower."],
  critic_learn_rate: ["Critic's learning rate", "How large the steps of the value are; smaller is calmer and slower."],
  e: ["Noise scale", "How far exploration moves actions, before any annealing by score."],
};

/** So many times more, or less, is hardly meant. */
const FAR = 100;

export class Knob {
  /** `onTurn` says whether the value was taken, `onDoubt` hears why it is not sent yet. */
  constructor(name, onTurn, onDoubt) {
    const [title, meaning] = MEANINGS[name] ?? [name, ""];
    Object.assign(this, { title, onTurn, onDoubt, now: null, asked: null });
    this.plan = el("span", { class: "under mono" });
    const id = `knob-${name}`;
    this.shown = el("output", { class: "mono", for: id });
    this.field = el("input", { id, type: "text", autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-about` });
    this.buttons = [
      el("button", { type: "button", class: "quiet", title: "Half of what it is now", onclick: () => this.fill(0.5) }, "½"),
      el("button", { type: "button", class: "quiet", title: "Twice what it is now", onclick: () => this.fill(2) }, "×2"),
      el("button", { type: "submit" }, "Turn"),
    ];
    for (const [button, words] of [
      [this.buttons[0], "Half"],
      [this.buttons[1], "Twice"],
    ])
      button.setAttribute("aria-label", `${words} of the ${title.toLowerCase()} now`);
    this.buttons[2].setAttribute("aria-label", `Turn the ${title.toLowerCase()}`);
    this.node = el(
      "form",
      { class: "knob", onsubmit: (event) => this.submit(event) },
      el("label", { for: id }, title),
      el("span", { class: "muted small" }, "now ", this.shown),
      el("span", { class: "row" }, this.field, this.buttons),
      this.plan,
      el("span", { id: `${id}-about`, class: "under" }, meaning),
    );
  }

  set({ value, now, planned }, canTurn) {
    this.now = now;
    setText(this.shown, number(now));
    setText(this.plan, value === planned ? `as planned: ${planned}` : `${value}; planned: ${planned}`);
    for (const part of [this.field, ...this.buttons]) part.disabled = !canTurn;
  }

  /** Of what stands in the field, or of what it is now. */
  fill(factor) {
    const typed = Number(this.field.value || NaN);
    this.field.value = String(Number(((Number.isNaN(typed) ? this.now : typed) * factor).toPrecision(3)));
    this.field.focus();
  }

  /** A value that was refused stays, to be mended; one that is far off is asked for twice. */
  async submit(event) {
    event.preventDefault();
    const value = this.field.value.trim();
    this.field.focus();
    const times = Number(value) / this.now;
    const isFar = Number.isFinite(times) && this.now > 0 && (times > FAR || (times > 0 && times < 1 / FAR));
    const isSure = this.asked === value;
    this.asked = isFar ? value : null;
    if (isFar && !isSure) return this.onDoubt(`${value} is ${times > 1 ? `${number(times)} times` : `1/${number(1 / times)} of`} what it is now. Press Turn again to do it.`);
    if (await this.onTurn(value)) this.field.value = "";
  }
}

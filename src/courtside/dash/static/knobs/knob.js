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

export class Knob {
  constructor(name, onTurn) {
    const [title, meaning] = MEANINGS[name] ?? [name, ""];
    Object.assign(this, { title, onTurn, now: null });
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
      el("span", { id: `${id}-about`, class: "under" }, meaning),
    );
  }

  set({ value, now }, canTurn) {
    this.now = now;
    setText(this.shown, number(now));
    this.shown.title = value;
    this.field.placeholder = value;
    for (const part of [this.field, ...this.buttons]) part.disabled = !canTurn;
  }

  fill(factor) {
    this.field.value = String(Number((this.now * factor).toPrecision(3)));
    this.field.focus();
  }

  submit(event) {
    event.preventDefault();
    const value = this.field.value.trim();
    if (!value) return this.field.focus();
    this.field.value = "";
    this.onTurn(value);
  }
}

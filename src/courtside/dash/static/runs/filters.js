// Which runs the list shows: a text, and one of a few quick choices with their counts.

import { isLive } from "../badges.js";
import { el, setText } from "../dom.js";
import { count } from "../format.js";

const CHOICES = {
  all: ["All", () => true],
  training: ["Training", isLive],
  passed: ["Passed", (card) => card.verdict === "pass"],
  failed: ["Failed", (card) => card.verdict === "fail"],
  findings: ["With findings", (card) => (card.findings ?? []).length > 0],
};

/** Every word must occur somewhere in what is known of the run. */
export function matches(card, text) {
  const verdict = { pass: "passed", fail: "failed" }[card.verdict] ?? "not yet";
  const known = [
    card.name,
    card.title,
    card.env,
    card.algo,
    card.kind,
    card.state,
    `seed ${card.seed}`,
    card.verdict,
    verdict,
    ...(card.findings ?? []).map((finding) => finding.title),
  ]
    .join(" ")
    .toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => known.includes(word));
}

export const passes = (card, choice) => (CHOICES[choice] ?? CHOICES.all)[1](card);

/** The row of quick choices. */
export class QuickChoices {
  constructor(chosen, onChoose) {
    this.chosen = chosen in CHOICES ? chosen : "all";
    this.onChoose = onChoose;
    this.buttons = Object.fromEntries(Object.keys(CHOICES).map((key) => [key, this.button(key)]));
    this.node = el("div", { class: "choices", role: "group", "aria-label": "Quick filters" }, Object.values(this.buttons));
    this.mark();
  }

  button(key) {
    return el("button", { type: "button", onclick: () => this.choose(key) }, `${CHOICES[key][0]} `, el("b", {}));
  }

  choose(key) {
    this.chosen = key;
    this.mark();
    this.onChoose(key);
  }

  mark() {
    for (const [key, button] of Object.entries(this.buttons)) button.setAttribute("aria-pressed", String(key === this.chosen));
  }

  setCounts(cards) {
    for (const [key, button] of Object.entries(this.buttons))
      setText(button.lastChild, count(cards.filter(CHOICES[key][1]).length));
  }
}

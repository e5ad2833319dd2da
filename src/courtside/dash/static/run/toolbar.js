// The controls over the charts; they act on all of them.

import { AXES, smoothingSlider, toggleButton } from "../controls.js";
import { choice, el, replace } from "../dom.js";

const SPANS = [
  ["1", "whole run"],
  ["0.5", "last half"],
  ["0.25", "last quarter"],
  ["0.1", "last tenth"],
];
const OWN_RANGE = ["", "own range"];

export class Toolbar {
  constructor(board) {
    this.board = board;
    this.spans = choice("Show", [...SPANS, OWN_RANGE], "1", (share) => share && this.showLast(Number(share)));
    this.bounds = [0, 1].map((index) => this.boundInput(index));
    this.resetButton = el("button", { type: "button", disabled: true, onclick: () => board.reset() }, "Reset zoom");
    this.jumps = el("nav", { class: "jumps", "aria-label": "Groups of charts" });
    this.node = el(
      "div",
      { class: "toolbar", role: "group", "aria-label": "How the charts are drawn" },
      this.filterField(),
      choice("Along", AXES, "step", (kind) => board.setView({ kind })),
      smoothingSlider((weight) => board.setView({ weight })),
      toggleButton("Log scale", false, (log) => board.setView({ log })),
      this.spans,
      el("span", { class: "field wide-only" }, "from", this.bounds[0], "to", this.bounds[1]),
      this.resetButton,
      this.jumps,
    );
  }

  filterField() {
    const input = el("input", {
      type: "search",
      placeholder: "Metrics",
      "aria-label": "Filter metrics",
      oninput: () => this.board.filter(input.value.trim()),
    });
    return el("label", { class: "field grow" }, input, el("kbd", { "aria-hidden": "true" }, "/"));
  }

  boundInput(index) {
    return el("input", {
      type: "number",
      step: "any",
      min: 0,
      "aria-label": index ? "Show up to" : "Show from",
      onchange: () => this.typed(),
    });
  }

  typed() {
    const [least, most] = this.board.view.extent;
    const [from, to] = this.bounds.map((input) => input.value);
    this.board.zoom([from === "" ? least : Number(from), to === "" ? most : Number(to)]);
  }

  showLast(share) {
    const end = this.board.view.extent[1];
    share === 1 ? this.board.reset() : this.board.zoom([end * (1 - share), end]);
  }

  /** Follows the view, whoever changed it. */
  follow({ range, extent }) {
    this.resetButton.disabled = !range;
    this.bounds.forEach((input, index) => {
      input.value = range ? Math.round(range[index]) : "";
    });
    const isAtEnd = !range || range[1] === extent[1];
    const share = range ? (range[1] - range[0]) / extent[1] : 1;
    const known = isAtEnd && SPANS.find(([value]) => Math.abs(Number(value) - share) < 0.005);
    this.spans.querySelector("select").value = known ? known[0] : OWN_RANGE[0];
  }

  setGroups(groups) {
    if (this.jumps.children.length === groups.size) return;
    replace(
      this.jumps,
      [...groups.values()].map((group) => el("a", { href: `#${group.firstChild.id}` }, group.firstChild.textContent)),
    );
  }
}

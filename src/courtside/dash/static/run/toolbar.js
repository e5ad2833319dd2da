// The controls over the charts; they act on all of them.

import { AXES, smoothingSlider, toggleButton } from "../controls.js";
import { choice, el, replace, setText } from "../dom.js";
import { remember } from "../links.js";

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
    this.wrong = el("span", { role: "status", class: "bad small" });
    this.jumps = el("nav", { class: "jumps", "aria-label": "Groups of charts" });
    this.node = el(
      "div",
      { class: "toolbar", role: "group", "aria-label": "How the charts are drawn" },
      this.filterField(),
      choice("Along", AXES, board.view.kind, (kind) => board.setView({ kind })),
      smoothingSlider((weight) => board.setView({ weight })),
      toggleButton("Log scale", board.view.log, (log) => board.setView({ log })),
      this.spans,
      el("span", { class: "field wide-only" }, "from", this.bounds[0], "to", this.bounds[1]),
      this.resetButton,
      this.wrong,
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
    const isRange = this.board.zoom([from === "" ? least : Number(from), to === "" ? most : Number(to)]);
    setText(this.wrong, isRange ? "" : `There is nothing from ${from || least} to ${to || most}.`);
  }

  showLast(share) {
    share === 1 ? this.board.reset() : this.board.showLast(share);
  }

  /** Follows the view, whoever changed it. */
  follow({ kind, log, range, last }) {
    this.resetButton.disabled = !range;
    setText(this.wrong, "");
    this.bounds.forEach((input, index) => {
      if (input !== document.activeElement) input.value = range ? Math.round(range[index]) : "";
    });
    this.spans.querySelector("select").value = last ? String(last) : range ? OWN_RANGE[0] : "1";
    const [from, to] = last || !range ? [] : range;
    remember({ x: kind === "step" ? null : kind, log: log ? "1" : null, from, to });
  }

  setGroups(groups) {
    if (this.jumps.children.length === groups.size) return;
    replace(
      this.jumps,
      [...groups.values()].map((group) => el("a", { href: `#${group.firstChild.id}` }, group.firstChild.textContent)),
    );
  }
}

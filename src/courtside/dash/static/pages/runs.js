// The list of all runs.

import { ask, poll } from "../api.js";
import { choice, el, replace, setText } from "../dom.js";
import { plural } from "../format.js";
import { asked, comparePath, remember, showTrail } from "../links.js";
import { runColumns } from "../runs/columns.js";
import { matches, passes, QuickChoices } from "../runs/filters.js";
import { Table } from "../table.js";

const SECONDS = 3;
const NEWEST = { key: "started", direction: "descending" };

export async function show(main) {
  showTrail();
  const page = new RunsPage();
  replace(main, page.node);
  await poll(
    () => page.refresh(),
    () => SECONDS,
  );
}

class RunsPage {
  constructor() {
    this.ticks = new Set();
    this.tray = el("div", { class: "tray", role: "region", "aria-label": "Comparison", hidden: true });
    this.table = new Table({
      caption: "Runs",
      roomy: true,
      columns: runColumns(this.ticks, (name, on) => this.tick(name, on)),
      keyOf: (card) => card.name,
      sort: askedSort(),
      onSort: (sort) => this.sorted(sort),
    });
    this.text = el("input", {
      type: "search",
      value: asked("q") ?? "",
      placeholder: "Filter by name, environment, state, verdict",
      "aria-label": "Filter runs",
      oninput: () => this.choose(),
    });
    this.choices = new QuickChoices(asked("show"), () => this.choose());
    this.summary = el("p", { class: "muted", role: "status" });
    this.node = el(
      "div",
      { class: "page runs" },
      el("h1", {}, "Runs"),
      this.tools(),
      this.summary,
      el("div", { class: "scroller" }, this.table.node),
      this.tray,
    );
  }

  tools() {
    this.sortField = choice(
      "Sort by",
      this.table.columns.filter((column) => column.order).map(({ key, title }) => [key, title]),
      this.table.sort.key,
      (key) => this.table.turn(this.table.columns.find((column) => column.key === key)),
    );
    this.sortField.classList.add("narrow-only");
    return el(
      "div",
      { class: "tools" },
      el("label", { class: "field grow" }, this.text, el("kbd", { "aria-hidden": "true" }, "/")),
      this.choices.node,
      this.sortField,
    );
  }

  async refresh() {
    const { dir, runs } = await ask("runs");
    this.dir = dir;
    this.table.setRows(runs);
    this.choices.setCounts(runs);
    this.filter();
  }

  filter() {
    const [text, chosen] = [this.text.value.trim(), this.choices.chosen];
    this.table.setFilter((card) => passes(card, chosen) && matches(card, text));
    if (this.dir !== undefined) setText(this.summary, this.summaryWords());
  }

  choose() {
    this.filter();
    const chosen = this.choices.chosen;
    remember({ q: this.text.value.trim(), show: chosen === "all" ? null : chosen });
  }

  summaryWords() {
    const [shown, all] = [this.table.shown.length, this.table.rows.size];
    if (all === 0) return `There are no runs in “${this.dir}” yet. Start one with “courtside train”; it appears here by itself.`;
    if (shown === 0) return `None of the ${plural(all, "run")} in “${this.dir}” matches.`;
    return `${shown === all ? "" : `${shown} of `}${plural(all, "run")} in the folder “${this.dir}”.`;
  }

  sorted({ key, direction }) {
    const isUsual = key === NEWEST.key && direction === NEWEST.direction;
    remember({ sort: isUsual ? null : key, direction: isUsual ? null : direction });
  }

  tick(name, on) {
    on ? this.ticks.add(name) : this.ticks.delete(name);
    this.tray.hidden = this.ticks.size === 0;
    replace(this.tray, this.trayParts());
  }

  trayParts() {
    const few = this.ticks.size < 2;
    const words = few ? "One run is chosen. Tick another one to compare them." : `${plural(this.ticks.size, "run")} are chosen.`;
    const go = few ? null : el("a", { class: "button", href: comparePath([...this.ticks]) }, "Compare them");
    return [
      el("span", { role: "status" }, words),
      go,
      el("button", { type: "button", class: "quiet", onclick: () => this.clearTicks() }, "Clear"),
    ];
  }

  clearTicks() {
    for (const box of this.node.querySelectorAll(".tick input:checked")) box.checked = false;
    this.ticks.clear();
    this.tray.hidden = true;
  }
}

function askedSort() {
  const key = asked("sort");
  return key ? { key, direction: asked("direction") === "descending" ? "descending" : "ascending" } : NEWEST;
}

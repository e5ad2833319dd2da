// A population: many runs of the same settings that differ only in their seed.

import { ask, poll } from "../api.js";
import { holdsBadge, isLive, progressBar, progressWords, skippedWords, stateBadge, verdictBadge } from "../badges.js";
import { thresholdLevel } from "../chart/marks.js";
import { Plot } from "../chart/plot.js";
import { toggleButton } from "../controls.js";
import { el, Part, replace, section } from "../dom.js";
import { failed } from "../fault.js";
import { count, NONE, number, percent, sentence } from "../format.js";
import { asked, comparePath, link, memberPath, runPath, showTrail } from "../links.js";
import { Knobs } from "../knobs/panel.js";
import { EventList } from "../run/events.js";
import { identity } from "../run/head.js";
import { numberColumn, Table } from "../table.js";

const LIVE_SECONDS = 4;
const IDLE_SECONDS = 15;

export async function show(main) {
  const page = new PopulationPage(asked("name") ?? "");
  replace(main, page.node);
  const pace = () => (isLive(page.known?.card) ? LIVE_SECONDS : IDLE_SECONDS);
  await poll(() => page.refresh(), pace);
  poll(() => page.refreshEvents(), pace);
  poll(() => page.knobs.refresh(), pace);
}

class PopulationPage {
  constructor(name) {
    Object.assign(this, { name, known: null, everyMember: true, pointed: null });
    this.head = new Part(el("header", { class: "panel head" }), headParts);
    const onSelect = (from, to) => this.zoom([from, to]);
    this.curves = chartFigure("Curves of all members", 300, { onSelect });
    this.chance = chartFigure("Chance to pass by step", 200, { onSelect, yRange: [0, 100] });
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.zoom(null));
    this.table = new Table({
      caption: "Members",
      columns: memberColumns(name),
      keyOf: (member) => member.name,
      sort: { key: "name", direction: "ascending" },
    });
    this.events = new EventList();
    this.knobs = new Knobs(name, () => Promise.all([this.refresh(), this.refreshEvents()]).catch(() => {}));
    this.body = el(
      "div",
      { class: "body", hidden: true },
      this.knobs.node,
      this.switch(),
      this.curves.node,
      this.chance.node,
      section("Members", { class: "panel" }, el("div", { class: "inset" }, this.table.node)),
      section("Events", { class: "panel" }, this.events.node),
    );
    this.node = el("div", { class: "page population" }, this.head.node, this.body);
    for (const kind of ["mouseover", "focusin"])
      this.table.body.addEventListener(kind, (event) => this.point(event.target.closest("tr")));
    for (const kind of ["mouseleave", "focusout"]) this.table.body.addEventListener(kind, () => this.point(null));
  }

  zoom(range) {
    this.resetButton.disabled = range === null;
    for (const { plot } of [this.curves, this.chance]) plot.set({ range });
  }

  switch() {
    this.resetButton = el("button", { type: "button", disabled: true, onclick: () => this.zoom(null) }, "Reset zoom");
    const button = toggleButton("Draw every member", true, (isOn) => {
      this.everyMember = isOn;
      this.drawCurves();
    });
    return el(
      "div",
      { class: "tools" },
      button,
      this.resetButton,
      el("span", { class: "muted" }, "Point at a row of the table to see that member’s curve; drag over a chart to zoom."),
    );
  }

  async refresh() {
    this.known = await ask("population", { name: this.name }).catch((fault) =>
      failed(fault, this.name, this.known ? null : this.head.node),
    );
    const { card, members, worst, sentences, skipped_lines: skipped } = this.known;
    showTrail([card.name, runPath(card.name, "population")]);
    this.body.hidden = false;
    this.head.set({ card, sentences, worst, skipped });
    this.table.setRows(members);
    this.drawCurves();
    this.drawChance();
  }

  async refreshEvents() {
    this.events.set((await ask("events", { name: this.name })).events);
  }

  drawCurves() {
    const {
      curves: { steps, levels, quantiles },
      each,
      score_name: score,
    } = this.known;
    const [low, middle, high] = quantiles;
    const median = { label: "median", x: steps, mean: middle, low, high };
    const members = Object.entries(each)
      .filter(([member]) => this.everyMember || member === this.pointed)
      .map(([member, points]) => this.memberCurve(member, points));
    const wanted = this.known.levels.map(({ op, target }) => thresholdLevel(op, target));
    this.curves.plot.set({ curves: steps.length ? [...members, median] : members, marks: { levels: wanted } });
    const last = middle?.at(-1);
    this.curves.tell(
      `${score}. The strong line is the median of the members, the band holds the middle ${percent(levels.at(-1) - levels[0])} of them; steps run from left to right.`,
      `${score} of all members: the newest median is ${number(last)}`,
    );
  }

  memberCurve(member, points) {
    const isPointed = member === this.pointed;
    return {
      label: member,
      x: points.map(([x]) => x),
      mean: points.map(([, y]) => y),
      faint: !isPointed,
      colour: isPointed ? "curve-1" : "data",
      width: isPointed ? 2 : 1,
    };
  }

  drawChance() {
    const points = this.known.chance;
    const last = points.at(-1)?.[1] ?? null;
    this.chance.plot.set({
      curves: points.length
        ? [{ label: "chance", x: points.map(([x]) => x), mean: points.map(([, share]) => 100 * share), colour: "good" }]
        : [],
    });
    const words =
      last === null
        ? "There is no threshold to pass, or no member has come that far."
        : `The percentage of members that have passed by a step; ${percent(last)} by the newest.`;
    this.chance.tell(words, words);
  }

  point(row) {
    const member = [...this.table.rows.values()].find(({ node }) => node === row)?.row.name ?? null;
    if (member === this.pointed) return;
    this.pointed = member;
    this.drawCurves();
  }
}

/** A figure with a title, a plot and a line of words. */
function chartFigure(title, height, options) {
  const host = el("div", { class: "plot", role: "img" });
  const words = el("p", { class: "explanation" });
  const node = el("figure", { class: "chart large" }, el("figcaption", {}, el("h2", {}, title)), host, words);
  const tell = (text, label) => {
    words.textContent = text;
    host.setAttribute("aria-label", label);
  };
  return { node, plot: new Plot(host, { height, ...options }), tell };
}

function headParts({ card, sentences, worst, skipped }) {
  return [
    el(
      "div",
      { class: "row spread" },
      el("div", {}, el("h1", {}, `${card.title}: a population of ${count(card.members)}`), identity(card)),
      el(
        "div",
        { class: "row links" },
        worst === null ? null : el("a", { href: memberPath(card.name, worst) }, `Worst member: ${worst}`),
        link(comparePath([card.name]), "Compare"),
      ),
    ),
    el(
      "div",
      { class: "row" },
      stateBadge(card.state),
      card.verdict ? verdictBadge(card.verdict) : null,
      card.verdict_words ? sentence(card.verdict_words) : null,
    ),
    progressBar(card),
    el("p", { class: "muted" }, sentence(progressWords(card))),
    el(
      "ul",
      { class: "sentences" },
      sentences.map((sentence) => el("li", {}, sentence)),
    ),
    skipped ? el("p", { class: "muted small" }, skippedWords(skipped)) : null,
  ];
}

function memberColumns(population) {
  return [
    {
      key: "name",
      title: "Member",
      isHead: true,
      order: (member) => member.name,
      cell: (member) => el("a", { href: memberPath(population, member.name) }, member.name),
    },
    { key: "seed", title: "Seed", kind: "number", order: (member) => member.seed, cell: (member) => String(member.seed ?? NONE) },
    {
      key: "passed",
      title: "Passed",
      order: (member) => (member.passed === null ? null : Number(member.passed)),
      cell: (member) => (member.passed === null ? "open" : holdsBadge(member.passed, "passed", "failed")),
    },
    {
      key: "to_pass",
      title: "Steps to pass",
      kind: "number",
      order: (member) => member.steps_to_pass,
      cell: (member) => count(member.steps_to_pass),
    },
    numberColumn("score", "Score", (member) => member.final_score),
    numberColumn("last", "Last evaluation", (member) => member.last_eval),
    numberColumn("best", "Best evaluation", (member) => member.best_eval),
    {
      key: "step",
      title: "Steps",
      kind: "number",
      from: "descending",
      order: (member) => member.step,
      seen: (member) => [member.step, member.finished],
      cell: (member) => (member.finished ? count(member.step) : `${count(member.step)} so far`),
    },
  ];
}

// A search for good settings: what was tried, what mattered, what leads.

import { ask, poll } from "../api.js";
import { isLive, stateBadge } from "../badges.js";
import { choice, el, fillOptions, Part, replace, section, setText } from "../dom.js";
import { failed } from "../fault.js";
import { percent, plural } from "../format.js";
import { asked, runPath, showTrail } from "../links.js";
import { identity } from "../run/head.js";
import { parallelCoordinates } from "../search/parallel.js";
import { byRank } from "../search/scales.js";
import { slices } from "../search/slices.js";
import { importanceBars, makeLeaderboard, makeTrialTable, stageList } from "../search/tables.js";

const LIVE_SECONDS = 5;
const IDLE_SECONDS = 15;
const MOST_TRIALS = 50;

export async function show(main) {
  const page = new SearchPage(asked("name") ?? "");
  replace(main, page.node);
  await poll(
    () => page.refresh(),
    () => (isLive(page.known?.card) ? LIVE_SECONDS : IDLE_SECONDS),
  );
}

class SearchPage {
  constructor(name) {
    Object.assign(this, { name, known: null, stage: "all", best: 0.1 });
    this.head = new Part(el("header", { class: "panel head" }), headParts);
    this.parallel = new Part(
      el("div", { class: "scroll-x", tabindex: "0", role: "region", "aria-label": "Parallel coordinates, scrolls sideways" }),
      ({ axes, trials, best }) => parallelCoordinates(axes, trials, best) ?? noTrials(),
    );
    this.slices = new Part(el("div"), ({ axes, trials, best }) => slices(axes, trials, best) ?? noTrials());
    this.importance = new Part(el("div"), ({ importance }) => importanceBars(importance));
    this.leaderboard = makeLeaderboard();
    this.trials = el("div", { class: "inset" });
    this.body = this.parts();
    this.node = el("div", { class: "page search" }, this.head.node, this.body);
  }

  parts() {
    const panel = { class: "panel" };
    this.noLeaders = el("p", { class: "muted" }, NO_LEADERS);
    return el(
      "div",
      { class: "body", hidden: true },
      section("Leaderboard", panel, el("div", { class: "inset" }, this.noLeaders, this.leaderboard.node)),
      this.tools(),
      section(
        "All settings at once",
        panel,
        el("p", { class: "muted" }, "Each line is a trial. The winner, or who leads so far, is thickest; the best share is drawn strongly."),
        this.parallel.node,
      ),
      el(
        "div",
        { class: "search-pair" },
        section("What matters", panel, this.importance.node),
        section(
          "One setting at a time",
          panel,
          el("p", { class: "muted" }, "The value runs from left to right, the score from bottom to top."),
          this.slices.node,
        ),
      ),
      section("Trials", panel, this.trials),
    );
  }

  tools() {
    this.stageChoice = choice("Stage", [["all", "all stages"]], "all", (stage) => {
      this.stage = stage;
      this.draw();
    });
    const shown = el("output", {}, percent(this.best));
    const slider = el("input", {
      type: "range",
      min: 0.02,
      max: 0.5,
      step: 0.02,
      value: this.best,
      oninput: () => {
        this.best = Number(slider.value);
        shown.textContent = percent(this.best);
        this.draw();
      },
    });
    return el(
      "div",
      { class: "tools" },
      this.stageChoice,
      el("label", { class: "field" }, el("span", {}, "Draw strongly the best"), slider, shown),
    );
  }

  async refresh() {
    this.known = await ask("search", { name: this.name }).catch((fault) =>
      failed(fault, this.name, this.known ? null : this.head.node),
    );
    const { card, stages, plan, trouble, importance, leaderboard, best } = this.known;
    showTrail([card.name, runPath(card.name, "search")]);
    this.body.hidden = false;
    this.head.set({ card, stages, plan, trouble, best });
    const isFinal = stages.length > 0 && stages.every(({ done, trials }) => done >= trials);
    setText(this.noLeaders, isFinal ? "The final round is under way: the best settings and the preset, on fresh seeds." : NO_LEADERS);
    this.importance.set({ importance });
    this.setLeaders(leaderboard);
    this.setStages(stages);
    this.draw();
  }

  setLeaders(leaderboard) {
    this.noLeaders.hidden = leaderboard.length > 0;
    this.leaderboard.node.hidden = leaderboard.length === 0;
    this.leaderboard.setRows(leaderboard);
  }

  setStages(stages) {
    const select = this.stageChoice.querySelector("select");
    if (select.options.length !== stages.length + 1)
      fillOptions(
        select,
        [["all", "all stages"], ...stages.map(({ number }) => [String(number), `stage ${number}`])],
        this.stage,
      );
  }

  draw() {
    const { axes } = this.known;
    const trials = this.known.trials.filter((trial) => this.stage === "all" || String(trial.stage) === this.stage);
    for (const part of [this.parallel, this.slices]) part.set({ axes, trials, best: this.best });
    this.drawTrials(axes, trials);
  }

  drawTrials(axes, trials) {
    this.table ??= makeTrialTable(axes);
    this.table.setRows([...trials].sort(byRank).slice(0, MOST_TRIALS));
    const words =
      trials.length > MOST_TRIALS
        ? `The best ${MOST_TRIALS} of ${plural(trials.length, "trial")}.`
        : `${plural(trials.length, "trial")}.`;
    if (this.trials.firstChild?.textContent !== words) replace(this.trials, el("p", { class: "muted" }, words), this.table.node);
  }
}

const NO_LEADERS = "No settings have come through the last stage yet.";

const noTrials = () => el("p", { class: "muted" }, "No trial has a score yet.");

function headParts({ card, stages, plan, trouble, best }) {
  return [
    el("h1", {}, `${card.title}: a search`),
    identity(card),
    el("div", { class: "row" }, stateBadge(card.state), plan),
    stageList(stages),
    trouble ? el("p", { class: "muted" }, trouble) : null,
    best ? el("p", {}, "To train with the winner: ", el("code", {}, best)) : null,
  ];
}

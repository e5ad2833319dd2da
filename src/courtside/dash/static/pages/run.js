// One run: what came of it, what was found, every metric as a live chart, its settings and events.

import { ask, poll } from "../api.js";
import { isLive } from "../badges.js";
import { el, Part, replace, say, section } from "../dom.js";
import { failed } from "../fault.js";
import { Knobs } from "../knobs/panel.js";
import { asked, runPath, showTrail } from "../links.js";
import { Board } from "../run/board.js";
import { EventList } from "../run/events.js";
import { findingsList } from "../run/findings.js";
import { headParts } from "../run/head.js";
import { settingsParts, systemParts } from "../run/settings.js";
import { Thresholds } from "../run/thresholds.js";
import { TimeSplit } from "../run/time_split.js";
import { Toolbar } from "../run/toolbar.js";

const CHART_SECONDS = 2;
const FACT_SECONDS = 4;
const IDLE_SECONDS = 15;

export async function show(main) {
  const page = new RunPage(asked("name") ?? "");
  replace(main, page.node);
  const pace = (live) => () => (isLive(page.card) ? live : IDLE_SECONDS);
  await poll(() => page.refreshRun(), pace(FACT_SECONDS));
  poll(() => page.card && page.refreshRest(), pace(FACT_SECONDS));
  poll(() => page.knobs.refresh(), pace(CHART_SECONDS));
  poll(() => page.card && page.board.refresh(), pace(CHART_SECONDS));
}

class RunPage {
  constructor(name) {
    this.name = name;
    this.board = new Board(name, (view) => this.toolbar.follow(view));
    this.toolbar = new Toolbar(this.board);
    this.head = new Part(el("header", { class: "panel head" }), headParts);
    this.findings = new Part(el("div"), findingsList);
    this.settings = new Part(el("div"), settingsParts);
    this.system = new Part(el("div"), systemParts);
    [this.thresholds, this.events, this.time] = [new Thresholds(), new EventList(), new TimeSplit()];
    this.knobs = new Knobs(name, () => Promise.all([this.refreshRun(), this.refreshRest()]).catch(() => {}));
    this.node = el("div", { class: "page run", "aria-busy": "true" }, this.head.node, this.parts());
    this.listen();
  }

  parts() {
    const panel = { class: "panel" };
    return (this.body = el(
      "div",
      { class: "body", hidden: true },
      el(
        "div",
        { class: "columns" },
        section("Thresholds", panel, this.thresholds.node),
        section("Findings", panel, this.findings.node),
      ),
      this.knobs.node,
      el("div", {}, this.toolbar.node, this.board.node),
      el(
        "div",
        { class: "columns story" },
        section("Events", panel, this.events.node),
        section("Where the time goes", panel, this.time.node),
        section("Device and versions", panel, this.system.node),
      ),
      section("Settings", panel, this.settings.node),
    ));
  }

  listen() {
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.board.reset());
    this.node.addEventListener("click", (event) => this.follow(event));
  }

  /** A link to a chart goes there and puts the focus on it. */
  follow(event) {
    const id = event.target.closest?.("a[href^='#chart-']")?.getAttribute("href").slice(1);
    const card = id && document.getElementById(id)?.card;
    if (!card) return;
    event.preventDefault();
    card.visit();
  }

  async refreshRun() {
    const run = await ask("run", { name: this.name }).catch((fault) =>
      failed(fault, this.name, this.card ? null : this.head.node),
    );
    this.tellChange(this.card, run.card);
    this.card = run.card;
    this.trail(run);
    this.body.hidden = false;
    this.node.removeAttribute("aria-busy");
    this.showRun(run);
  }

  showRun(run) {
    this.head.set(pick(run, "card", "parts", "verdict", "verdict_words", "skipped_lines"));
    this.thresholds.set(run.thresholds);
    this.settings.set(pick(run, "config", "sizes"));
    this.system.set(pick(run, "system"));
    this.time.set(run);
    this.board.setMetrics(run.metrics, run.glossary, run.card.score_name);
    this.board.know({ thresholds: run.thresholds });
    this.toolbar.setGroups(this.board.groups);
  }

  async refreshRest() {
    const [{ findings, looked_at: lookedAt }, { events }] = await Promise.all([
      ask("findings", { name: this.name }),
      ask("events", { name: this.name }),
    ]);
    this.findings.set({ findings, looked_at: isLive(this.card) ? null : lookedAt, score: this.card?.score_name });
    this.events.set(events);
    this.board.know({ findings, events });
  }

  trail({ card, parent }) {
    const above = parent ? [[parent, runPath(parent, "population")]] : [];
    showTrail(...above, [parent ? `member ${card.name.split("/").at(-1)}` : card.name, runPath(card.name)]);
  }

  tellChange(before, now) {
    if (before && before.state !== now.state) say(`The run is ${now.state} now.`);
    if (before && before.verdict !== now.verdict && now.verdict)
      say(`The run has ${now.verdict === "pass" ? "passed" : "failed"}.`);
  }
}

const pick = (object, ...names) => Object.fromEntries(names.map((name) => [name, object[name]]));

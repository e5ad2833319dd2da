// The columns of the list of runs.

import { findingsBrief, progressBar, share, stateBadge, verdictBadge } from "../badges.js";
import { el } from "../dom.js";
import { capital, duration, NONE, number, percent, rate, when, wholeDate } from "../format.js";
import { runPath } from "../links.js";
import { sparkline } from "../sparkline.js";

const STATE_ORDER = ["training", "paused", "stopped", "finished"];
const VERDICT_ORDER = ["pass", "fail"];
const orderIn = (list, value) => (list.includes(value) ? list.indexOf(value) : null);

/** `ticks` is the set of names chosen for a comparison; `onTick` hears of changes. */
export function runColumns(ticks, onTick) {
  return [
    { key: "tick", title: "Compare", isQuiet: true, seen: (card) => card.name, cell: (card) => tickBox(card, ticks, onTick) },
    { key: "name", title: "Run", isHead: true, order: (card) => card.title, seen: identity, cell: nameCell },
    {
      key: "state",
      title: "State",
      order: (card) => orderIn(STATE_ORDER, card.state),
      seen: (card) => [card.state, share(card)],
      cell: stateCell,
    },
    {
      key: "curve",
      title: "Curve",
      seen: (card) => card.spark,
      cell: (card) => sparkline(card.spark, card.score_name) ?? el("span", { class: "muted" }, NONE),
    },
    {
      key: "score",
      title: "Score",
      kind: "number",
      from: "descending",
      order: (card) => card.score,
      seen: (card) => [card.score, card.best_eval],
      cell: scoreCell,
    },
    {
      key: "verdict",
      title: "Verdict",
      order: (card) => orderIn(VERDICT_ORDER, card.verdict),
      seen: (card) => [card.verdict, card.verdict_words],
      cell: verdictCell,
    },
    {
      key: "findings",
      title: "Findings",
      from: "descending",
      order: (card) => card.findings && sickness(card.findings),
      seen: (card) => card.findings,
      cell: (card) => findingsBrief(card.findings),
    },
    { key: "speed", title: "Speed", kind: "number", from: "descending", order: (card) => card.steps_per_second, cell: speedCell },
    {
      key: "left",
      title: "Time left",
      kind: "number",
      order: (card) => card.seconds_left,
      cell: (card) => duration(card.seconds_left),
    },
    { key: "started", title: "Started", kind: "number", from: "descending", order: (card) => card.started, cell: startedCell },
  ];
}

/** Findings of a sick run weigh more than any number of remarks. */
const sickness = (findings) => findings.reduce((sum, finding) => sum + (finding.sick ? 100 : 1), 0);

const identity = (card) => [card.name, card.kind, card.members, card.algo, card.seed];

function tickBox(card, ticks, onTick) {
  const box = el("input", {
    type: "checkbox",
    "aria-label": `Compare ${card.name}`,
    onchange: () => onTick(card.name, box.checked),
  });
  box.checked = ticks.has(card.name);
  return el("label", { class: "tick" }, box);
}

function nameCell(card) {
  const kind = { population: `population of ${card.members ?? "?"}`, search: "search" }[card.kind];
  return [
    el("a", { class: "title", href: runPath(card.name, card.kind) }, card.title),
    kind ? [" ", el("span", { class: "tag" }, kind)] : null,
    el("span", { class: "under" }, `${card.algo}, seed ${card.seed} · ${card.name}`),
  ];
}

function stateCell(card) {
  const words = card.state === "finished" ? null : ` ${percent(Math.floor(share(card) * 100) / 100)}`;
  return [stateBadge(card.state), words, card.state === "finished" ? null : progressBar(card)];
}

function scoreCell(card) {
  const best = card.best_eval === null ? null : el("span", { class: "under" }, `best eval ${number(card.best_eval)}`);
  return [el("span", { title: card.score_name }, number(card.score)), best];
}

function verdictCell(card) {
  if (card.verdict === null) return verdictBadge(null);
  const more = moreThanVerdict(card);
  return [verdictBadge(card.verdict), more ? el("span", { class: "under", title: card.verdict_words }, capital(more)) : null];
}

/** The words of a verdict without what its badge says already. */
function moreThanVerdict({ verdict, verdict_words: words }) {
  if (verdict === "pass") return words.replace(/^passed ?/, "");
  return words === "not passed" ? "" : words;
}

const startedCell = (card) => el("time", { datetime: card.started, title: wholeDate(card.started) }, when(card.started));

const speedCell = (card) =>
  card.steps_per_second === null ? NONE : [rate(card.steps_per_second), el("small", { class: "muted" }, "/s")];

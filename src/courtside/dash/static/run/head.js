// The head of a run's page: what it is, how far it is, and what came of it.

import { progressBar, progressWords, skippedWords, stateBadge, verdictBadge } from "../badges.js";
import { el } from "../dom.js";
import { number, sentence, when, wholeDate } from "../format.js";
import { comparePath, link, replayPath, wallPath } from "../links.js";

/** `run` is the answer of /api/run. */
export function headParts({ card, parts, verdict, verdict_words: words, skipped_lines: skipped }) {
  return [
    el("div", { class: "row spread" }, el("div", {}, el("h1", {}, card.title), identity(card)), links(card, parts)),
    el(
      "div",
      { class: "row" },
      stateBadge(card.state),
      verdict ? verdictBadge(verdict) : null,
      words ? el("span", {}, sentence(words)) : null,
    ),
    progressBar(card),
    el("p", { class: "muted" }, `${sentence(progressWords(card))} ${scoreWords(card)}`),
    skipped ? el("p", { class: "muted small" }, skippedWords(skipped)) : null,
  ];
}

/** What a run, population or search is: its world, algorithm and folder. */
export function identity(card) {
  const facts = [card.env === card.title ? null : card.env, card.algo, card.seed === null ? null : `seed ${card.seed}`]
    .filter(Boolean)
    .join(", ");
  return el(
    "p",
    { class: "muted" },
    `${facts} · started `,
    el("time", { datetime: card.started, title: wholeDate(card.started) }, when(card.started)),
    " · ",
    el("span", { class: "mono" }, card.name),
  );
}

function scoreWords(card) {
  if (card.score === null) return "";
  const best = card.best_eval === null ? "" : `, the best evaluation ${number(card.best_eval)}`;
  return `The newest score is ${number(card.score)}${best}.`;
}

function links(card, parts) {
  return el(
    "div",
    { class: "row links" },
    parts.wall ? link(wallPath(card.name), "Wall") : null,
    parts.replays ? link(replayPath(card.name), `Replays (${parts.replays})`) : null,
    link(comparePath([card.name]), "Compare"),
  );
}

// State, verdict, findings and progress in a few words, each with a sign of its own shape: colour only helps.

import { el, sign, spoken } from "./dom.js";
import { count, duration, percent, plural, rate } from "./format.js";

const STATES = { training: ["●", "live"], paused: ["▮▮", "live"], stopped: ["■", "idle"], finished: ["✓", "idle"] };
const VERDICTS = { pass: ["✓", "good", "passed"], fail: ["✕", "bad", "failed"] };

/** Whether somebody trains it, be it paused. */
export const isLive = (card) => card?.state === "training" || card?.state === "paused";

export function stateBadge(state) {
  const [shape, kind] = STATES[state] ?? ["○", "idle"];
  return el("span", { class: `state ${kind}` }, sign(shape, kind), state);
}

export function verdictBadge(verdict) {
  if (!VERDICTS[verdict]) return el("span", { class: "muted" }, "not yet");
  const [shape, kind, word] = VERDICTS[verdict];
  return el("span", { class: `pill ${kind}` }, sign(shape), word);
}

/** Whether something holds, as a pill. */
export const holdsBadge = (holds, yes = "holds", no = "not held") =>
  el("span", { class: `pill ${holds ? "good" : "bad"}` }, sign(holds ? "✓" : "✕"), holds ? yes : no);

export const share = (card) => (card.total_steps ? Math.min(1, card.step / card.total_steps) : 0);

export function progressBar(card) {
  const bar = el("progress", { max: "1", value: share(card), "aria-label": `${percent(share(card))} of the steps are done` });
  return bar;
}

/** The worst finding and how many more; a triangle for a sick run, a dot for a remark. */
export function findingsBrief(findings) {
  if (findings === null) return el("span", { class: "muted" }, "not looked at yet");
  if (findings.length === 0) return el("span", { class: "muted" }, "none");
  const [first, ...rest] = [...findings].sort((one, other) => Number(other.sick) - Number(one.sick));
  return el(
    "span",
    { class: first.sick ? "sick" : "remark" },
    findingSign(first),
    first.title,
    rest.length ? el("span", { class: "muted" }, ` and ${rest.length} more`) : null,
  );
}

export const findingSign = (finding) => [
  sign(finding.sick ? "▲" : "◆", finding.sick ? "bad" : "warn"),
  spoken(finding.sick ? "sick: " : "remark: "),
];

/** How far a run is, in one sentence without its full stop. */
export function progressWords(card) {
  const parts = [card.total_steps ? `${count(card.step)} of ${count(card.total_steps)} steps` : `${count(card.step)} steps`];
  if (card.steps_per_second !== null) parts.push(`${rate(card.steps_per_second)} steps a second`);
  if (card.state === "training" && card.seconds_left !== null) parts.push(`about ${duration(card.seconds_left)} left`);
  return parts.join(", ");
}

export const skippedWords = (lines) =>
  lines ? `${plural(lines, "line")} of the log could not be read and ${lines === 1 ? "was" : "were"} skipped.` : "";

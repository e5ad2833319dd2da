// The tables of a search: the leaderboard, the trials, the importance of the settings, the stages.

import { holdsBadge } from "../badges.js";
import { el, sign } from "../dom.js";
import { count, NONE, number, percent, plural } from "../format.js";
import { numberColumn, Table } from "../table.js";
import { words } from "./scales.js";

const passedWords = ({ passed, of }) => (of ? `${passed} of ${of}` : NONE);

export const makeLeaderboard = () =>
  new Table({
    caption: "Leaderboard",
    keyOf: (row) => row.name,
    sort: { key: "passed", direction: "descending" },
    columns: [
      { key: "name", title: "Settings", isHead: true, order: (row) => row.name, cell: (row) => row.name },
      {
        key: "passed",
        title: "Seeds that passed",
        from: "descending",
        order: (row) => (row.of ? row.passed / row.of : null),
        seen: passedWords,
        cell: passedWords,
      },
      {
        key: "chance",
        title: "Chance to pass",
        from: "descending",
        order: (row) => row.low,
        seen: (row) => [row.low, row.high],
        cell: chanceCell,
      },
      {
        key: "steps",
        title: "Median steps to pass",
        kind: "number",
        order: (row) => row.median_steps,
        cell: (row) => count(row.median_steps),
      },
      { key: "settings", title: "Values", seen: (row) => row.settings, cell: (row) => settingsCell(row.settings) },
    ],
  });

/** The interval as a bar with its ends in words. */
function chanceCell({ low, high }) {
  if (low === null || low === undefined) return NONE;
  const bar = el("span", { class: "interval", "aria-hidden": "true" }, el("i"));
  bar.firstChild.style.marginLeft = percent(low);
  bar.firstChild.style.width = percent(high - low);
  return [bar, el("span", { class: "under" }, `${percent(low)} to ${percent(high)}`)];
}

const settingsCell = (settings) =>
  el(
    "span",
    { class: "mono" },
    Object.entries(settings ?? {})
      .map(([name, value]) => `${name}=${words(value)}`)
      .join("  "),
  );

/** A table of trials with a column for each setting. */
export const makeTrialTable = (axes) =>
  new Table({
    caption: "Trials",
    keyOf: (trial) => String(trial.number),
    sort: { key: "score", direction: "descending" },
    columns: [
      { key: "number", title: "Trial", isHead: true, order: (trial) => trial.number, cell: (trial) => String(trial.number) },
      numberColumn("stage", "Stage", (trial) => trial.stage, String),
      numberColumn("score", "Score", (trial) => trial.score),
      {
        key: "passed",
        title: "Passed",
        from: "descending",
        order: (trial) => (trial.of ? trial.passed / trial.of : null),
        seen: passedWords,
        cell: passedWords,
      },
      ...axes.map(({ name }) => ({
        key: "setting",
        title: name,
        kind: "number",
        order: (trial) => trial.values[name] ?? null,
        cell: (trial) => words(trial.values[name] ?? NONE),
      })),
    ].map((column, index) => ({ ...column, key: column.key === "setting" ? `setting-${index}` : column.key })),
  });

/** Bars, longest first. */
export function importanceBars(importance) {
  if (!importance) return el("p", { class: "muted" }, "Not enough trials have ended to tell which settings matter.");
  const most = Math.max(...importance.map((row) => row.share), 1e-9);
  return el(
    "ol",
    { class: "bars" },
    [...importance]
      .sort((one, other) => other.share - one.share)
      .map(({ name, share }) => {
        const bar = el("span", { class: "bar-fill", "aria-hidden": "true" });
        bar.style.width = `${(100 * share) / most}%`;
        return el(
          "li",
          {},
          el("span", { class: "mono" }, name),
          el("span", { class: "bar-room" }, bar),
          el("span", {}, percent(share)),
        );
      }),
  );
}

export function stageList(given) {
  const stages = given.map((stage) => ({ ...stage, done: isDone(stage) }));
  const isNow = (stage, index) => !stage.done && stages.slice(0, index).every((before) => before.done);
  return el(
    "ol",
    { class: "stages" },
    stages.map((stage, index) =>
      el(
        "li",
        { class: stage.done ? "done" : isNow(stage, index) ? "now" : null },
        el("b", {}, `Stage ${stage.number} `),
        stage.done
          ? holdsBadge(true, "done")
          : el("span", { class: "muted" }, isNow(stage, index) ? [sign("●", "live"), "running"] : "to come"),
        el(
          "span",
          { class: "under" },
          `${plural(planned(stage), "setting")}, ${count(stage.steps)} steps, ${plural(stage.seeds, "seed")}`,
        ),
      ),
    ),
  );
}

const planned = (stage) => stage.settings ?? stage.trials;

/** `done` says so itself, or counts the trials that ended. */
const isDone = ({ done, ...stage }) => (typeof done === "number" ? done >= planned(stage) : done);

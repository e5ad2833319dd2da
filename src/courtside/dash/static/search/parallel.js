// Parallel coordinates: one upright line for each setting, one polyline for each trial, the score on the right.

import { svg } from "../dom.js";
import { number } from "../format.js";
import { byRank, position, scoreAxis, ticks } from "./scales.js";

const HEIGHT = 300;
const TOP = 44;
const BOTTOM = 24;
const SIDE = 56;
const STEP = 132;

/** `best` is the share of trials to draw strongly; the others stay pale. */
export function parallelCoordinates(axes, trials, best) {
  const scored = trials.filter((trial) => trial.score !== null).sort(byRank);
  if (scored.length === 0) return null;
  const all = [...axes, scoreAxis(scored)];
  const width = 2 * SIDE + STEP * (all.length - 1);
  const strong = Math.max(1, Math.round(scored.length * best));
  const lines = scored
    .map((trial, rank) => trialLine(trial, all, rank === 0 ? "line first" : rank < strong ? "line strong" : "line"))
    .reverse();
  return svg(
    "svg",
    {
      class: "parallel",
      viewBox: `0 0 ${width} ${HEIGHT}`,
      width,
      height: HEIGHT,
      role: "img",
      "aria-label": describe(scored, axes),
    },
    lines,
    all.map(drawAxis),
  );
}

function describe([first], axes) {
  const values = axes.map(({ name }) => `${name} ${first.values[name]}`).join(", ");
  return `Every trial as a line over its settings. The best, trial ${first.number}, scored ${number(first.score)} with ${values}.`;
}

const leftOf = (index) => SIDE + STEP * index;
const heightOf = (at) => HEIGHT - BOTTOM - at * (HEIGHT - TOP - BOTTOM);

function trialLine(trial, axes, kind) {
  const points = axes
    .map((axis, index) => [leftOf(index), position(axis, axis.name === "score" ? trial.score : trial.values[axis.name])])
    .filter(([, at]) => at !== null);
  return svg(
    "polyline",
    { class: kind, points: points.map(([x, at]) => `${x},${heightOf(at).toFixed(1)}`).join(" ") },
    svg("title", {}, `Trial ${trial.number}: score ${number(trial.score)}`),
  );
}

/** The ends are written above and below the axis, what lies between to its left. */
function labelPlace(x, at) {
  if (at > 0 && at < 1) return { x: x - 7, y: heightOf(at) + 4, "text-anchor": "end" };
  return { x, y: at === 1 ? TOP - 7 : HEIGHT - BOTTOM + 16, "text-anchor": "middle" };
}

function drawAxis(axis, index) {
  const x = leftOf(index);
  const labels = ticks(axis).map(([at, text]) => svg("text", { class: "tick", ...labelPlace(x, at) }, text));
  return svg(
    "g",
    {},
    svg("line", { class: "axis", x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }),
    svg("text", { class: "name", x, y: 16, "text-anchor": "middle" }, axis.name),
    labels,
  );
}

// One small picture for each setting: its value along, the score upright.

import { el, svg } from "../dom.js";
import { byRank, position, scoreAxis, ticks } from "./scales.js";

const WIDTH = 240;
const HEIGHT = 130;
const EDGE = 12;

export function slices(axes, trials, best) {
  const scored = trials.filter((trial) => trial.score !== null).sort(byRank);
  if (scored.length === 0) return null;
  const strong = Math.max(1, Math.round(scored.length * best));
  return el(
    "div",
    { class: "slices" },
    axes.map((axis) => slice(axis, scored, strong)),
  );
}

function slice(axis, scored, strong) {
  const upright = scoreAxis(scored);
  const dots = scored.map((trial, rank) => dot(axis, upright, trial, rank < strong)).reverse();
  const label = `Score along ${axis.name}; the best trial has ${scored[0].values[axis.name]}`;
  const picture = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label },
    svg("rect", { class: "frame", x: 0.5, y: 0.5, width: WIDTH - 1, height: HEIGHT - 1, rx: 4 }),
    dots,
  );
  const ends = ticks(axis).map(([, text]) => el("span", {}, text));
  return el(
    "figure",
    { class: "slice" },
    el("figcaption", { class: "mono" }, axis.name),
    picture,
    el("div", { class: "ends muted" }, ends),
  );
}

function dot(axis, upright, trial, isStrong) {
  const [along, up] = [position(axis, trial.values[axis.name]), position(upright, trial.score)];
  if (along === null) return null;
  return svg("circle", {
    class: isStrong ? "strong" : null,
    cx: (EDGE + along * (WIDTH - 2 * EDGE)).toFixed(1),
    cy: (HEIGHT - EDGE - up * (HEIGHT - 2 * EDGE)).toFixed(1),
    r: isStrong ? 3.2 : 2.2,
  });
}

// What is drawn on a chart beside its curves: windows in which a threshold held, the threshold, findings, events, and a moment.
//
// Marks are {held: [[from, to]], levels: [{y, words}], findings: [{x, words, sick}], events: [{x, disturbs, words?}], moment: x}, all optional, in the units of the axes.

import uPlot from "../vendor/uplot/uPlot.esm.js";
import { colour } from "../colours.js";
import { number } from "../format.js";

/** A threshold as a line with its words. */
export const thresholdLevel = (op, target) => ({
  y: target,
  words: `asked: ${op.replace(">=", "≥").replace("<=", "≤")} ${number(target)}`,
});

const TICK = 6;
const GAP = 4;

/** uPlot hooks that draw what `marksOf()` gives at that moment. */
export function markHooks(marksOf) {
  return {
    drawAxes: [(u) => inside(u, () => drawHeld(u, marksOf().held ?? []))],
    draw: [(u) => inside(u, () => drawOver(u, marksOf()))],
  };
}

function inside(u, draw) {
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  u.ctx.clip();
  draw();
  u.ctx.restore();
}

function drawOver(u, { levels = [], findings = [], events = [], moment = null }) {
  for (const event of events) drawEvent(u, event);
  for (const level of levels) drawLevel(u, level);
  findings.forEach((finding, row) => drawFinding(u, finding, row));
  if (moment !== null) drawUpright(u, moment, "ink", []);
}

function drawHeld(u, windows) {
  u.ctx.fillStyle = colour("held");
  for (const [from, to] of windows) {
    const left = u.valToPos(from, "x", true);
    u.ctx.fillRect(left, u.bbox.top, Math.max(1, u.valToPos(to, "x", true) - left), u.bbox.height);
  }
}

function drawLevel(u, { y, words }) {
  const height = u.valToPos(y, "y", true);
  stroke(
    u,
    "good",
    [6, 4],
    [
      [u.bbox.left, height],
      [u.bbox.left + u.bbox.width, height],
    ],
  );
  const isHigh = height < u.bbox.top + 20 * uPlot.pxRatio;
  write(u, words, "good", u.bbox.left + GAP * uPlot.pxRatio, isHigh ? height + 17 * uPlot.pxRatio : height - 7 * uPlot.pxRatio);
}

/** Labels of findings stand one under the other, so that neighbours do not cover each other, and turn left near the right edge. */
function drawFinding(u, { x, words, sick }, row) {
  const name = sick ? "bad" : "warn";
  const at = drawUpright(u, x, name, [3, 3]);
  const isLate = at > u.bbox.left + u.bbox.width * 0.6;
  write(
    u,
    `${sick ? "▲" : "◆"} ${words}`,
    name,
    at + (isLate ? -GAP : GAP) * uPlot.pxRatio,
    u.bbox.top + (12 + 14 * row) * uPlot.pxRatio,
    isLate ? "right" : "left",
  );
}

function drawUpright(u, x, name, dash) {
  const at = u.valToPos(x, "x", true);
  stroke(u, name, dash, [
    [at, u.bbox.top],
    [at, u.bbox.top + u.bbox.height],
  ]);
  return at;
}

/** A tick at the bottom; what disturbed the run is a longer one in the colour of a warning. */
function drawEvent(u, { x, disturbs, words }) {
  if (x < u.scales.x.min || x > u.scales.x.max) return;
  const at = u.valToPos(x, "x", true);
  const bottom = u.bbox.top + u.bbox.height;
  stroke(
    u,
    disturbs ? "warn" : "edge",
    [],
    [
      [at, bottom],
      [at, bottom - TICK * (disturbs ? 2 : 1) * uPlot.pxRatio],
    ],
  );
  if (!words) return;
  const isLate = at > u.bbox.left + u.bbox.width * 0.7;
  write(u, words, "warn", at + (isLate ? -GAP : GAP) * uPlot.pxRatio, bottom - GAP * uPlot.pxRatio, isLate ? "right" : "left");
}

function stroke(u, name, dash, [from, to]) {
  u.ctx.strokeStyle = colour(name);
  u.ctx.lineWidth = 1.2 * uPlot.pxRatio;
  u.ctx.setLineDash(dash.map((length) => length * uPlot.pxRatio));
  u.ctx.beginPath();
  u.ctx.moveTo(...from);
  u.ctx.lineTo(...to);
  u.ctx.stroke();
}

/** Text on a halo of the surface's colour, so that curves behind it do not disturb. */
function write(u, words, name, x, y, align = "left") {
  u.ctx.font = `600 ${11 * uPlot.pxRatio}px system-ui, sans-serif`;
  u.ctx.textAlign = align;
  u.ctx.setLineDash([]);
  u.ctx.lineJoin = "round";
  u.ctx.lineWidth = 4 * uPlot.pxRatio;
  u.ctx.strokeStyle = colour("surface");
  u.ctx.strokeText(words, x, y);
  u.ctx.fillStyle = colour(name);
  u.ctx.fillText(words, x, y);
}

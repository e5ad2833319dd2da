// Where a setting's value lies on its axis, from 0 to 1. An axis `from_one` is logarithmic in the distance from 1, as a discount is.

import { number } from "../format.js";

export function position(axis, value) {
  if (value === null || value === undefined) return null;
  if (axis.values) return indexShare(axis.values, value);
  if (axis.from_one) return share(Math.log(1 - axis.low), Math.log(1 - axis.high), Math.log(1 - value));
  if (axis.log) return share(Math.log(axis.low), Math.log(axis.high), Math.log(value));
  return share(axis.low, axis.high, value);
}

const share = (low, high, value) => (high === low ? 0.5 : Math.max(0, Math.min(1, (value - low) / (high - low))));

function indexShare(values, value) {
  const index = values.findIndex((one) => String(one) === String(value));
  if (index < 0) return null;
  return values.length === 1 ? 0.5 : index / (values.length - 1);
}

/** The ends of an axis, or all its values, as [position, words]. */
export function ticks(axis) {
  if (axis.values) return axis.values.map((value) => [indexShare(axis.values, value), words(value)]);
  return [
    [0, number(axis.low)],
    [1, number(axis.high)],
  ];
}

export const words = (value) => (typeof value === "number" ? number(value) : String(value));

/** The axis of the scores that were reached. */
export function scoreAxis(trials) {
  const scores = trials.map((trial) => trial.score).filter((score) => score !== null);
  return { name: "score", log: false, low: Math.min(...scores), high: Math.max(...scores), values: null };
}

/** The winner first, then who came furthest, then the higher score. */
export const byRank = (one, other) => one.rank - other.rank;

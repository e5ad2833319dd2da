// What happens to a curve {x, mean, low, high} before it is drawn. No drawing here.

/** Exponential moving average, corrected for its start as Adam does; gaps stay gaps. `weight` 0 changes nothing. */
export function smooth(values, weight) {
  if (weight === 0) return values;
  let [sum, norm] = [0, 0];
  return values.map((value) => {
    if (value === null || value === undefined) return null;
    sum = weight * sum + (1 - weight) * value;
    norm = weight * norm + (1 - weight);
    return sum / norm;
  });
}

/** The newest value that is a number, with its x; null where there is none. */
export function newest({ x, mean }) {
  for (let index = mean.length - 1; index >= 0; index -= 1)
    if (mean[index] !== null) return { x: x[index], value: mean[index], index };
  return null;
}

/** "rising", "falling" or "steady": the last quarter of the curve beside the quarter before it, against the spread of all. */
export function trend({ mean }) {
  const values = mean.filter((value) => value !== null);
  const quarter = Math.floor(values.length / 4);
  if (quarter < 2) return "steady";
  const change = average(values.slice(-quarter)) - average(values.slice(-2 * quarter, -quarter));
  const spread =
    values.reduce((most, value) => Math.max(most, value), -Infinity) -
    values.reduce((least, value) => Math.min(least, value), Infinity);
  if (Math.abs(change) <= 0.05 * spread) return "steady";
  return change > 0 ? "rising" : "falling";
}

const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** How to draw logarithmically: true logarithm where all is positive, else one that is straight around 0. Null where nothing can be drawn. */
export function logKind(curves) {
  const values = curves
    .flatMap(({ mean, low, high }) => [mean, low ?? [], high ?? []])
    .flat()
    .filter((value) => value !== null && value !== 0);
  if (values.length === 0) return null;
  if (values.every((value) => value > 0) && curves.every(({ mean }) => !mean.includes(0))) return { distr: 3 };
  const sizes = values.map(Math.abs).sort((one, other) => one - other);
  return { distr: 4, asinh: sizes[Math.floor(sizes.length / 10)] };
}

/** A step on the axis `kind` ("step", "update", "time"), by the run's clock; null where the clock does not say. */
export function translate(step, kind, clock) {
  if (step === null || step === undefined) return null;
  if (kind === "step") return step;
  if (!clock?.step?.length) return null;
  const after = clock.step.findIndex((at) => at >= step);
  if (after <= 0) return after === 0 ? clock[kind][0] : clock[kind].at(-1);
  const share = (step - clock.step[after - 1]) / (clock.step[after] - clock.step[after - 1]);
  return clock[kind][after - 1] + share * (clock[kind][after] - clock[kind][after - 1]);
}

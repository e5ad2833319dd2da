// A curve of the size of a word.

import { svg } from "./dom.js";
import { number } from "./format.js";

const WIDTH = 120;
const HEIGHT = 28;
const EDGE = 3;

/** `points` are [x, y] pairs; where y is null, no episode ended and the line goes on. */
export function sparkline(points, name) {
  const seen = points.filter(([, y]) => y !== null);
  if (seen.length < 2) return null;
  const [toX, toY] = [
    fit(
      seen.map(([x]) => x),
      EDGE,
      WIDTH - EDGE,
    ),
    fit(
      seen.map(([, y]) => y),
      HEIGHT - EDGE,
      EDGE,
    ),
  ];
  const [lastX, lastY] = seen.at(-1);
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": describe(seen, name) },
    svg("path", { d: `M${seen.map(([x, y]) => `${toX(x)} ${toY(y)}`).join("L")}` }),
    svg("circle", { cx: toX(lastX), cy: toY(lastY), r: 2 }),
  );
}

const describe = (seen, name) => `${name} went from ${number(seen[0][1])} to ${number(seen.at(-1)[1])}`;

/** Maps the range of `values` onto low..high; a flat line goes through the middle. */
function fit(values, low, high) {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (least === most) return () => (low + high) / 2;
  return (value) => Math.round((low + ((value - least) / (most - least)) * (high - low)) * 10) / 10;
}

// The distribution over values that a distributional critic predicts, as bars.

import { svg } from "../dom.js";
import { number } from "../format.js";

const WIDTH = 480;
const HEIGHT = 110;
const FOOT = 18;

export function valueHistogram(support, probability) {
  const most = Math.max(...probability, 1e-9);
  const mean = support.reduce((sum, atom, index) => sum + atom * probability[index], 0);
  const step = WIDTH / support.length;
  const bars = probability.map((share, index) => {
    const height = (share / most) * (HEIGHT - FOOT - 4);
    return svg("rect", {
      x: (index * step + 0.5).toFixed(1),
      y: (HEIGHT - FOOT - height).toFixed(1),
      width: Math.max(1, step - 1).toFixed(1),
      height: height.toFixed(1),
    });
  });
  const ends = [
    [0, "start", support[0]],
    [WIDTH / 2, "middle", (support[0] + support.at(-1)) / 2],
    [WIDTH, "end", support.at(-1)],
  ];
  return svg(
    "svg",
    {
      class: "histogram",
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: "img",
      "aria-label": `Predicted values from ${number(support[0])} to ${number(support.at(-1))}, mean ${number(mean)}`,
    },
    bars,
    ends.map(([x, anchor, value]) => svg("text", { x, y: HEIGHT - 4, "text-anchor": anchor }, number(value))),
  );
}

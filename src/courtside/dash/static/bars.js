// Probabilities as bars with their names and numbers.

import { el } from "./dom.js";
import { percent } from "./format.js";

/** `rows` are {name, probability, isTaken?}; the one taken is marked with a sign and a word. */
export function probabilityBars(rows) {
  return el(
    "ol",
    { class: "bars" },
    rows.map(({ name, probability, isTaken }) => {
      const bar = el("span", { class: "bar-fill", "aria-hidden": "true" });
      bar.style.width = `${100 * (probability ?? 0)}%`;
      return el(
        "li",
        { class: isTaken ? "taken" : null },
        el("span", {}, name, isTaken ? el("small", {}, " ◂ taken") : null),
        el("span", { class: "bar-room" }, bar),
        el("span", {}, percent(probability)),
      );
    }),
  );
}

// Controls that more than one page of charts has.

import { el } from "./dom.js";
import { number } from "./format.js";

/** What curves may be drawn along: [kind, words]. */
export const AXES = [
  ["step", "steps"],
  ["update", "updates"],
  ["time", "time"],
];

/** A slider for the weight of the moving average. */
export function smoothingSlider(onChange) {
  const shown = el("output", {}, "off");
  const slider = el("input", {
    type: "range",
    min: 0,
    max: 0.98,
    step: 0.02,
    value: 0,
    oninput: () => {
      shown.textContent = slider.value === "0" ? "off" : number(Number(slider.value));
      onChange(Number(slider.value));
    },
  });
  return el("label", { class: "field smoothing" }, el("span", {}, "Smoothing"), slider, shown);
}

/** A button that is on or off. */
export function toggleButton(words, isOn, onChange) {
  const button = el(
    "button",
    {
      type: "button",
      "aria-pressed": String(isOn),
      onclick: () => {
        const next = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(next));
        onChange(next);
      },
    },
    words,
  );
  return button;
}

// The colours of the style sheet, for canvases, which cannot read custom properties.

const known = new Map();
let probe = null;

/** The colour called --`name` in the theme of the moment. */
export function colour(name) {
  if (!known.has(name)) known.set(name, read(name));
  return known.get(name);
}

/** A custom property gives back its source text; only a property that paints resolves light-dark(). */
function read(name) {
  probe ??= document.body.appendChild(document.createElement("i"));
  probe.hidden = true;
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

document.addEventListener("themechange", () => known.clear());

const NUM_CURVES = 8;
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

/** How curve number `index` of a comparison is drawn: colours repeat after eight; the dashes differ from curve to curve. */
export const curveStyle = (index) => ({ colour: `curve-${index % NUM_CURVES}`, dash: DASHES[index % DASHES.length] });

// Builds nodes. What comes from a run (names, settings, texts) only ever becomes text or an attribute: nothing here takes markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; `on...` attributes are listeners, `true` sets an empty attribute, `null` and `false` none. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  node.append(...present(children));
  return node;
}

function setAttribute(node, name, value) {
  if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
  else if (value === true) node.setAttribute(name, "");
  else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
}

const present = (children) => children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);

/** Puts new children in the place of the old ones. */
export function replace(node, ...children) {
  node.replaceChildren(...present(children));
  return node;
}

/** Sets a text only where it differs, so that a poll does not disturb a selection or a screen reader. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A sign that sighted people see and a screen reader skips, since words stand beside it. */
export const sign = (shape, kind = "") => el("span", { class: `sign ${kind}`, "aria-hidden": "true" }, shape);

/** Words only a screen reader says. */
export const spoken = (text) => el("span", { class: "spoken" }, text);

/** A name that may break after its slashes and underscores, and nowhere else. */
export const breakable = (name) => name.split(/(?<=[/_.])/).flatMap((part, index) => (index ? [el("wbr"), part] : [part]));

/** A part of a page with its heading. */
export function section(title, attributes, ...children) {
  const id = `part-${title.toLowerCase().replace(/[^a-z]+/g, "-")}`;
  const heading = el("h2", { id }, title);
  return el("section", { "aria-labelledby": id, ...attributes }, heading, ...children);
}

/** A labelled choice; `options` are [value, words] pairs. */
export function choice(words, options, chosen, onPick) {
  const select = el("select", { onchange: () => onPick(select.value) });
  fillOptions(select, options, chosen);
  return el("label", { class: "field" }, el("span", {}, words), select);
}

export function fillOptions(select, options, chosen) {
  replace(
    select,
    options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)),
  );
}

/** Tells a screen reader something that sighted people see elsewhere. */
export const say = (sentence) => setText(document.getElementById("said"), sentence);

/** A node that is drawn anew only when its data changed; a focused link keeps the focus. */
export class Part {
  constructor(node, render) {
    Object.assign(this, { node, render, mark: undefined });
  }

  set(data) {
    const mark = JSON.stringify(data);
    if (mark === this.mark) return;
    this.mark = mark;
    const focused = this.node.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    replace(this.node, this.render(data));
    if (focused)
      [...this.node.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
  }
}

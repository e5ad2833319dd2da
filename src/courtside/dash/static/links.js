// Where things are: the paths of the pages, and the trail in the header.

import { address } from "./api.js";
import { el, replace } from "./dom.js";

const PAGE_OF_KIND = { run: "/run", population: "/population", search: "/search" };

export const runPath = (name, kind = "run") => address(PAGE_OF_KIND[kind] ?? "/run", { name });
export const memberPath = (population, member) => runPath(`${population}/members/${member}`);
export const comparePath = (names, more = {}) => address("/compare", { name: names, ...more });
export const wallPath = (name) => address("/wall", { name });
export const replayPath = (name, episode = null) => address("/replay", { name, episode });

/** What the address of this page asks for. */
export const asked = (key) => new URLSearchParams(location.search).get(key);
export const askedAll = (key) => new URLSearchParams(location.search).getAll(key);

/** Changes the query without a new entry in the history, so that a reload or a sent link shows the same. */
export function remember(values) {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(values)) value ? query.set(key, value) : query.delete(key);
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
}

/** The header's trail: [words, path] pairs; the last is where you are. Also names the browser's tab. */
export function showTrail(...steps) {
  const items = [["Runs", "/"], ...steps].map(([words, path], index, all) =>
    el("li", {}, el("a", { href: path, "aria-current": index === all.length - 1 ? "page" : null }, words)),
  );
  replace(document.getElementById("trail"), steps.length ? el("ol", {}, items) : null);
  document.title = [...steps.map(([words]) => words).reverse(), "courtside watch"].join(" · ");
}

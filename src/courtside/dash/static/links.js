// Where things are: the paths of the pages, and the trail in the header.

import { address } from "./api.js";
import { el, replace } from "./dom.js";
import { report } from "./embedded.js";

/** The address of this page; a report, which is a file, stands for one. */
export const here = report ?? location;

const PAGE_OF_KIND = { run: "/run", population: "/population", search: "/search" };

/** The path of another page; null in a report, which holds one page only. */
const path = (page, values) => (report ? null : address(page, values));

export const runPath = (name, kind = "run") => path(PAGE_OF_KIND[kind] ?? "/run", { name });
export const memberPath = (population, member) => runPath(`${population}/members/${member}`);
export const comparePath = (names, more = {}) => path("/compare", { name: names, ...more });
export const wallPath = (name) => path("/wall", { name });
export const replayPath = (name, episode = null) => path("/replay", { name, episode });

/** A link, where there is such a page. */
export const link = (to, words) => to && el("a", { href: to }, words);

/** What the address of this page asks for. */
export const asked = (key) => new URLSearchParams(here.search).get(key);
export const askedAll = (key) => new URLSearchParams(here.search).getAll(key);

/** Changes the query without a new entry in the history, so that a reload or a sent link shows the same. */
export function remember(values) {
  if (report) return;
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(values)) value ? query.set(key, value) : query.delete(key);
  const text = query.toString();
  history.replaceState(null, "", location.pathname + (text ? `?${text}` : ""));
}

/** The header's trail: [words, path] pairs; the last is where you are. Also names the browser's tab. */
export function showTrail(...steps) {
  const items = [...(report ? [] : [["Runs", "/"]]), ...steps].map(([words, to], index, all) =>
    el("li", {}, el("a", { href: to, "aria-current": index === all.length - 1 ? "page" : null }, words)),
  );
  replace(document.getElementById("trail"), steps.length ? el("ol", {}, items) : null);
  document.title = [...steps.map(([words]) => words).reverse(), `courtside ${report ? "report" : "watch"}`].join(" · ");
}

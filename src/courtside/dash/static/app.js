// The page begins here: the path decides which module fills <main>.

import { askEarly } from "./api.js";
import { el, replace } from "./dom.js";
import { report } from "./embedded.js";
import { asked, here } from "./links.js";

const CHART = ["chart/plot.js", "chart/marks.js", "chart/curves.js", "colours.js", "controls.js", "vendor/uplot/uPlot.esm.js"];
const RUN = [
  "board",
  "chart_card",
  "events",
  "findings",
  "head",
  "metric_groups",
  "settings",
  "thresholds",
  "time_split",
  "toolbar",
].map((name) => `run/${name}.js`);

/** For each path its module, what it will ask first, and which modules it will need: all are sent for at once, not one after the other. */
const PAGES = {
  "/": { load: () => import("./pages/runs.js"), asks: "runs", needs: ["runs/columns.js", "runs/filters.js", "sparkline.js"] },
  "/run": { load: () => import("./pages/run.js"), asks: "run", needs: [...CHART, ...RUN] },
  "/population": { load: () => import("./pages/population.js"), asks: "population", needs: [...CHART, "run/head.js"] },
  "/search": {
    load: () => import("./pages/search.js"),
    asks: "search",
    needs: ["search/parallel.js", "search/scales.js", "search/slices.js", "search/tables.js", "run/head.js"],
  },
  "/compare": { load: () => import("./pages/compare.js"), asks: null, needs: CHART },
  "/wall": { load: () => import("./pages/wall.js"), asks: "wall", needs: ["wall/tiles.js", "bars.js"] },
  "/replay": {
    load: () => import("./pages/replay.js"),
    asks: "replays",
    needs: [...CHART, "replay/player.js", "replay/episode.js", "replay/histogram.js", "bars.js"],
  },
};

const main = document.getElementById("main");

async function open() {
  const page = PAGES[here.pathname.replace(/(.)\/$/, "$1")];
  if (!page) return say("There is no page at this address.");
  if (page.asks) askEarly(page.asks, { name: asked("name") });
  const loading = page.load();
  if (!report) page.needs.forEach(sendFor);
  await (await loading).show(main);
}

function sendFor(path) {
  document.head.append(el("link", { rel: "modulepreload", href: new URL(path, import.meta.url).href }));
}

function say(sentence) {
  replace(main, el("p", { class: "plain" }, sentence, " ", el("a", { href: "/" }, "Go to the list of runs.")));
}

// `/` goes to the filter of the page, as in many tools; not while somebody types.
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, select, textarea, [contenteditable]");
  const filter = main.querySelector("input[type=search]");
  if (event.key !== "/" || typing || !filter || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  filter.focus();
});

open();

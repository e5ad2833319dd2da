// What the run must reach, and whether it does.

import { holdsBadge } from "../badges.js";
import { breakable, el } from "../dom.js";
import { count, NONE, number } from "../format.js";
import { Table } from "../table.js";
import { chartId } from "./metric_groups.js";

const COLUMNS = [
  {
    key: "metric",
    title: "Metric",
    isHead: true,
    seen: ({ metric }) => metric,
    cell: ({ metric }) => el("a", { class: "mono", href: `#${chartId(metric)}` }, breakable(metric)),
  },
  { key: "asked", title: "Asked", seen: ({ op, target, window }) => [op, target, window], cell: askedCell },
  { key: "now", title: "Now", kind: "number", seen: ({ value }) => value, cell: ({ value }) => number(value) },
  { key: "holds", title: "Holds", seen: ({ holds, since_step: since, reason }) => [holds, since, reason], cell: holdsCell },
];

export class Thresholds {
  constructor() {
    this.none = el("p", { class: "muted" }, "This run has no thresholds, so there is nothing to pass or fail.");
    this.table = new Table({
      caption: "Thresholds",
      columns: COLUMNS,
      keyOf: ({ metric, op, target, window }) => [metric, op, target, window].join(" "),
    });
    this.node = el("div", { class: "inset" }, this.none, this.table.node);
  }

  set(thresholds) {
    this.none.hidden = thresholds.length > 0;
    this.table.node.hidden = thresholds.length === 0;
    this.table.setRows(thresholds);
  }
}

function askedCell({ op, target, window }) {
  return [
    el(
      "span",
      { class: "nowrap" },
      `${{ ">=": "at least", "<=": "at most", ">": "above", "<": "below" }[op] ?? op} ${number(target)}`,
    ),
    el("span", { class: "under" }, window ? `over ${window}` : NONE),
  ];
}

function holdsCell({ holds, since_step: since, reason }) {
  const words = reason || (since === null ? "" : `since step ${count(since)}`);
  const badge = holds === null ? el("span", { class: "muted" }, "not known yet") : holdsBadge(holds);
  return [badge, words ? el("span", { class: "under" }, words) : null];
}

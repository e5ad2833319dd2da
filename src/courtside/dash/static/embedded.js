// What a report carries along instead of a server: its address, the answers, and the curves by axis and metric.

const node = document.getElementById("report");

/** {pathname, search, answers, curves, lists} of a report; null on the live page. */
export const report = node && JSON.parse(node.textContent);

/** The answer that the server gave when the report was written. */
export function embedded(what, values) {
  const told = report.answers[what];
  return MAKERS[what]?.(told, values) ?? told;
}

const MAKERS = { series: seriesOf, compare: comparisonOf };

function seriesOf(told, { metric: metrics, x, from = -Infinity, to = Infinity }) {
  const curves = metrics.map((metric) => [metric, cut(curveOf(report.curves[x][metric]), from, to)]);
  return { ...told, series: Object.fromEntries(curves) };
}

function comparisonOf(told, { metric, x }) {
  const drawn = metric ?? told.metric;
  const runs = told.runs.map((run, index) => ({ ...run, ...curveOf(report.curves[x][drawn]?.[index]) }));
  return { ...told, metric: drawn, runs };
}

const COLUMNS = ["x", "mean", "low", "high"];

/** Curves share their columns, so each is kept as the places of its columns among all lists. */
const curveOf = (places) => Object.fromEntries(COLUMNS.map((name, index) => [name, places ? report.lists[places[index]] : []]));

function cut(curve, from, to) {
  const isInside = curve.x.map((x) => x >= from && x <= to);
  return Object.fromEntries(COLUMNS.map((name) => [name, curve[name].filter((_, index) => isInside[index])]));
}

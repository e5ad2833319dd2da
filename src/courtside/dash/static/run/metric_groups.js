// The groups of metrics, by the first part of their names.

const TITLES = {
  charts: "Episodes and progress",
  eval: "Evaluations",
  losses: "Losses",
  health: "Health",
  env: "The environment",
  agents: "Each agent",
  replay: "Replay",
  time: "Time",
};

export const groupOf = (metric) => (metric.includes("/") ? metric.split("/")[0] : "other");
export const groupTitle = (group) => TITLES[group] ?? group.charAt(0).toUpperCase() + group.slice(1);

/** The name without its group: what stands over a chart. */
export const ownName = (metric) => (metric.includes("/") ? metric.slice(metric.indexOf("/") + 1) : metric);

/** The id of a metric's chart; names may hold anything, ids no blanks. */
export const chartId = (metric) => `chart-${encodeURIComponent(metric)}`;

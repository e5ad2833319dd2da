// What the doctor found: since when, why it thinks so, the likely cause and what to do.

import { findingSign } from "../badges.js";
import { el } from "../dom.js";
import { capital, count, percent } from "../format.js";
import { chartId } from "./metric_groups.js";

export function findingsList({ findings, looked_at: step, score }) {
  if (findings.length === 0)
    return el("p", { class: "muted" }, step ? `Nothing was found up to step ${count(step)}.` : "Nothing was found so far.");
  const ordered = [...findings].sort((one, other) => other.severity - one.severity);
  return el(
    "ol",
    { class: "findings" },
    ordered.map((finding) => findingItem(finding, score)),
  );
}

function findingItem(finding, score) {
  const since = finding.since_step === null ? null : `since step ${count(finding.since_step)}`;
  const sure = finding.confidence === null ? null : `${percent(finding.confidence)} sure`;
  return el(
    "li",
    { class: finding.sick ? "sick" : "remark" },
    el("h3", {}, findingSign(finding), capital(finding.title)),
    el(
      "p",
      { class: "muted" },
      [since, sure].filter(Boolean).join(", "),
      " · ",
      el("a", { href: `#${chartId(finding.metric ?? score)}` }, "See it on the chart"),
    ),
    el(
      "ul",
      { class: "evidence" },
      finding.evidence.map((line) => el("li", {}, line)),
    ),
    finding.cause ? el("p", {}, el("b", {}, "Likely cause: "), finding.cause) : null,
    finding.remedy ? el("p", {}, el("b", {}, "What to do: "), finding.remedy) : null,
  );
}

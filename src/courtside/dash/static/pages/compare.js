// Several runs or populations over each other, with what differs in their settings on top.

import { ask, poll } from "../api.js";
import { newest } from "../chart/curves.js";
import { Plot } from "../chart/plot.js";
import { colour, curveStyle } from "../colours.js";
import { AXES, smoothingSlider, toggleButton } from "../controls.js";
import { choice, el, fillOptions, Part, replace, section, setText, svg } from "../dom.js";
import { report } from "../embedded.js";
import { number, place } from "../format.js";
import { asked, askedAll, comparePath, remember, runPath, showTrail } from "../links.js";

const SECONDS = 5;

export async function show(main) {
  const page = new ComparePage();
  replace(main, page.node);
  showTrail(["Compare", comparePath(page.names)]);
  if (!report) page.offerRuns();
  if (page.names.length > 0) await page.start();
}

class ComparePage {
  constructor() {
    this.names = askedAll("name");
    this.kind = AXES.some(([kind]) => kind === asked("x")) ? asked("x") : "step";
    this.metric = asked("metric");
    this.host = el("div", { class: "plot", role: "img", "aria-label": "No curves yet" });
    this.plot = new Plot(this.host, {
      height: 380,
      xKind: this.kind,
      onSelect: (from, to) => this.zoom([from, to]),
      onCursor: (index) => this.read(index),
    });
    this.legend = el("ul", { class: "legend compare-legend" });
    this.differences = new Part(
      el("div", { class: "inset", tabindex: "0", role: "region", "aria-label": "Settings that differ" }),
      differencesTable,
    );
    this.hint = el("p", { class: "muted" });
    this.node = el("div", { class: "page compare" }, el("h1", {}, "Compare"), report ? null : this.adder(), this.hint, this.body());
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.zoom(null));
    document.addEventListener("themechange", () => this.drawLegend());
  }

  body() {
    return el(
      "div",
      { class: "body", hidden: this.names.length === 0 },
      section("What differs in the settings", { class: "panel" }, this.differences.node),
      this.controls(),
      el("figure", { class: "chart large" }, el("figcaption", { class: "spoken" }, "Curves of the runs"), this.host, this.legend),
    );
  }

  adder() {
    this.offers = el("datalist", { id: "offers" });
    const input = el("input", {
      type: "search",
      list: "offers",
      placeholder: "Name of another run",
      "aria-label": "Name of another run",
      onkeydown: (event) => event.key === "Enter" && this.add(input.value),
    });
    return el(
      "div",
      { class: "tools" },
      el("label", { class: "field grow" }, input),
      this.offers,
      el("button", { type: "button", onclick: () => this.add(input.value) }, "Add to the comparison"),
    );
  }

  controls() {
    this.metricChoice = choice("Metric", [], null, (metric) => this.change({ metric }));
    this.resetButton = el("button", { type: "button", disabled: true, onclick: () => this.zoom(null) }, "Reset zoom");
    return el(
      "div",
      { class: "tools" },
      this.metricChoice,
      choice("Along", AXES, this.kind, (kind) => this.change({ kind })),
      smoothingSlider((weight) => this.plot.set({ weight })),
      toggleButton("Log scale", false, (log) => this.plot.set({ log })),
      this.resetButton,
    );
  }

  async start() {
    await poll(
      () => this.refresh(),
      () => SECONDS,
    );
  }

  async offerRuns() {
    setText(
      this.hint,
      this.names.length < 2 ? "Choose at least two runs: tick them in the list of runs, or add one by its name here." : "",
    );
    const { runs } = await ask("runs").catch(() => ({ runs: [] }));
    replace(
      this.offers,
      runs.filter(({ kind }) => kind !== "search").map(({ name }) => el("option", { value: name })),
    );
  }

  add(name) {
    const wanted = name.trim();
    if (wanted && !this.names.includes(wanted))
      location.assign(comparePath([...this.names, wanted], { x: this.kind, metric: this.metric }));
  }

  change({ kind = this.kind, metric = this.metric }) {
    Object.assign(this, { kind, metric });
    remember({ x: kind, metric });
    this.zoom(null);
    this.refresh();
  }

  async refresh() {
    const { kind, metric } = this;
    this.answer = await ask("compare", { name: this.names, metric, x: kind });
    if (kind !== this.kind || metric !== this.metric) return;
    this.setMetrics(this.answer);
    this.differences.set({
      runs: this.answer.runs.map(({ name, title }) => ({ name, title })),
      differences: this.answer.differences,
    });
    this.draw();
  }

  setMetrics({ metrics, metric: drawn }) {
    const select = this.metricChoice.querySelector("select");
    const chosen = this.metric ?? drawn ?? metrics[0];
    const all = metrics.includes(chosen) || !chosen ? metrics : [chosen, ...metrics];
    if (all.join() !== [...select.options].map((option) => option.value).join())
      fillOptions(
        select,
        all.map((metric) => [metric, metric]),
        chosen,
      );
  }

  draw() {
    const curves = this.answer.runs.map((run, index) => ({
      label: run.name,
      ...curveStyle(index),
      x: run.x,
      mean: run.mean,
      low: run.low,
      high: run.high,
    }));
    this.plot.set({ curves: curves.filter((curve) => curve.x.length), xKind: this.kind });
    this.host.setAttribute(
      "aria-label",
      this.answer.runs.map((run) => `${run.name}: newest value ${number(newest(run)?.value ?? null)}`).join("; "),
    );
    this.drawLegend();
  }

  zoom(range) {
    this.plot.set({ range });
    this.resetButton.disabled = range === null;
  }

  /** Each run with its colour and dash, its value, and a way to leave it out. */
  drawLegend() {
    if (!this.answer) return;
    this.values = this.answer.runs.map(() => el("b", {}));
    this.where = el("li", { class: "muted" });
    replace(
      this.legend,
      this.answer.runs.map((run, index) =>
        el(
          "li",
          {},
          swatch(index),
          el("a", { href: runPath(run.name, run.kind) }, run.name),
          this.values[index],
          this.dropButton(run.name),
        ),
      ),
      this.where,
    );
    this.read(null);
  }

  dropButton(name) {
    const path = comparePath(
      this.names.filter((one) => one !== name),
      { x: this.kind, metric: this.metric },
    );
    return path && el("a", { class: "drop", href: path, "aria-label": `Leave out ${name}` }, "✕");
  }

  read(index) {
    if (!this.values) return;
    const drawn = this.answer.runs.filter((run) => run.x.length);
    this.answer.runs.forEach((run, row) => {
      const value = index === null ? (newest(run)?.value ?? null) : (this.plot.lineAt(drawn.indexOf(run), index) ?? null);
      setText(this.values[row], number(value));
    });
    setText(this.where, index === null ? "newest values" : `values at ${place(this.kind, this.plot.xs[index])}`);
  }
}

function swatch(index) {
  const { colour: name, dash } = curveStyle(index);
  return svg(
    "svg",
    { viewBox: "0 0 30 10", "aria-hidden": "true" },
    svg("line", {
      x1: 0,
      x2: 30,
      y1: 5,
      y2: 5,
      stroke: colour(name),
      "stroke-width": 2.5,
      "stroke-dasharray": dash.join(" ") || null,
    }),
  );
}

function differencesTable({ runs, differences }) {
  if (runs.length < 2) return el("p", { class: "muted" }, "There is nothing to compare with yet.");
  if (differences.length === 0) return el("p", { class: "muted" }, "All settings are the same.");
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, "Setting"),
    runs.map(({ name }, index) => el("th", { scope: "col" }, swatch(index), " ", name)),
  );
  const rows = differences.map(({ name, values }) =>
    el(
      "tr",
      {},
      el("th", { scope: "row", class: "mono" }, name),
      values.map((value) => el("td", { class: "mono" }, value ?? "–")),
    ),
  );
  return el(
    "table",
    { class: "table small" },
    el("caption", { class: "spoken" }, "Settings that differ"),
    el("thead", {}, head),
    el("tbody", {}, rows),
  );
}

// A table that sorts by its headers and follows changing rows: a poll touches only the cells whose contents changed, so that focus,
// selection and scroll stay where they are, and hundreds of rows cost little.
//
// A column is {key, title, cell(row), order(row)?, seen(row)?, kind?, from?}:
//   cell   what stands in the cell, a node or a text
//   order  what the column sorts by; without it the column does not sort
//   seen   what the cell depends on, if that is not `order`
//   kind   classes of the cells, e.g. "number"
//   from   the direction of the first click: "descending" where the most is wanted first, else "ascending"
//   isHead the column that names the row; isQuiet a title that only screen readers say

import { el, replace, spoken } from "./dom.js";
import { number } from "./format.js";

const OPPOSITE = { ascending: "descending", descending: "ascending" };

/** A column of numbers, the largest first. */
export const numberColumn = (key, title, value, show = number) => ({
  key,
  title,
  kind: "number",
  from: "descending",
  order: value,
  cell: (row) => show(value(row)),
});

export class Table {
  constructor({ caption, columns, keyOf, sort, onSort = () => {}, roomy = false }) {
    Object.assign(this, { columns, keyOf, sort, onSort });
    this.rows = new Map();
    this.shown = [];
    this.filter = () => true;
    this.heads = new Map(columns.map((column) => [column.key, this.head(column)]));
    this.body = el("tbody", { role: "rowgroup" });
    this.node = el(
      "table",
      { role: "table", class: roomy ? "table" : "table small" },
      el("caption", { class: "spoken" }, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, [...this.heads.values()])),
      this.body,
    );
    this.markSort();
  }

  head(column) {
    const attributes = { role: "columnheader", scope: "col", class: `col-${column.key} ${column.kind ?? ""}` };
    if (!column.order) return el("th", attributes, column.isQuiet ? spoken(column.title) : column.title);
    return el("th", attributes, el("button", { type: "button", class: "sort", onclick: () => this.turn(column) }, column.title));
  }

  /** Sorts by a column; a second click turns the direction. */
  turn(column) {
    const first = column.from ?? "ascending";
    this.sortBy(column.key, this.sort.key === column.key ? OPPOSITE[this.sort.direction] : first);
  }

  sortBy(key, direction) {
    this.sort = { key, direction };
    this.markSort();
    this.arrange();
    this.onSort(this.sort);
  }

  markSort() {
    for (const [key, head] of this.heads) {
      if (key === this.sort?.key) head.setAttribute("aria-sort", this.sort.direction);
      else head.removeAttribute("aria-sort");
    }
  }

  setFilter(filter) {
    this.filter = filter;
    this.arrange();
  }

  /** Takes the rows as they are now: adds, changes and drops what differs. */
  setRows(rows) {
    const keys = new Set(rows.map(this.keyOf));
    for (const key of this.rows.keys()) if (!keys.has(key)) this.rows.delete(key);
    for (const row of rows) this.setRow(row);
    this.arrange();
  }

  setRow(row) {
    const key = this.keyOf(row);
    const known = this.rows.get(key) ?? this.makeRow(key);
    known.row = row;
    const mark = JSON.stringify(row);
    if (mark === known.mark) return;
    known.mark = mark;
    this.columns.forEach((column, index) => renderCell(column, row, known.cells[index]));
  }

  makeRow(key) {
    const cells = this.columns.map((column) => ({ node: makeCell(column), mark: undefined }));
    const made = {
      cells,
      node: el(
        "tr",
        { role: "row" },
        cells.map((cell) => cell.node),
      ),
    };
    this.rows.set(key, made);
    return made;
  }

  /** Puts the rows that pass the filter in order; the document is touched only where that changed something. */
  arrange() {
    const kept = [...this.rows.values()].filter(({ row }) => this.filter(row));
    const ordered = this.sort ? kept.sort(this.comparison()) : kept;
    if (sameOrder(ordered, this.shown)) return;
    this.shown = ordered;
    const focused = document.activeElement;
    replace(
      this.body,
      ordered.map(({ node }) => node),
    );
    if (this.body.contains(focused)) focused.focus({ preventScroll: true });
  }

  comparison() {
    const order = this.columns.find((column) => column.key === this.sort.key)?.order ?? (() => 0);
    const turn = this.sort.direction === "descending" ? -1 : 1;
    return (one, other) => compare(order(one.row), order(other.row), turn);
  }
}

const sameOrder = (ones, others) => ones.length === others.length && ones.every((one, index) => one === others[index]);

function makeCell(column) {
  const attributes = { class: `col-${column.key} ${column.kind ?? ""}`, "data-label": column.title };
  return column.isHead ? el("th", { role: "rowheader", scope: "row", ...attributes }) : el("td", { role: "cell", ...attributes });
}

function renderCell(column, row, cell) {
  const mark = JSON.stringify((column.seen ?? column.order)(row)) ?? "";
  if (mark === cell.mark) return;
  cell.mark = mark;
  replace(cell.node, column.cell(row));
}

/** What is missing comes last in both directions. */
function compare(one, other, turn) {
  const gaps = isGap(one) - isGap(other);
  if (gaps || isGap(one)) return gaps;
  if (typeof one === "string") return turn * one.localeCompare(String(other), "en", { numeric: true });
  return turn * (one - other);
}

const isGap = (value) => Number(value === null || value === undefined || value === "");

/** A plain table of facts: [name, value, help] rows, the help under the name. */
export function facts(caption, rows) {
  const lines = rows.map(([name, value, help]) =>
    el("tr", {}, el("th", { scope: "row" }, name, help ? el("small", {}, help) : null), el("td", {}, value)),
  );
  return el("table", { class: "facts" }, el("caption", { class: "spoken" }, caption), el("tbody", {}, lines));
}

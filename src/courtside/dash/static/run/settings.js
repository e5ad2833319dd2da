// The settings of a run, those that were changed first, and what follows from them.

import { el } from "../dom.js";
import { duration, plural, when } from "../format.js";
import { facts } from "../table.js";

export function settingsParts({ config, sizes }) {
  const changed = config.filter((setting) => setting.changed);
  const rest = config.filter((setting) => !setting.changed);
  return el(
    "div",
    { class: "columns" },
    el(
      "div",
      {},
      el("h3", {}, "Changed from the defaults"),
      changed.length ? settingsTable("Changed settings", changed) : el("p", { class: "muted" }, "All settings are the defaults."),
    ),
    el(
      "div",
      {},
      el("h3", {}, "Sizes that follow from them"),
      facts(
        "Derived sizes",
        sizes.map(({ name, value, help }) => [name, el("code", {}, value), help]),
      ),
      rest.length
        ? el(
            "details",
            { class: "rest" },
            el("summary", {}, `The other ${plural(rest.length, "setting")}, as they are by default`),
            settingsTable("Default settings", rest),
          )
        : null,
    ),
  );
}

const settingsTable = (caption, settings) =>
  facts(
    caption,
    settings.map(({ group, name, value, help }) => [
      el("span", { class: "mono" }, `${group}.${name}`),
      el("code", {}, value),
      help,
    ]),
  );

/** Device and versions of each session of the run. */
export function systemParts({ system }) {
  return system.map(({ started, device, python, versions, from_update: update }) => {
    const head = el("h3", {}, update ? `Resumed at update ${update}, ${when(started)}` : `Started ${when(started)}`);
    return [head, facts("Versions", [["Device", device], ["Python", python], ...Object.entries(versions ?? {})])];
  });
}

export const compileWords = (seconds) => (seconds === null ? "" : `Compiling took ${duration(seconds)}.`);

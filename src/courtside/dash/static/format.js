// Numbers, durations and dates as people read them.

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const COMPACT = new Intl.NumberFormat("en-US", { notation: "compact", maximumSignificantDigits: 3 });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const WHOLE_DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "medium" });

/** What stands where there is no number. */
export const NONE = "–";

const missing = (value) => value === null || value === undefined || Number.isNaN(value);

/** Four significant digits, thousands grouped: 1.234, 12,345, 2.5e-4. */
export function number(value) {
  if (missing(value)) return NONE;
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3 || size >= 1e12)
    return minus(
      value
        .toExponential(2)
        .replace(/\.?0+e/, "e")
        .replace("e+", "e"),
    );
  if (size >= 1000) return minus(GROUPED.format(value));
  return minus(String(Number(value.toPrecision(4))));
}

/** The true minus sign is as wide as a digit, so columns stay straight. */
const minus = (text) => text.replace(/^-/, "−");

/** A whole number: 1,500,000. */
export const count = (value) => (missing(value) ? NONE : GROUPED.format(value));

/** For axes, where room is short: 1.5M, 0.02. */
export function short(value) {
  if (missing(value)) return "";
  if (Math.abs(value) >= 10_000) return minus(COMPACT.format(value));
  return number(value);
}

/** Three significant digits of a rate: 105,000 or 412. */
export const rate = (value) => (missing(value) ? NONE : number(Number(value.toPrecision(3))));

export const percent = (share) => (missing(share) ? NONE : `${number(Math.round(share * 1000) / 10)}%`);

const SPANS = [
  ["d", 86_400, "h", 3600],
  ["h", 3600, "min", 60],
  ["min", 60, "s", 1],
];

/** 13 s, 2 min 5 s, 3 h 12 min, 2 d 4 h. */
export function duration(seconds) {
  if (missing(seconds)) return NONE;
  if (seconds < 10 && seconds % 1 !== 0) return `${number(Math.round(seconds * 10) / 10)} s`;
  const rounded = Math.round(seconds);
  for (const [large, span, small, part] of SPANS) {
    if (rounded < span) continue;
    const rest = Math.floor((rounded % span) / part);
    return rest ? `${Math.floor(rounded / span)} ${large} ${rest} ${small}` : `${Math.floor(rounded / span)} ${large}`;
  }
  return `${rounded} s`;
}

/** A date; Python writes the zone as +0000, which not every browser reads. */
const dateOf = (stamp) => new Date(String(stamp ?? "").replace(/([+-]\d\d)(\d\d)$/, "$1:$2"));

/** The time today, the day and the time before that. */
export function when(stamp) {
  const date = dateOf(stamp);
  if (Number.isNaN(date.getTime())) return NONE;
  const today = date.toDateString() === new Date().toDateString();
  return today ? CLOCK.format(date) : `${DAY.format(date)}, ${CLOCK.format(date)}`;
}

/** The whole date, for a hover. */
export function wholeDate(stamp) {
  const date = dateOf(stamp);
  return Number.isNaN(date.getTime()) ? "" : WHOLE_DATE.format(date);
}

/** 1 finding, 2 findings. */
export const plural = (howMany, word) => `${count(howMany)} ${word}${howMany === 1 ? "" : "s"}`;

/** A text as a sentence: a capital first, one full stop at the end. */
export const sentence = (text) => `${capital(text).replace(/\.$/, "")}.`;

export const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** A position on the x axis in words. */
export function place(kind, x) {
  if (kind === "time") return `${duration(x)} of training`;
  return `${kind} ${count(x)}`;
}

// Asks the server, and keeps asking while somebody looks. A report has its answers with it, and asks once.

import { embedded, report } from "./embedded.js";

/** An answer that is no answer: `message` is a sentence to show. */
export class NoAnswer extends Error {
  constructor(sentence, status, isFromServer = false) {
    super(sentence);
    Object.assign(this, { status, isFromServer });
  }
}

/** GET /api/`what`; values that are lists are repeated, null ones left out. */
export async function ask(what, values = {}) {
  if (report) return embedded(what, values);
  const path = address(`/api/${what}`, values);
  return read(await (taken(path) ?? reach(path)));
}

/** POST /api/`what` with JSON. */
export const send = async (what, values, content) =>
  read(
    await reach(address(`/api/${what}`, values), {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(content),
    }),
  );

async function read(response) {
  const answer = await response.json().catch(() => null);
  if (response.ok && answer !== null) return answer;
  throw new NoAnswer(
    answer?.error ?? `The server answered with status ${response.status}.`,
    response.status,
    Boolean(answer?.error),
  );
}

const early = new Map();

/** Sends a question whose answer the next `ask` of the same will take. */
export function askEarly(what, values = {}) {
  if (report) return;
  const path = address(`/api/${what}`, values);
  const response = reach(path);
  response.catch(() => {});
  early.set(path, response);
}

function taken(path) {
  const response = early.get(path);
  early.delete(path);
  return response;
}

async function reach(path, how = { headers: { Accept: "application/json" } }) {
  try {
    return await fetch(path, how);
  } catch {
    throw new NoAnswer("The server does not answer. It is asked again every few seconds.", 0);
  }
}

/** A path with its query, every value encoded. */
export function address(path, values = {}) {
  const query = Object.entries(values).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter(isGiven)
      .map((one) => `${name}=${encodeURIComponent(one)}`),
  );
  return query.length ? `${path}?${query.join("&")}` : path;
}

const isGiven = (value) => value !== null && value !== undefined;

/** Runs `task` now and then every `seconds()` seconds; rests while the page is hidden. Faults become a notice and are tried again. */
export function poll(task, seconds) {
  if (report) return attempt(task);
  let timer = null;
  let busy = false;
  async function turn() {
    clearTimeout(timer);
    if (busy || document.hidden) return;
    busy = true;
    await attempt(task);
    busy = false;
    timer = setTimeout(turn, seconds() * 1000);
  }
  document.addEventListener("visibilitychange", turn);
  return turn();
}

/** The sentences of tasks that fail now; the notice shows the first. */
const troubles = new Map();

async function attempt(task) {
  try {
    await task();
    troubles.delete(task);
  } catch (fault) {
    if (!(fault instanceof NoAnswer)) console.error(fault);
    if (!fault.isShown) troubles.set(task, fault.message);
  }
  notice([...troubles.values()][0] ?? "");
}

function notice(sentence) {
  const node = document.getElementById("notice");
  if (node.textContent !== sentence) node.textContent = sentence;
}

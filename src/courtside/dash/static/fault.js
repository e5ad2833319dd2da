// What a page shows when what it was asked for is not there.

import { el, replace } from "./dom.js";

/** Before the first answer the page has nothing else to show, so the sentence goes into `node`; later the last answer stays and the notice tells. */
export function failed(fault, name, node) {
  if (node)
    replace(
      node,
      el("h1", {}, name || "No name was given"),
      el("p", {}, fault.message),
      el("p", {}, el("a", { href: "/" }, "Go to the list of runs.")),
    );
  fault.isShown = node !== null;
  throw fault;
}

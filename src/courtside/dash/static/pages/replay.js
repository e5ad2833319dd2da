// Recorded episodes of a run, to go through frame by frame.

import { ask, NoAnswer, poll } from "../api.js";
import { el, Part, replace } from "../dom.js";
import { capital } from "../format.js";
import { asked, replayPath, runPath, showTrail } from "../links.js";
import { Player } from "../replay/player.js";

const SECONDS = 10;

export async function show(main) {
  const page = new ReplayPage(asked("name") ?? "");
  replace(main, page.node);
  showTrail([page.name, runPath(page.name)], ["Replay", location.href]);
  await poll(
    () => page.refresh(),
    () => SECONDS,
  );
}

class ReplayPage {
  constructor(name) {
    Object.assign(this, { name, open: null });
    this.list = new Part(el("nav", { class: "panel episodes", "aria-label": "Episodes" }), (episodes) =>
      this.items(episodes),
    );
    this.stage = el("div", { class: "panel" }, el("p", { class: "muted" }, "Waiting for the list of episodes."));
    this.node = el(
      "div",
      { class: "page replay" },
      el("h1", {}, "Replay"),
      el("div", { class: "replay-columns" }, this.list.node, this.stage),
    );
  }

  async refresh() {
    const { episodes } = await ask("replays", { name: this.name }).catch(noneWhereMissing);
    this.list.set(episodes);
    this.list.node.hidden = episodes.length === 0;
    if (episodes.length === 0)
      replace(this.stage, el("p", {}, "This run has no episodes to look at: it has saved no policy yet, or its world is stepped outside JAX. Such a world can be filmed with courtside eval."));
    else if (this.open === null) await this.load(asked("episode") ?? String(episodes[0].id));
  }

  async load(id) {
    replace(this.stage, el("p", { role: "status" }, "The episode is being played. The first one takes some seconds."));
    const answer = await ask("replay", { name: this.name, episode: id }).catch((fault) => {
      replace(this.stage, el("p", { role: "alert" }, `This episode cannot be shown. ${fault.message}`));
      throw fault;
    });
    this.open = id;
    this.player = new Player(this.name, id, answer);
    replace(this.stage, this.player.node);
    this.player.drawCurves();
    this.player.describe();
    this.mark();
  }

  items(episodes) {
    return el(
      "ol",
      {},
      episodes.map((episode) =>
        el(
          "li",
          {},
          el(
            "a",
            {
              href: replayPath(this.name, episode.id),
              "data-id": episode.id,
              "aria-current": String(episode.id) === this.open ? "true" : null,
            },
            el("b", {}, capital(episode.words)),
          ),
        ),
      ),
    );
  }

  mark() {
    for (const link of this.list.node.querySelectorAll("a"))
      link.dataset.id === this.open ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current");
  }
}

function noneWhereMissing(fault) {
  if (fault instanceof NoAnswer && fault.status === 404) return { episodes: [] };
  throw fault;
}

// What every environment is doing right now.

import { address, ask, NoAnswer, poll } from "../api.js";
import { probabilityBars } from "../bars.js";
import { el, replace, setText } from "../dom.js";
import { count, number } from "../format.js";
import { asked, runPath, showTrail } from "../links.js";
import { loadPicture, Tiles } from "../wall/tiles.js";

const FRAME_SECONDS = 0.33;
const STILL_SECONDS = 1.5;

export async function show(main) {
  const page = new WallPage(asked("name") ?? "");
  replace(main, page.node);
  showTrail([page.name, runPath(page.name)], ["Wall", location.href]);
  await poll(
    () => page.refresh(),
    () => (page.isMoving ? FRAME_SECONDS : STILL_SECONDS),
  );
}

class WallPage {
  constructor(name) {
    Object.assign(this, { name, stamp: null, isMoving: false, picked: null, envs: [] });
    this.words = el("p", { class: "muted" }, "Waiting for the first pictures.");
    this.tiles = new Tiles((env) => this.enlarge(env));
    this.screen = el("img", { class: "screen", alt: "" });
    this.facts = el("div", { class: "screen-facts" });
    this.title = el("h2", {});
    this.dialog = el(
      "dialog",
      {
        "aria-label": "One environment",
        onclose: () => {
          this.picked = null;
        },
      },
      el(
        "div",
        { class: "row spread" },
        this.title,
        el("button", { type: "button", onclick: () => this.dialog.close() }, "Close"),
      ),
      el("div", { class: "enlarged" }, this.screen, this.facts),
    );
    this.node = el("div", { class: "page wall" }, el("h1", {}, "Wall"), this.words, this.tiles.node, this.dialog);
  }

  async refresh() {
    const wall = await ask("wall", { name: this.name }).catch((fault) => this.missing(fault));
    if (!wall) return;
    this.envs = wall.envs;
    setText(this.words, wall.words || `The screens of ${count(wall.envs.length)} environments. Click one to enlarge it.`);
    this.tiles.setEnvs(wall.envs);
    this.isMoving = wall.stamp !== this.stamp;
    if (this.isMoving && wall.envs.length) await this.draw(wall);
    this.describe();
  }

  async draw({ columns, gap = 0, stamp }) {
    const picture = await loadPicture(address("/api/wall.png", { name: this.name, stamp })).catch(() => null);
    if (!picture) return;
    this.stamp = stamp;
    this.tiles.draw(picture, columns, gap);
    if (this.picked !== null) this.screen.src = this.screenPath();
  }

  /** A run without a wall is no fault: it may have no screens, or none yet. */
  missing(fault) {
    if (!(fault instanceof NoAnswer) || fault.status !== 404) throw fault;
    this.isMoving = false;
    const why = fault.isFromServer ? fault.message : "This run has no wall.";
    setText(this.words, `${why} A wall is drawn by runs whose environments have screens, while they train.`);
    return null;
  }

  screenPath() {
    return address("/api/screen.png", { name: this.name, env: this.picked, stamp: this.stamp });
  }

  enlarge(env) {
    this.picked = env;
    this.screen.src = this.screenPath();
    this.describe();
    this.dialog.showModal();
  }

  describe() {
    const state = this.envs.find(({ env }) => env === this.picked);
    if (!state) return;
    setText(this.title, `Environment ${state.env}`);
    this.screen.alt = `The screen of environment ${state.env}`;
    replace(
      this.facts,
      el(
        "dl",
        { class: "pairs" },
        pair("Return so far", number(state.return)),
        pair("Steps so far", count(state.length)),
        pair("Value estimate", number(state.value)),
      ),
      state.actions
        ? [el("h3", {}, "What the policy would do"), probabilityBars(state.actions)]
        : el("p", { class: "muted" }, "The run does not tell what its policy thinks here."),
    );
  }
}

const pair = (name, value) => el("div", {}, el("dt", {}, name), el("dd", {}, value));

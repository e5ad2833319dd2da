// The pictures of the wall: one file holds all screens; each tile shows its piece of it.

import { el, setText } from "../dom.js";
import { count, number } from "../format.js";

export class Tiles {
  /** `onPick(env)` hears which screen was clicked. */
  constructor(onPick) {
    Object.assign(this, { onPick, tiles: new Map() });
    this.node = el("ul", { class: "tiles" });
  }

  /** Makes tiles for new envs, drops those that are gone, and writes the words under each. */
  setEnvs(envs) {
    const known = new Set(envs.map(({ env }) => env));
    for (const [env, tile] of this.tiles) if (!known.has(env)) this.drop(env, tile);
    for (const state of envs) this.caption(this.tiles.get(state.env) ?? this.make(state.env), state);
  }

  make(env) {
    const canvas = el("canvas", { "aria-hidden": "true" });
    const words = el("span", { class: "under" });
    const button = el(
      "button",
      { type: "button", onclick: () => this.onPick(env) },
      canvas,
      el("span", {}, el("b", {}, `Environment ${env}`), words),
    );
    const tile = { canvas, words, node: el("li", {}, button) };
    this.tiles.set(env, tile);
    this.node.append(tile.node);
    return tile;
  }

  drop(env, tile) {
    tile.node.remove();
    this.tiles.delete(env);
  }

  caption(tile, { return: gained, length }) {
    const words = [gained === null ? null : `return ${number(gained)}`, length === null ? null : `${count(length)} steps`];
    setText(tile.words, words.filter(Boolean).join(", "));
  }

  /** Cuts the picture: row by row, `gap` pixels around every screen. */
  draw(picture, columns, gap) {
    const rows = Math.ceil(this.tiles.size / columns);
    const [width, height] = [(picture.naturalWidth - gap) / columns - gap, (picture.naturalHeight - gap) / rows - gap];
    [...this.tiles.values()].forEach(({ canvas }, index) => {
      const [left, top] = [gap + (index % columns) * (width + gap), gap + Math.floor(index / columns) * (height + gap)];
      if (canvas.width !== Math.round(width)) Object.assign(canvas, { width: Math.round(width), height: Math.round(height) });
      canvas.getContext("2d").drawImage(picture, left, top, width, height, 0, 0, canvas.width, canvas.height);
    });
  }
}

/** A picture that has arrived and is ready to draw. */
export async function loadPicture(path) {
  const picture = new Image();
  picture.src = path;
  await picture.decode();
  return picture;
}

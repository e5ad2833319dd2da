// The knobs of a run that trains: rates to turn, pause, save, stop. Shown only where `courtside watch --knobs` is asked.

import { ask, send } from "../api.js";
import { el, replace, say, section, setText } from "../dom.js";
import { report } from "../embedded.js";
import { Knob } from "./knob.js";

const SURE_SECONDS = 5;
const TOLD_SECONDS = 30;
const SOON = 300;
/** The server gives an answer that is no older than this to all who ask the same. */
const SHARED = 600;

export class Knobs {
  /** `onTaken` is called when the run has taken something. */
  constructor(name, onTaken) {
    Object.assign(this, { name, onTaken, knobs: new Map(), told: "", fault: "", isOff: Boolean(report) });
    this.why = el("p", { class: "muted" });
    this.rates = el("div", { class: "knobs" });
    this.pause = button("Pause", () => this.wish({ kind: this.known.paused ? "go_on" : "pause" }, this.pause.textContent));
    this.save = button("Save a checkpoint", () => this.wish({ kind: "checkpoint" }, "Save a checkpoint"));
    this.stop = button("Stop", () => this.askTwice());
    this.buttons = el("div", { class: "row" }, this.pause, this.save, this.stop);
    this.status = el("p", { role: "status", class: "small" });
    this.node = section("Knobs", { class: "panel", hidden: true }, this.why, this.rates, this.buttons, this.status);
  }

  async refresh() {
    if (this.isOff) return;
    this.set(await ask("knobs", { name: this.name }));
  }

  set(known) {
    this.known = known;
    this.isOff = !known.enabled;
    this.node.hidden = this.isOff || known.finished;
    if (this.isOff) return;
    if (this.isHeard === false && known.why_not === null) this.onTaken(); // it is trained again
    this.isHeard = known.why_not === null;
    const why = known.allowed ? known.why_not : "Open the address with ?knobs= that the terminal shows to turn them here.";
    const canAsk = why === null;
    setText(this.why, why ?? known.why_no_turn ?? "A number holds from the next update to the end; a schedule such as linear(1e-4, 0) is that of the whole run, joined where the run stands.");
    this.rates.hidden = this.buttons.hidden = !canAsk;
    if (canAsk) this.showRates(known);
    setText(this.pause, known.paused ? "Go on" : "Pause");
    this.stop.hidden = !known.can_stop;
    this.tell();
  }

  showRates({ settings, why_no_turn: no }) {
    for (const setting of settings) {
      if (!this.knobs.has(setting.name)) {
        const turn = (value) => this.wish({ kind: "turn", setting: setting.name, value }, `${knob.title} ${value}`);
        const knob = new Knob(setting.name, turn, (doubt) => this.complain(doubt));
        this.knobs.set(setting.name, knob);
        this.rates.append(knob.node);
      }
      this.knobs.get(setting.name).set(setting, no === null);
    }
  }

  /** Whether the server took it; the run comes later. */
  async wish(wanted, words) {
    Object.assign(this, { fault: "", told: words, toldAt: performance.now() });
    try {
      this.set(await send("knobs", { name: this.name }, wanted));
      this.follow();
      return true;
    } catch (fault) {
      this.complain(fault.message);
      return false;
    }
  }

  complain(sentence) {
    Object.assign(this, { fault: sentence, told: "" });
    this.tell();
  }

  /** Looks again soon, until the run has taken what was asked of it. */
  follow() {
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      await this.refresh().catch(() => {});
      if (this.known.waiting && this.known.why_not === null) this.follow();
      else setTimeout(this.onTaken, SHARED);
    }, SOON);
  }

  tell() {
    const { waiting } = this.known;
    if (!waiting && performance.now() - this.toldAt > TOLD_SECONDS * 1000) this.told = "";
    const words = waiting
      ? `Asked: ${this.told || "something"}. The run takes it when the updates under way are done.`
      : this.told
        ? `Taken: ${this.told}. The events below tell what came of it.`
        : "";
    setText(this.status, this.fault || words);
    this.status.classList.toggle("bad", Boolean(this.fault));
  }

  /** To stop a run by a slip would be a pity, though it can be resumed. */
  askTwice() {
    if (this.isSure) return this.calm(), this.wish({ kind: "stop" }, "Stop");
    this.isSure = true;
    replace(this.stop, "Really stop?");
    say("Press again to stop the run. It saves first and can be resumed.");
    this.sureTimer = setTimeout(() => this.calm(), SURE_SECONDS * 1000);
  }

  calm() {
    clearTimeout(this.sureTimer);
    this.isSure = false;
    replace(this.stop, "Stop");
  }
}

const button = (words, onclick) => el("button", { type: "button", onclick }, words);

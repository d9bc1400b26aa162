// In: the address of the page, and the program shown. Out: the program that a link brought; the address while it names the program shown.
// Invariant: nothing runs because of an address; the address names the program shown, or none; a link's program is nobody's own until it is
// edited, so that it replaces no program that is kept for the next visit.

import { effect } from "@preact/signals";
import { decodeHash, encodeHash, type SharedProgram } from "../lib/share.js";
import { firstExample } from "./examples.js";
import type { AppState } from "./state.js";
import { loadProgram, saveProgram } from "./storage.js";

export class Address {
  readonly #state: AppState;
  /** The program that the hash names. */
  #named: SharedProgram | null = null;

  /** Opens what the address names, else the last program; from then on the two follow each other. */
  static async follow(state: AppState): Promise<Address> {
    const address = new Address(state);
    if (!(await address.#openLink())) address.#openOwn();
    let first = true;
    effect(() => {
      const program = { file: state.file.value, source: state.source.value };
      if (!first) address.#changed(program);
      first = false;
    });
    addEventListener("hashchange", () => void address.#moved());
    return address;
  }

  private constructor(state: AppState) {
    this.#state = state;
  }

  /** Makes the address name the program shown. */
  async name(): Promise<void> {
    const program = { file: this.#state.file.peek(), source: this.#state.source.peek() };
    history.replaceState(null, "", await encodeHash(program));
    this.#named = program;
  }

  async #openLink(): Promise<boolean> {
    const state = this.#state;
    const decoded = await decodeHash(location.hash);
    switch (decoded.kind) {
      case "none":
        return false;
      case "damaged":
        this.#openOwn();
        state.notice.value = `The link's program cannot be shown: ${decoded.reason}.`;
        return true;
      case "program":
        this.#named = decoded.program;
        state.open(decoded.program.file, decoded.program.source);
        state.notice.value =
          "This program came with a link. Read it first; nothing runs until you press Run.";
        return true;
      default:
        return decoded satisfies never;
    }
  }

  #openOwn(): void {
    this.#named = null;
    const { file, source } = loadProgram() ?? firstExample;
    if (source !== this.#state.source.peek()) this.#state.open(file, source);
  }

  /** By a link, or back and forward. */
  async #moved(): Promise<void> {
    if (!(await this.#openLink()) && this.#named) this.#openOwn();
  }

  #changed(program: SharedProgram): void {
    const named = this.#named;
    if (named && named.file === program.file && named.source === program.source) return;
    saveProgram(program);
    if (!named) return;
    this.#named = null;
    history.replaceState(null, "", location.pathname + location.search);
  }
}

// In: a promise, a time, and what to say. Out: the promise, or a typed timeout error.
// Invariant: the timer is gone when the promise settles; a progress report pushes the deadline back.

import { ThirdbookError } from "./errors.js";

export class Watchdog {
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #expire: (() => void) | undefined;

  /** `ms` milliseconds without a sign of life are too many. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** A sign of life. */
  feed(): void {
    if (this.#expire === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#expire, this.#ms);
  }

  async guard<T>(work: Promise<T>, stage: () => string): Promise<T> {
    const timeout = new Promise<never>((_, reject) => {
      this.#expire = () => {
        const seconds = Math.round(this.#ms / 1000);
        reject(
          new ThirdbookError(
            "timeout",
            `nothing happened for ${seconds} s while ${stage()}: check the network and the page's Content-Security-Policy`,
          ),
        );
      };
      this.feed();
    });
    try {
      return await Promise.race([work, timeout]);
    } finally {
      clearTimeout(this.#timer);
      this.#expire = undefined;
    }
  }
}

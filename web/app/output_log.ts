// In: what a program prints, piece by piece. Out: the newest part of it, as runs of one stream.
// Invariant: showing costs the same however much is printed: at most kShown characters in kParts parts, at most once in kPause; order is kept.

export interface OutputPart {
  stream: "stdout" | "stderr" | "note";
  text: string;
}

const kShown = 50_000;
const kParts = 400;
const kPause = 50; // milliseconds
const kLeftOut: OutputPart = { stream: "note", text: "Earlier output is left out here." };

export class OutputLog {
  readonly #onChange: (parts: readonly OutputPart[]) => void;
  #parts: OutputPart[] = [];
  #length = 0;
  #cut = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(onChange: (parts: readonly OutputPart[]) => void) {
    this.#onChange = onChange;
  }

  add(stream: OutputPart["stream"], text: string): void {
    const last = this.#parts.at(-1);
    if (last?.stream === stream && stream !== "note") last.text += text;
    else this.#parts.push({ stream, text });
    this.#length += text.length;
    if (this.#length > 2 * kShown || this.#parts.length > 2 * kParts) this.#trim(); // not at each piece: a cut copies
    this.#timer ??= setTimeout(() => this.show(), kPause);
  }

  /** Shows at once what was added. */
  show(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#trim();
    this.#onChange([...(this.#cut ? [kLeftOut] : []), ...this.#parts.map((part) => ({ ...part }))]);
  }

  clear(): void {
    this.#parts = [];
    this.#length = 0;
    this.#cut = false;
    this.show();
  }

  #trim(): void {
    const parts = this.#parts;
    let gone = 0;
    for (let first = parts[gone]; first; first = parts[gone]) {
      const excess = parts.length - gone > kParts ? first.text.length : this.#length - kShown;
      if (excess <= 0) break;
      const lineEnd = first.text.indexOf("\n", excess - 1) + 1;
      const whole = lineEnd > 0 && lineEnd < excess + kShown / 2; // a line that is longer is cut
      const cut = excess < first.text.length ? (whole ? lineEnd : excess) : first.text.length;
      first.text = first.text.slice(cut);
      this.#length -= cut;
      this.#cut = true;
      if (first.text === "") ++gone;
    }
    parts.splice(0, gone);
  }
}

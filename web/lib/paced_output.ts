// In: what a program writes, piece by piece. Out: the same in messages, at once as long as there are few, else joined.
// Invariant: nothing is lost or reordered once flush() was called; a program that prints without end sends no more than kPerSecond
// messages a second, each of a bounded size, so that the page can still be told to stop it: as a terminal does, it makes the program wait.

export interface OutputPiece {
  stream: "stdout" | "stderr";
  text: string;
}

const kBurst = 200;
const kPerSecond = 50;
const kMostPieces = 200;
const kMostText = 1_000_000; // characters of one piece

export class PacedOutput {
  readonly #post: (pieces: OutputPiece[]) => void;
  #pieces: OutputPiece[] = [];
  #allowed = kBurst;
  #filled = performance.now();

  constructor(post: (pieces: OutputPiece[]) => void) {
    this.#post = post;
  }

  write(stream: OutputPiece["stream"], text: string): void {
    const last = this.#pieces.at(-1);
    if (last?.stream === stream) last.text += text;
    else this.#pieces.push({ stream, text });
    if (this.#allowed < 1) this.#refill();
    const full = this.#pieces.length >= kMostPieces || (last?.text.length ?? 0) > kMostText;
    while (full && this.#allowed < 1) this.#refill();
    if (this.#allowed < 1) return;
    --this.#allowed;
    this.flush();
  }

  flush(): void {
    if (this.#pieces.length > 0) this.#post(this.#pieces);
    this.#pieces = [];
  }

  #refill(): void {
    const now = performance.now();
    this.#allowed = Math.min(kBurst, this.#allowed + ((now - this.#filled) * kPerSecond) / 1000);
    this.#filled = now;
  }
}

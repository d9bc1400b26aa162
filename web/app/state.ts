// In: what people do on the page, and what the worker answers. Out: signals that the page shows.
// Invariant: nothing runs before someone asks for it on this page; one program at a time; Stop keeps the text and the last report.

import { batch, computed, signal } from "@preact/signals";
import { firstRun, pyodideBytes } from "virtual:build-facts";
import { messageOf, ThirdbookError } from "../lib/errors.js";
import type { ProgramFile, Stage } from "../lib/protocol.js";
import { Session, type ProgramResult, type RunOptions } from "../lib/session.js";
import { ViewModel } from "../view/model.js";
import { firstExample, type Example } from "./examples.js";
import { differenceOf, markersOf, verdictOf } from "./findings.js";
import type { Marker } from "./editor.js";
import { stemOf } from "./export.js";
import { OutputLog, type OutputPart } from "./output_log.js";

export type Engine =
  | { kind: "loading"; stage: Stage; loaded: number; total: number }
  | { kind: "ready"; version: string; milliseconds: number }
  | { kind: "running"; since: number }
  | { kind: "failed"; code: string; message: string };

const kLiveDelay = 300;

export class AppState {
  readonly view = new ViewModel();
  readonly file = signal(firstExample.file);
  readonly source = signal(firstExample.source);
  /** The text that the report shown belongs to. */
  readonly shownSource = signal<string | null>(null);
  readonly engine = signal<Engine>({ kind: "loading", stage: "downloading", loaded: 0, total: 0 });
  readonly output = signal<readonly OutputPart[]>([]);
  readonly files = signal<ProgramFile[]>([]);
  /** What the program may read from its standard input. */
  readonly input = signal("");
  readonly readsInput = computed(() => /\binput\s*\(|\bstdin\b/.test(this.source.value));
  readonly markers = signal<Marker[]>([]);
  readonly notice = signal<string | null>(null);
  readonly live = signal(true);
  readonly stale = computed(
    () => this.shownSource.value !== null && this.shownSource.value !== this.source.value,
  );

  readonly #session: Session;
  readonly #log = new OutputLog((parts) => (this.output.value = parts));
  readonly #print = (stream: "stdout" | "stderr", text: string) => this.#log.add(stream, text);
  /** Grows with each thing asked for: what was asked for before is not shown any more. */
  #turn = 0;
  #asked = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #again = false;

  constructor(makeWorker: () => Worker, pyodideURL: string) {
    this.#session = new Session({
      makeWorker,
      pyodideURL,
      bytes: pyodideBytes,
      onProgress: (stage, loaded, total) => (this.engine.value = { kind: "loading", stage, loaded, total }),
      onReady: (version, timings) => {
        const milliseconds = timings.reduce((sum, timing) => sum + timing.milliseconds, 0);
        this.engine.value = { kind: "ready", version, milliseconds };
      },
    });
    this.view.catalogueURL = "./graph-breaks.html";
    this.#showFirstRun();
  }

  #showFirstRun(): void {
    if (!firstRun) return;
    this.view.show(firstRun.report);
    this.shownSource.value = firstExample.source;
    this.#log.add("stdout", firstRun.stdout);
    this.#note("This run was made when the page was built. Press Run for your own.");
  }

  /** Loads Python; runs nothing. */
  async start(): Promise<void> {
    try {
      await this.#session.start();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Shows a program that somebody else wrote: nothing runs until Run. Another that runs is ended. */
  open(file: string, source: string): void {
    if (this.engine.peek().kind === "running") this.#restart();
    ++this.#turn;
    this.#asked = false;
    this.#again = false;
    clearTimeout(this.#timer);
    batch(() => {
      this.notice.value = null;
      this.file.value = file;
      this.source.value = source;
      this.#clearOutput();
      this.markers.value = [];
      this.shownSource.value = null;
      this.view.select(null, "source");
      this.view.show(null);
    });
  }

  async openExample(example: Example): Promise<void> {
    this.open(example.file, example.source);
    await this.run();
  }

  edit(source: string): void {
    this.source.value = source;
    if (!this.#asked || !this.live.value) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.engine.peek().kind === "running") this.#again = true;
      else void this.run();
    }, kLiveDelay);
  }

  async run(): Promise<void> {
    if (this.engine.peek().kind === "running") return;
    const turn = ++this.#turn;
    this.#asked = true;
    this.#again = false;
    clearTimeout(this.#timer);
    const source = this.source.peek();
    this.#clearOutput();
    const result = await this.#execute(turn, source, { onOutput: this.#print });
    if (!result) return;
    this.files.value = result.files;
    batch(() => {
      this.shownSource.value = source;
      this.view.show(result.report, { "compiled, with tracing": result.milliseconds });
      this.markers.value = markersOf(this.file.peek(), result);
      this.#note(endOf(result));
    });
    await this.#runAgainIfEdited();
  }

  async #runAgainIfEdited(): Promise<void> {
    if (this.#again) await this.run();
  }

  /** Runs the program as plain Python, compiled with each call verified, and compiled; says what differs first. */
  async compare(): Promise<void> {
    if (this.engine.peek().kind === "running") return;
    const turn = ++this.#turn;
    const source = this.source.peek();
    this.#clearOutput();
    const eager = await this.#execute(turn, source, { enabled: false });
    const verified = eager && (await this.#execute(turn, source, { verify: true }));
    const compiled = verified && (await this.#execute(turn, source, { onOutput: this.#print }));
    if (!compiled) return;
    batch(() => {
      this.files.value = compiled.files;
      this.shownSource.value = source;
      this.view.show(compiled.report, {
        "plain Python": eager.milliseconds,
        "compiled, with tracing": compiled.milliseconds,
      });
      this.markers.value = markersOf(this.file.peek(), compiled);
      const times = `Plain Python ${eager.milliseconds.toFixed(1)} ms, compiled ${compiled.milliseconds.toFixed(1)} ms with tracing.`;
      this.#note(`${differenceOf(eager, compiled)} ${verdictOf(verified)} ${times}`);
    });
    await this.#runAgainIfEdited();
  }

  /** The file for thirdbook/runtime of the graph that is shown: the program runs again, up to the call that computes it. */
  async exportGraph(): Promise<ProgramFile | null> {
    const graph = this.view.compilation.peek()?.graphs[0];
    const source = this.shownSource.peek();
    if (!graph || source === null || this.engine.peek().kind === "running") return null;
    const result = await this.#execute(++this.#turn, source, { exportGraph: graph.text });
    const exported = result?.exported ?? null;
    if (exported?.kind === "refused") this.#note(`There is no file of this graph: ${exported.reason}.`);
    if (exported?.kind === "file")
      this.#note("The file of this graph runs without Python: see thirdbook/runtime.");
    void this.#runAgainIfEdited();
    return exported?.kind === "file"
      ? { name: `${stemOf(this.file.peek())}.tbexport`, bytes: exported.bytes }
      : null;
  }

  /** Ends a runaway program; Python starts anew. */
  stop(): void {
    this.#again = false;
    this.#note("Stopped. Python starts again; the program and the last report are kept.");
    this.#restart();
  }

  /** Back to the first example, with a fresh Python. */
  reset(): void {
    this.#restart();
    this.open(firstExample.file, firstExample.source);
    this.#showFirstRun();
  }

  #restart(): void {
    this.#session.stop();
    this.engine.value = { kind: "loading", stage: "starting", loaded: 0, total: 0 };
    void this.start();
  }

  /** null: it has not run to its end, or something else was asked for meanwhile. */
  async #execute(turn: number, source: string, settings: RunOptions): Promise<ProgramResult | null> {
    try {
      await this.#session.start();
      if (turn !== this.#turn) return null;
      const ready = this.engine.peek();
      this.engine.value = { kind: "running", since: performance.now() };
      const result = await this.#session.run(source, {
        ...settings,
        file: this.file.peek(),
        stdin: this.input.peek(),
      });
      this.engine.value = ready;
      if (turn !== this.#turn) return null;
      if (result.trouble !== null) {
        this.#note(`The interpreter failed: ${result.trouble.replace(/\.$/, "")}. Python starts again.`);
        this.#restart();
      }
      return result;
    } catch (error) {
      this.#fail(error);
      return null;
    }
  }

  #fail(error: unknown): void {
    const stopped = error instanceof ThirdbookError && error.message === "the program was stopped";
    if (stopped) return;
    const code = error instanceof ThirdbookError ? error.code : "worker-failed";
    this.engine.value = { kind: "failed", code, message: messageOf(error) };
  }

  #clearOutput(): void {
    this.#log.clear();
    this.files.value = [];
  }

  #note(text: string): void {
    this.#log.add("note", text);
    this.#log.show();
  }
}

function endOf(result: ProgramResult): string {
  const status = result.status === 0 ? "Done" : `Exit status ${result.status}`;
  return `${status} in ${result.milliseconds.toFixed(1)} ms.`;
}

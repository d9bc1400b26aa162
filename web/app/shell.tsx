// In: the application's state. Out: the page: header, editor, output, report.
// Invariant: the editor is made once; everything else follows the signals.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ReportView } from "../view/report_view.js";
import { baseName } from "../view/span.js";
import type { Address } from "./address.js";
import { Editor } from "./editor.js";
import { examples } from "./examples.js";
import { saveDrawing, saveForRuntime, saveGraph, saveProgram, saveReport } from "./export.js";
import { OutputPane } from "./output_pane.js";
import type { AppState, Engine } from "./state.js";
import { loadTheme, saveTheme, type Theme } from "./storage.js";

const kEmbedded = new URLSearchParams(location.search).has("embed");

export function Shell({ state, address }: { state: AppState; address: Address }) {
  return (
    <div class={`page${kEmbedded ? " is-embedded" : ""}`}>
      <Header state={state} address={address} />
      <Notice state={state} />
      <main class="desk">
        <section class="left" aria-label="Program and output">
          <ProgramBar state={state} />
          <EditorPane state={state} />
          <OutputPane state={state} />
        </section>
        <section class="right" aria-label="Report">
          {state.stale.value && (
            <p class="stale" role="status">
              The report below is of the text before your last edit.
            </p>
          )}
          <ReportView model={state.view} />
        </section>
      </main>
    </div>
  );
}

function Header({ state, address }: { state: AppState; address: Address }) {
  return (
    <header class="header">
      <h1>
        <Mark /> Thirdbook
      </h1>
      <ExamplesMenu state={state} />
      <EngineStatus engine={state.engine.value} onRetry={() => void state.start()} />
      <Actions state={state} address={address} />
    </header>
  );
}

/** Three book spines: graph, guards, ledger. */
function Mark() {
  return (
    <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <rect x="2" y="4" width="4" height="13" rx="1" class="mark-a" />
      <rect x="8" y="4" width="4" height="13" rx="1" class="mark-b" />
      <rect x="13.4" y="3.6" width="4" height="13" rx="1" class="mark-c" transform="rotate(-9 15.4 17)" />
    </svg>
  );
}

const kStageNames = {
  downloading: "Downloading Python",
  compiling: "Compiling Python",
  starting: "Starting Python",
  installing: "Installing Thirdbook",
};

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function EngineStatus({ engine, onRetry }: { engine: Engine; onRetry: () => void }) {
  switch (engine.kind) {
    case "loading": {
      const known = engine.stage === "downloading" && engine.total > 0;
      return (
        <div class="engine">
          <span role="status">{kStageNames[engine.stage]}</span>
          {known ? (
            <progress aria-label="Download" max={engine.total} value={engine.loaded} />
          ) : (
            <progress aria-label={kStageNames[engine.stage]} />
          )}
          {known && (
            <span class="figures">
              {megabytes(engine.loaded)} of {megabytes(engine.total)} MB
            </span>
          )}
        </div>
      );
    }
    case "ready":
      return (
        <div class="engine">
          <span role="status">Ready</span>
          <span class="figures">version {engine.version}</span>
        </div>
      );
    case "running":
      return (
        <div class="engine">
          <span role="status">Running</span>
          <progress aria-label="Running" />
        </div>
      );
    case "failed":
      return (
        <div class="engine is-failed" role="alert">
          <span>
            <b>Python did not start.</b> {engine.message}
          </span>
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        </div>
      );
    default:
      return engine satisfies never;
  }
}

function ThemeMenu() {
  const theme = useSignal<Theme>(loadTheme());
  useSignalEffect(() => {
    document.documentElement.style.colorScheme = theme.value === "auto" ? "light dark" : theme.value;
    saveTheme(theme.value);
  });
  return (
    <label class="theme">
      <span class="visually-hidden">Colours</span>
      <select value={theme.value} onChange={(event) => (theme.value = event.currentTarget.value as Theme)}>
        <option value="auto">System colours</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}

function Notice({ state }: { state: AppState }) {
  const notice = state.notice.value;
  if (notice === null) return null;
  return (
    <div class="notice" role="status">
      <span>{notice}</span>
      <button type="button" aria-label="Close this notice" onClick={() => (state.notice.value = null)}>
        ✕
      </button>
    </div>
  );
}

function ProgramBar({ state }: { state: AppState }) {
  const engine = state.engine.value;
  return (
    <div class="bar" role="group" aria-label="Run">
      {engine.kind === "running" ? (
        <button type="button" class="primary is-stop" onClick={() => state.stop()}>
          Stop
        </button>
      ) : (
        <button
          type="button"
          class="primary"
          disabled={engine.kind !== "ready"}
          onClick={() => void state.run()}
          title="Ctrl+Enter"
        >
          Run
        </button>
      )}
      <button type="button" disabled={engine.kind !== "ready"} onClick={() => void state.compare()}>
        Compare with eager
      </button>
      <label class="live">
        <input
          type="checkbox"
          checked={state.live.value}
          onChange={(event) => (state.live.value = event.currentTarget.checked)}
        />
        Run while typing
      </label>
      <button type="button" class="bar-end" onClick={() => state.reset()}>
        Reset
      </button>
    </div>
  );
}

function ExamplesMenu({ state }: { state: AppState }) {
  const known = examples.some(
    (example) => example.file === state.file.value && example.source === state.source.value,
  );
  return (
    <label class="examples">
      <span class="visually-hidden">Examples</span>
      <select
        value={known ? state.file.value : ""}
        onChange={(event) => {
          const example = examples.find((candidate) => candidate.file === event.currentTarget.value);
          if (example) void state.openExample(example);
        }}
      >
        {!known && <option value="">Your own program</option>}
        {examples.map((example) => (
          <option key={example.file} value={example.file}>
            {example.idea}
          </option>
        ))}
      </select>
    </label>
  );
}

function Actions({ state, address }: { state: AppState; address: Address }) {
  const share = async () => {
    await address.name();
    const where = await navigator.clipboard.writeText(location.href).then(
      () => "clipboard",
      () => "address bar",
    );
    state.notice.value = `The link to this program is in the ${where}. Whoever opens it sees the text; nothing runs until Run.`;
  };
  return (
    <div class="actions" role="group" aria-label="Keep and share">
      <button type="button" onClick={() => void share()}>
        Share
      </button>
      <SaveMenu state={state} />
      <ThemeMenu />
    </div>
  );
}

const kSaved = {
  program: { title: "Program", save: saveProgram },
  report: { title: "Report (JSON)", save: saveReport },
  drawing: { title: "Graph (SVG)", save: saveDrawing },
  graph: { title: "Graph (JSON)", save: saveGraph },
  runtime: { title: "Graph (file for the runtime)", save: (state: AppState) => void saveForRuntime(state) },
};

function SaveMenu({ state }: { state: AppState }) {
  const report = state.view.report.value !== null;
  const graph = (state.view.compilation.value?.graphs.length ?? 0) > 0;
  const python = state.engine.value.kind === "ready";
  const possible = { program: true, report, drawing: graph, graph, runtime: graph && python };
  return (
    <label class="save">
      <span class="visually-hidden">Save</span>
      <select
        value=""
        onChange={(event) => {
          kSaved[event.currentTarget.value as keyof typeof kSaved].save(state);
          event.currentTarget.value = "";
        }}
      >
        <option value="" disabled hidden>
          Save…
        </option>
        {(Object.keys(kSaved) as (keyof typeof kSaved)[]).map((name) => (
          <option key={name} value={name} disabled={!possible[name]}>
            {kSaved[name].title}
          </option>
        ))}
      </select>
    </label>
  );
}

function EditorPane({ state }: { state: AppState }) {
  const parent = useRef<HTMLDivElement>(null);
  const editor = useSignal<Editor | null>(null);
  useEffect(() => {
    if (!parent.current) return;
    editor.value = new Editor({
      parent: parent.current,
      text: state.source.peek(),
      onChange: (text) => state.edit(text),
      onCursor: (line, col, endLine, endCol) => {
        const isCursor = line === endLine && col === endCol;
        const span = {
          file: state.file.peek(),
          line,
          endLine,
          col: isCursor ? null : col,
          endCol: isCursor ? null : endCol,
        };
        state.view.select(span, "source");
      },
      onRun: () => void state.run(),
    });
  }, []);
  useSignalEffect(() => {
    const text = state.source.value;
    if (editor.value && editor.value.text !== text) editor.value.setText(text);
  });
  useSignalEffect(() => void editor.value?.setMarkers(state.markers.value));
  useSignalEffect(() => {
    const selection = state.view.selection.value;
    const own = selection !== null && baseName(selection.span.file) === state.file.value;
    editor.value?.link(own ? selection.span : null, selection?.from !== "source");
  });
  return (
    <div class="editor-pane">
      <h2 class="visually-hidden">Program</h2>
      <div class="editor" ref={parent} />
    </div>
  );
}

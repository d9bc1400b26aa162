// In: what the program printed and the files it wrote. Out: the output pane, with a field for what the program reads.
// Invariant: stdout and stderr are told apart by a label as well as by colour; notes are ours, not the program's; the end stays in
// sight unless someone has scrolled up.

import { useEffect, useRef } from "preact/hooks";
import { saveFile } from "./export.js";
import type { AppState } from "./state.js";

export function OutputPane({ state }: { state: AppState }) {
  const parts = state.output.value;
  const body = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (body.current && follows.current) body.current.scrollTop = body.current.scrollHeight;
  }, [parts]);
  const onScroll = ({
    currentTarget: { scrollTop, scrollHeight, clientHeight },
  }: {
    currentTarget: Element;
  }) => (follows.current = scrollHeight - scrollTop - clientHeight < 24);
  return (
    <div class="output">
      <h2>Output</h2>
      {state.readsInput.value && (
        <label class="input">
          <span>Input</span>
          <textarea
            rows={2}
            spellcheck={false}
            placeholder="Lines for input()"
            value={state.input.value}
            onInput={(event) => (state.input.value = event.currentTarget.value)}
          />
        </label>
      )}
      <div
        ref={body}
        class="output-body"
        role="log"
        aria-label="Output"
        tabIndex={0}
        onScroll={(event) => onScroll(event)}
      >
        {parts.length === 0 && <p class="tb-empty">Nothing printed yet.</p>}
        {parts.map((part, index) =>
          part.stream === "note" ? (
            <p key={index} class="note">
              {part.text}
            </p>
          ) : (
            <pre key={index} class={part.stream}>
              {part.stream === "stderr" && <span class="stream">stderr</span>}
              {part.text}
            </pre>
          ),
        )}
        {state.files.value.map((file) => (
          <p key={file.name} class="file">
            <code>{file.name}</code>{" "}
            <span class="figures">{file.bytes.length.toLocaleString("en")} bytes</span>
            <button type="button" aria-label={`Save ${file.name}`} onClick={() => saveFile(file)}>
              Save
            </button>
          </p>
        ))}
      </div>
    </div>
  );
}

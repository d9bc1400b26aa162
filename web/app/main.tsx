// In: the address of the page. Out: the playground.
// Invariant: the editor is there before Python; a shared link is shown and not run.

import { effect } from "@preact/signals";
import { render } from "preact";
import "../view/view.css";
import "./app.css";
import { decodeHash } from "../lib/share.js";
import { Shell } from "./shell.js";
import { AppState } from "./state.js";
import { loadProgram, saveProgram } from "./storage.js";

const pyodideURL = new URL("pyodide/", document.baseURI).href;
const state = new AppState(
  () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module" }),
  pyodideURL,
);

async function openFromHash(): Promise<boolean> {
  const decoded = await decodeHash(location.hash);
  switch (decoded.kind) {
    case "none":
      return false;
    case "damaged":
      state.notice.value = `The link's program cannot be shown: ${decoded.reason}. Here is the first example instead.`;
      return false;
    case "program":
      state.open(decoded.program.file, decoded.program.source);
      state.notice.value = "This program came with a link. Read it first; nothing runs until you press Run.";
      return true;
    default:
      return decoded satisfies never;
  }
}

const shared = await openFromHash();
const last = shared ? null : loadProgram();
if (last && last.source !== state.source.peek()) state.open(last.file, last.source);
const root = document.getElementById("root") as HTMLElement;
root.replaceChildren();
render(<Shell state={state} />, root);
let first = true;
effect(() => {
  const program = { file: state.file.value, source: state.source.value };
  if (!first) saveProgram(program);
  first = false;
});
addEventListener("hashchange", () => void openFromHash());
void state.start();
if (navigator.serviceWorker?.controller) {
  navigator.serviceWorker.addEventListener("controllerchange", () => {
    state.notice.value = "A newer version of this page has been fetched. Reload to use it.";
  });
}
if ("serviceWorker" in navigator && import.meta.env.PROD && isSecureContext) {
  void navigator.serviceWorker.register("service_worker.js", { scope: "./" }).catch(() => undefined);
}

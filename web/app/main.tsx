// In: the address of the page. Out: the playground.
// Invariant: the editor is there before Python; a shared link is shown and not run.

import { render } from "preact";
import "../view/view.css";
import "./app.css";
import { Address } from "./address.js";
import { Shell } from "./shell.js";
import { AppState } from "./state.js";

const pyodideURL = new URL("pyodide/", document.baseURI).href;
const state = new AppState(
  () => new Worker(new URL("./worker.ts", import.meta.url), { type: "module" }),
  pyodideURL,
);

const address = await Address.follow(state);
const root = document.getElementById("root") as HTMLElement;
root.replaceChildren();
render(<Shell state={state} address={address} />, root);
void state.start();
if (navigator.serviceWorker?.controller) {
  navigator.serviceWorker.addEventListener("controllerchange", () => {
    state.notice.value = "A newer version of this page has been fetched. Reload to use it.";
  });
}
if ("serviceWorker" in navigator && import.meta.env.PROD && isSecureContext) {
  void navigator.serviceWorker.register("service_worker.js", { scope: "./" }).catch(() => undefined);
}

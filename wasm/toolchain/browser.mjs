// In: the machine's browsers. Out: the path of a Chromium, or null.
// Invariant: the one part of set-up that may need root; without it the apt-get line is printed and the tests that
// need a browser are skipped aloud.

import { existsSync } from "node:fs";
import { hostSystem } from "./mirror.mjs";
import { run, which } from "./process.mjs";
import { say } from "./say.mjs";

const kNames = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"];
const kElsewhere = [
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
  "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/** Path of a Chromium: THIRDBOOK_CHROMIUM, PATH, or a usual place; null when there is none. */
export function findChromium() {
  const named = process.env.THIRDBOOK_CHROMIUM;
  if (named) return existsSync(named) ? named : null;
  return (
    kNames.map((name) => which(name)).find(Boolean) ?? kElsewhere.find((path) => existsSync(path)) ?? null
  );
}

export function setUpBrowser() {
  if (findChromium()) return;
  const words = ["install", "-y", "--no-install-recommends", "chromium"];
  const root = process.getuid?.() === 0;
  if (hostSystem().id !== "debian") {
    say(
      "browser: no Chromium found; install one or name it in THIRDBOOK_CHROMIUM; browser tests are skipped",
    );
  } else if (!root) {
    say(`browser: no Chromium found; browser tests are skipped until root runs: apt-get ${words.join(" ")}`);
  } else {
    say("browser: installing Debian's chromium with apt-get");
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const failure = [
      "chromium could not be installed",
      "apt-get",
      "is the Debian mirror reachable? then run set-up again",
    ];
    run("apt-get", ["-qq", "update"], { env, failure });
    run("apt-get", ["-qq", ...words], { env, failure });
  }
}

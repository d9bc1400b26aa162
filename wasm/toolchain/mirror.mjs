// In: /etc/os-release and /etc/apt's source lists. Out: which Debian this is, and the mirror it takes its packages from.
// Invariant: nothing is guessed: without a mirror in the machine's own lists there is none.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "./say.mjs";

/** `{id, codename}` of the machine, e.g. `{id: "debian", codename: "bookworm"}`; empty strings elsewhere. */
export function hostSystem(path = "/etc/os-release") {
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const field = (name) => text.match(new RegExp(`^${name}="?([^"\\n]*)"?$`, "m"))?.[1] ?? "";
  return { id: field("ID"), codename: field("VERSION_CODENAME") };
}

/** Entries of a deb822 file (`.sources`): fields may go on in lines that start with a space; `Enabled: no` counts. */
export function parseDeb822(text) {
  const lines = text.split("\n").filter((line) => !line.startsWith("#"));
  return lines
    .join("\n")
    .split(/\n\s*\n/)
    .flatMap((block) => {
      const fields = new Map();
      for (const [, name, value] of block.matchAll(/^([\w-]+):[ \t]*(.*(?:\n[ \t].*)*)/gm)) {
        fields.set(name.toLowerCase(), value.split(/\s+/).filter(Boolean));
      }
      const list = (name) => fields.get(name) ?? [];
      if (!list("types").includes("deb") || list("enabled")[0] === "no") return [];
      return list("uris").map((uri) => ({ uri, suites: list("suites"), components: list("components") }));
    });
}

/** Entries of a one-line file (`.list`): `deb [options] URI SUITE COMPONENT…`. */
export function parseOneLine(text) {
  return text.split("\n").flatMap((line) => {
    const match = line.match(/^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+([^#]*)/);
    return match ? [{ uri: match[1], suites: [match[2]], components: match[3].trim().split(/\s+/) }] : [];
  });
}

function sourceEntries(etc) {
  const folder = join(etc, "sources.list.d");
  const files = [join(etc, "sources.list")];
  if (existsSync(folder)) {
    files.push(
      ...readdirSync(folder)
        .sort()
        .map((name) => join(folder, name)),
    );
  }
  return files
    .filter((file) => existsSync(file) && /\.(list|sources)$/.test(file))
    .flatMap((file) => (file.endsWith(".sources") ? parseDeb822 : parseOneLine)(readFileSync(file, "utf8")));
}

/** The URI from which the machine takes the `main` of its own release. */
export function findMirror(codename = hostSystem().codename, etc = "/etc/apt") {
  const names = [codename, "stable", "oldstable", "testing"];
  const entry = sourceEntries(etc).find(
    ({ uri, suites, components }) =>
      !uri.startsWith("cdrom:") &&
      components.includes("main") &&
      suites.some((suite) => names.includes(suite.replace(/\/$/, ""))),
  );
  if (!entry) {
    throw new SetupError(
      "no Debian mirror found",
      `${etc}/sources.list*`,
      `add a line for ${codename} main, or set EMSDK and THIRDBOOK_PYTHON_INCLUDE`,
    );
  }
  return entry.uri;
}

// In: names of Debian packages and a suite. Out: their files, unpacked below a folder of the cache.
// Invariant: the machine's own apt state is never read for packages nor written; apt itself checks every signature
// with the system's keyrings; the mirror is the one that the machine already uses, only the suite differs.

import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { cache } from "./places.mjs";
import { run, which } from "./process.mjs";
import { SetupError, say } from "./say.mjs";

const kKeyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
const kIndexMaxAgeMs = 12 * 3600 * 1000;

/** `{id, codename}` of the machine, e.g. `{id: "debian", codename: "bookworm"}`; empty strings elsewhere. */
export function hostSystem() {
  const path = "/etc/os-release";
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  const field = (name) => text.match(new RegExp(`^${name}="?([^"\\n]*)"?$`, "m"))?.[1] ?? "";
  return { id: field("ID"), codename: field("VERSION_CODENAME") };
}

/** Whether packages can be fetched by apt here: a Debian machine of a release whose clang-19 we know. */
export function aptUsable() {
  const { id, codename } = hostSystem();
  return id === "debian" && ["bookworm", "trixie"].includes(codename) && which("apt-get") !== null;
}

/** Entries `{uri, suites, components}` of one-line (`.list`) and deb822 (`.sources`) files. */
function sourceEntries() {
  const folder = "/etc/apt/sources.list.d";
  const files = ["/etc/apt/sources.list"];
  if (existsSync(folder))
    files.push(
      ...readdirSync(folder)
        .sort()
        .map((name) => join(folder, name)),
    );
  const entries = [];
  for (const file of files.filter((name) => existsSync(name))) {
    const text = readFileSync(file, "utf8");
    if (file.endsWith(".sources")) {
      for (const block of text.split(/\n\s*\n/)) {
        const field = (name) =>
          (block.match(new RegExp(`^${name}:\\s*(.*)$`, "mi"))?.[1] ?? "").split(/\s+/).filter(Boolean);
        for (const uri of field("URIs"))
          entries.push({ uri, suites: field("Suites"), components: field("Components") });
      }
    } else {
      for (const line of text.split("\n")) {
        const match = line.match(/^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$/);
        if (match) entries.push({ uri: match[1], suites: [match[2]], components: match[3].split(/\s+/) });
      }
    }
  }
  return entries;
}

function mirror() {
  const { codename } = hostSystem();
  const aliases = [codename, "stable", "oldstable", "testing"];
  const entry = sourceEntries().find(
    (one) =>
      one.components.includes("main") &&
      one.suites.some((suite) => aliases.includes(suite.replace(/\/$/, ""))),
  );
  if (!entry) {
    throw new SetupError(
      "no Debian mirror found",
      "/etc/apt/sources.list*",
      `add a line for ${codename} main, or set EMSDK and THIRDBOOK_PYTHON_INCLUDE`,
    );
  }
  return entry.uri;
}

function environment() {
  return { ...process.env, APT_CONFIG: join(cache.apt, "apt.conf"), LC_ALL: "C" };
}

/** Writes the private configuration and refreshes the indices when they are missing or half a day old. */
function prepare() {
  const suites = [...new Set([hostSystem().codename, "trixie", "sid"])];
  for (const folder of ["state/lists/partial", "cache/archives/partial", "etc"])
    mkdirSync(join(cache.apt, folder), { recursive: true });
  const signedBy = existsSync(kKeyring) ? `[signed-by=${kKeyring}] ` : "";
  const sources = suites.map((suite) => `deb ${signedBy}${mirror()} ${suite} main\n`).join("");
  const configuration = `Dir::State "${cache.apt}/state";
Dir::State::status "${cache.apt}/status";
Dir::Cache "${cache.apt}/cache";
Dir::Etc::sourcelist "${cache.apt}/etc/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Log "${cache.apt}";
APT::Sandbox::User "";
APT::Get::List-Cleanup "0";
Acquire::Languages "none";
Acquire::Retries "3";
`;
  const stamp = join(cache.apt, "updated");
  const fresh =
    existsSync(stamp) &&
    Date.now() - statSync(stamp).mtimeMs < kIndexMaxAgeMs &&
    readFileSync(join(cache.apt, "etc/sources.list"), "utf8") === sources;
  if (fresh) return;
  writeFileSync(join(cache.apt, "etc/sources.list"), sources);
  writeFileSync(join(cache.apt, "apt.conf"), configuration);
  writeFileSync(join(cache.apt, "status"), "");
  say(`apt: reading the package lists of ${suites.join(", ")} into ${cache.apt}`);
  run("apt-get", ["-qq", "update"], {
    env: environment(),
    failure: [
      "apt-get update failed",
      cache.apt,
      "is the Debian mirror in /etc/apt reachable? then run set-up again",
    ],
  });
  writeFileSync(stamp, "");
}

/**
 * Downloads `packages` of `suite` and unpacks them below `folder` (made anew). Returns `{package: version}`.
 * The folder appears only when it is whole.
 */
export function unpackPackages(suite, packages, folder) {
  prepare();
  const debs = join(cache.apt, "debs", suite);
  const fresh = `${folder}.new`;
  for (const path of [debs, fresh]) rmSync(path, { recursive: true, force: true });
  for (const path of [debs, fresh]) mkdirSync(path, { recursive: true });
  const failure = [
    `${packages.join(" ")} could not be fetched from ${suite}`,
    cache.apt,
    "is the Debian mirror reachable? then run set-up again",
  ];
  run("apt-get", ["-qq", "download", ...packages.map((name) => `${name}/${suite}`)], {
    cwd: debs,
    env: environment(),
    failure,
  });
  const versions = {};
  for (const deb of readdirSync(debs).sort()) {
    const path = join(debs, deb);
    run("dpkg-deb", ["-x", path, fresh], {
      failure: ["a package could not be unpacked", path, "is the disk full?"],
    });
    const [name, version] = run("dpkg-deb", ["-W", "--showformat=${Package} ${Version}", path]).split(" ");
    versions[name] = version;
    rmSync(path);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  return versions;
}

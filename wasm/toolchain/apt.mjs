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
import { findMirror, hostSystem } from "./mirror.mjs";
import { cache } from "./places.mjs";
import { run, which } from "./process.mjs";
import { SetupError, say } from "./say.mjs";

const kKeyrings = ["gpg", "pgp"].map((ending) => `/usr/share/keyrings/debian-archive-keyring.${ending}`);
const kReleases = ["bookworm", "trixie"]; // those that have clang-19, and whose libc runs what they have
const kIndexMaxAgeMs = 12 * 3600 * 1000;
const kUnreachable = "is the Debian mirror of /etc/apt reachable? then run set-up again";

/** Whether packages can be fetched by apt here. */
export function aptUsable() {
  const { id, codename } = hostSystem();
  return id === "debian" && kReleases.includes(codename) && which("apt-get") !== null;
}

const environment = () => ({ ...process.env, APT_CONFIG: join(cache.apt, "apt.conf"), LC_ALL: "C" });

function configuration() {
  return `Dir::State "${cache.apt}/state";
Dir::State::status "${cache.apt}/status";
Dir::Cache "${cache.apt}/cache";
Dir::Etc::sourcelist "${cache.apt}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Log "${cache.apt}";
APT::Sandbox::User "";
APT::Get::List-Cleanup "0";
Acquire::Languages "none";
Acquire::Retries "3";
`;
}

/** Refreshes the private package lists when `suite` is missing or they are half a day old, or when `force`d. */
function prepare(suite, force) {
  const list = join(cache.apt, "sources.list");
  const stamp = join(cache.apt, "updated");
  const before = existsSync(list) ? readFileSync(list, "utf8") : "";
  const known = [...before.matchAll(/ (\S+) main$/gm)].map((match) => match[1]);
  const suites = [...new Set([hostSystem().codename, "trixie", "sid", ...known, suite])];
  const keyring = kKeyrings.find((path) => existsSync(path));
  const line = (name) => `deb ${keyring ? `[signed-by=${keyring}] ` : ""}${findMirror()} ${name} main\n`;
  const after = suites.map(line).join("");
  const age = existsSync(stamp) ? Date.now() - statSync(stamp).mtimeMs : Infinity;
  if (!force && before === after && age < kIndexMaxAgeMs) return;
  for (const folder of ["state/lists/partial", "cache/archives/partial"]) {
    mkdirSync(join(cache.apt, folder), { recursive: true });
  }
  writeFileSync(list, after);
  writeFileSync(join(cache.apt, "apt.conf"), configuration());
  writeFileSync(join(cache.apt, "status"), "");
  say(`apt: reading the package lists of ${suites.join(", ")} into ${cache.apt}`);
  const failure = ["apt-get update failed", cache.apt, kUnreachable];
  run("apt-get", ["-qq", "update"], { env: environment(), failure });
  writeFileSync(stamp, "");
}

/** Downloads into `folder`; with fresh lists when those at hand name files that the mirror no longer has. */
function download(suite, packages, folder) {
  const words = ["-qq", "download", ...packages.map((name) => `${name}/${suite}`)];
  const failure = [`${packages.join(" ")} could not be fetched from ${suite}`, cache.apt, kUnreachable];
  const fetch = () => run("apt-get", words, { cwd: folder, env: environment(), failure });
  prepare(suite, false);
  try {
    fetch();
  } catch (error) {
    if (!(error instanceof SetupError)) throw error;
    prepare(suite, true);
    fetch();
  }
}

/**
 * Downloads `packages` of `suite` and unpacks them below `folder` (made anew). Returns `{package: version}`.
 * The folder appears only when it is whole.
 */
export function unpackPackages(suite, packages, folder) {
  const debs = join(cache.apt, "debs", suite);
  const fresh = `${folder}.new`;
  for (const path of [debs, fresh]) rmSync(path, { recursive: true, force: true });
  for (const path of [debs, fresh]) mkdirSync(path, { recursive: true });
  download(suite, packages, debs);
  const versions = {};
  for (const deb of readdirSync(debs).sort()) {
    const path = join(debs, deb);
    const failure = ["a package could not be unpacked", path, "is the disk full?"];
    run("dpkg-deb", ["-x", path, fresh], { failure });
    const [name, version] = run("dpkg-deb", ["-W", "--showformat=${Package} ${Version}", path]).split(" ");
    versions[name] = version;
    rmSync(path);
  }
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  return versions;
}

/** The same from the first of `suites` that has all the packages; returns `{suite, versions}`. */
export function unpackFromFirst(suites, packages, folder) {
  for (const [index, suite] of suites.entries()) {
    try {
      return { suite, versions: unpackPackages(suite, packages, folder) };
    } catch (error) {
      if (!(error instanceof SetupError) || index === suites.length - 1) throw error;
      say(`apt: ${suite} does not have them all; trying ${suites[index + 1]}`);
    }
  }
  throw new SetupError("no suite named", folder, "this is a bug of set-up");
}

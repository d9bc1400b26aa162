// In: Debian's packages of CPython 3.14, a built `_core.so`, the Python package of wasm/pyodide/thirdbook. Out: the
// native twin in the cache; FOLDER/site/thirdbook, where module and package lie together; FOLDER/python, which starts
// the twin with them.
// Invariant: the twin runs through its own dynamic linker, so nothing of it touches the machine's; the package's own
// files are links, so an edit is seen without a build.

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { aptUsable, unpackFromFirst } from "./apt.mjs";
import { findCompiler } from "./native.mjs";
import { pipInstall } from "./pip.mjs";
import { cache, kLoader, kPython, kRepo, kTriplet } from "./places.mjs";
import { run } from "./process.mjs";
import { say } from "./say.mjs";
import { readStamp, writeStamp } from "./stamp.mjs";
import { checkShared } from "./symbols.mjs";

const kRecipe = 2;
const kMegabytes = 8192; // address space of one twin process
const kSuites = ["sid", "forky"];
const kPackage = join(kRepo, "wasm/pyodide/thirdbook");
const kInterpreter = ["-minimal", "-stdlib", "-dev"].map((part) => `libpython${kPython}${part}`);
const kLibraries = [
  ...["libc6", "libstdc++6", "libgcc-s1", "zlib1g", "libexpat1", "libssl3t64", "libffi8"],
  ...["libbz2-1.0", "liblzma5", "libsqlite3-0", "libzstd1", "tzdata"],
];

/**
 * Writes `path`, a launcher of the twin; `assignments` are shell words like `NAME="value"`. Memory is limited, so that a
 * runaway test ends with MemoryError and not the machine; a sanitizer needs the address space and has its own limit.
 */
export function writeTwinLauncher(path, pythonPath, assignments = []) {
  const root = cache.pythonRoot;
  const search = [pythonPath, cache.twinPackages].filter(Boolean).join(":");
  const program = join(root, `usr/bin/python${kPython}`);
  const limit = assignments.length > 0 ? "" : `ulimit -v ${kMegabytes * 1024} 2>/dev/null`;
  const settings = [limit, ...assignments.map((one) => `export ${one}`)].filter(Boolean).join("\n");
  const text = `#!/bin/sh
# The native twin: Debian's CPython ${kPython} through its own dynamic linker, with this build of _core on its path.
export PYTHONHOME="${join(root, "usr")}" PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH="${search}\${PYTHONPATH:+:$PYTHONPATH}"
${settings}
exec "${join(root, kLoader)}" \
--library-path "${join(root, "usr/lib", kTriplet)}" --argv0 "$0" "${program}" "$@"
`;
  writeFileSync(path, text, { mode: 0o755 });
}

/** Version of NumPy in the cache, or null. */
function findNumpy() {
  if (!existsSync(cache.twinPackages)) return null;
  const names = readdirSync(cache.twinPackages).map((name) => name.match(/^numpy-(.*)\.dist-info$/)?.[1]);
  return names.find(Boolean) ?? null;
}

/** `{twin: version, numpy: version or null, origin}` of the twin in the cache, or null. */
export function findTwin() {
  const notes = readStamp("python", kRecipe);
  const whole = notes?.twin && existsSync(cache.pythonRoot) && existsSync(cache.includeTwin);
  return whole ? { ...notes, numpy: findNumpy() } : null;
}

function fetchNumpy() {
  const machine = process.arch === "arm64" ? "aarch64" : "x86_64";
  const platforms = ["27", "28"].flatMap((glibc) => ["--platform", `manylinux_2_${glibc}_${machine}`]);
  const target = ["--python-version", kPython, "--implementation", "cp", "--target", cache.twinPackages];
  if (pipInstall([...target, ...platforms, "--no-compile", "numpy"])) return;
  say(`twin: NumPy for CPython ${kPython} could not be fetched with pip; tests against NumPy are skipped`);
}

/** Debian only; elsewhere there is no twin, which is said aloud. */
export function setUpTwin() {
  if (findTwin()) return;
  if (!aptUsable()) {
    say("twin: the native twin needs Debian 12 or 13; its tests are skipped");
    return;
  }
  say(`twin: fetching CPython ${kPython} and its headers, about 30 MB, into ${cache.python}`);
  const packages = [`python${kPython}-minimal`, ...kInterpreter, ...kLibraries];
  const { suite, versions } = unpackFromFirst(kSuites, packages, cache.pythonRoot);
  const include = join(cache.pythonRoot, "usr/include");
  rmSync(cache.includeTwin, { recursive: true, force: true });
  cpSync(join(include, `python${kPython}`), cache.includeTwin, { recursive: true, dereference: true });
  cpSync(join(include, kTriplet, `python${kPython}/pyconfig.h`), join(cache.includeTwin, "pyconfig.h"));
  const launcher = join(cache.python, "python");
  writeTwinLauncher(launcher, "");
  const remedy = `remove ${cache.python} and run set-up again`;
  const failure = [`the twin CPython ${kPython} does not start`, launcher, remedy];
  const twin = run(launcher, ["-c", "import sys; print(sys.version.split()[0])"], { failure }).trim();
  const origin = `Debian ${versions[`libpython${kPython}-dev`]} (${suite})`;
  if (!findNumpy()) fetchNumpy();
  say(`twin: CPython ${twin}, ${origin}; NumPy ${findNumpy() ?? "none"}`);
  writeStamp("python", kRecipe, { twin, origin });
}

function linkPackage(site) {
  mkdirSync(site, { recursive: true });
  const names = existsSync(kPackage) ? readdirSync(kPackage) : [];
  for (const name of readdirSync(site)) {
    if (name !== "_core.so") rmSync(join(site, name), { recursive: true, force: true });
  }
  for (const name of names) {
    if (name !== "__pycache__" && !name.startsWith("_core."))
      symlinkSync(join(kPackage, name), join(site, name));
  }
}

function sanitizerAssignments() {
  const library = (name) => run(findCompiler(), [`-print-file-name=${name}`]).trim();
  return [
    `LD_PRELOAD="${library("libasan.so")} ${library("libstdc++.so.6")}"`,
    `ASAN_OPTIONS="detect_leaks=0:allocator_may_return_null=1:hard_rss_limit_mb=${kMegabytes / 2}:\${ASAN_OPTIONS:-}"`,
    `UBSAN_OPTIONS="print_stacktrace=1:\${UBSAN_OPTIONS:-}"`,
    "PYTHONMALLOC=malloc",
  ];
}

/** From what was built in `folder` makes `target`'s site and launcher. */
export function finishTwin(folder, target, sanitized) {
  const site = join(target, "site", "thirdbook");
  const built = join(folder, "wasm/pyodide/_core.so");
  checkShared(built);
  linkPackage(site);
  // A new file, not the old one overwritten: a running test keeps the one it has mapped.
  rmSync(join(site, "_core.so"), { force: true });
  copyFileSync(built, join(site, "_core.so"));
  writeTwinLauncher(join(target, "python"), join(target, "site"), sanitized ? sanitizerAssignments() : []);
}

// In: the modules of wasm/toolchain. Out: that set-up reads the machine right and fails with one plain line.
// Invariant: nothing is fetched and the real cache is not touched.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { withLock } from "../../wasm/toolchain/lock.mjs";
import { findMirror, hostSystem, parseDeb822, parseOneLine } from "../../wasm/toolchain/mirror.mjs";
import { kRepo } from "../../wasm/toolchain/places.mjs";
import { SetupError } from "../../wasm/toolchain/say.mjs";

const scratch = mkdtempSync(join(tmpdir(), "thirdbook-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

function folderWith(files) {
  const folder = mkdtempSync(join(scratch, "etc-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, ".."), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

const setUp = (script, args, env) =>
  spawnSync(process.execPath, [join(kRepo, "wasm/toolchain", script), ...args], {
    encoding: "utf8",
    env: { ...process.env, ...env },
  });

test("a deb822 source is read with comments, several fields and a line that goes on", () => {
  const text =
    "# a comment\nTypes: deb deb-src\nURIs: http://mirror.test/debian\nSuites: bookworm\n bookworm-updates\nComponents: main contrib\n";
  assert.deepEqual(parseDeb822(text), [
    {
      uri: "http://mirror.test/debian",
      suites: ["bookworm", "bookworm-updates"],
      components: ["main", "contrib"],
    },
  ]);
});

test("a deb822 source that is disabled or for sources only is left out", () => {
  const stanza = (more) => `Types: deb\nURIs: http://mirror.test\nSuites: sid\nComponents: main\n${more}`;
  assert.equal(parseDeb822(stanza("Enabled: no\n")).length, 0);
  assert.equal(parseDeb822(stanza("").replace("deb", "deb-src")).length, 0);
  assert.equal(parseDeb822(`${stanza("")}\n${stanza("")}`).length, 2);
});

test("a one-line source may have options and a comment", () => {
  const text =
    "# deb http://no.test/ sid main\ndeb [arch=amd64 signed-by=/k.gpg] http://mirror.test/debian trixie main # yes\n";
  assert.deepEqual(parseOneLine(text), [
    { uri: "http://mirror.test/debian", suites: ["trixie"], components: ["main"] },
  ]);
});

test("the mirror is the one of the machine's own release, not of security or of another vendor", () => {
  const etc = folderWith({
    "sources.list": "deb cdrom:[Debian]/ bookworm main\n",
    "sources.list.d/a-other.list": "deb http://other.test/apt stable tools\n",
    "sources.list.d/debian.sources":
      "Types: deb\nURIs: http://security.test\nSuites: bookworm-security\nComponents: main\n\n" +
      "Types: deb\nURIs: http://mirror.test/debian\nSuites: bookworm bookworm-updates\nComponents: main\n",
    "sources.list.d/old.sources.bak":
      "Types: deb\nURIs: http://old.test\nSuites: bookworm\nComponents: main\n",
  });
  assert.equal(findMirror("bookworm", etc), "http://mirror.test/debian");
});

test("no mirror in the lists is one line that says what to add", () => {
  assert.throws(
    () => findMirror("trixie", folderWith({ "sources.list": "" })),
    (error) => {
      assert.ok(error instanceof SetupError);
      assert.match(error.message, /no Debian mirror found .*sources\.list.*trixie main/);
      return true;
    },
  );
});

test("the system is read from os-release, and is nothing where there is none", () => {
  const folder = folderWith({ "os-release": 'NAME="Debian"\nID=debian\nVERSION_CODENAME="trixie"\n' });
  assert.deepEqual(hostSystem(join(folder, "os-release")), { id: "debian", codename: "trixie" });
  assert.deepEqual(hostSystem(join(folder, "missing")), { id: "", codename: "" });
});

test("a lock lets one in at a time, and a dead owner's lock is taken over", async () => {
  const order = [];
  const work = (name) => async () => {
    order.push(`${name} in`);
    await new Promise((resolve) => setTimeout(resolve, 30));
    order.push(`${name} out`);
  };
  await Promise.all([withLock("x", scratch, work("a")), withLock("x", scratch, work("b"))]);
  assert.deepEqual(order, ["a in", "a out", "b in", "b out"]);
  const dead = spawnSync(process.execPath, ["-e", ""]).pid;
  writeFileSync(join(scratch, "y.lock"), String(dead));
  assert.equal(await withLock("y", scratch, () => "got it"), "got it");
});

test("an unknown step, target, stage or option is one line and status 1", () => {
  for (const [script, args, words] of [
    ["setup.mjs", ["nonsense"], /no set-up step "nonsense"/],
    ["build.mjs", ["nonsense"], /no target "nonsense"/],
    ["../../tests/run.mjs", ["--stage", "nonsense"], /no stage "nonsense"/],
    ["pyodide-python.mjs", ["--nonsense"], /no option --nonsense/],
    ["serve.mjs", ["--port", "ninety"], /no such port/],
  ]) {
    const { status, stderr } = setUp(script, args);
    assert.equal(status, 1, script);
    assert.match(stderr, words);
    assert.equal(stderr.trim().split("\n").length, 1, stderr);
  }
});

test("headers of another Python are refused by name", () => {
  const folder = folderWith({ "patchlevel.h": '#define PY_VERSION "3.13.1"\n' });
  const { status, stderr } = setUp("setup.mjs", ["headers"], { THIRDBOOK_PYTHON_INCLUDE: folder });
  assert.equal(status, 1);
  assert.match(stderr, /no CPython 3\.14 headers \(.*etc-.*\): let THIRDBOOK_PYTHON_INCLUDE name/);
});

test("package-lock.json names no registry", () => {
  for (const path of ["package-lock.json", "wasm/toolchain/node/package-lock.json"]) {
    assert.doesNotMatch(readFileSync(join(kRepo, path), "utf8"), /"resolved"/);
  }
});

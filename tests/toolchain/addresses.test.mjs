// No source of the core compares with the address of a function of CPython: in WebKit a side module sees it at another place of the table
// than Pyodide's main module does. What is compared is a slot of a type, such as PyBaseObject_Type.tp_getattro.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { kRepo } from "../../wasm/toolchain/places.mjs";

const kCore = join(kRepo, "core");
const kName = String.raw`\b_?Py(?!Exc_|BUF_|_)[A-Za-z]*_\w+\b(?<!Type|_Type_)`;
const kCompared = new RegExp(String.raw`[!=]=\s*&?${kName}(?![\w.(]|->)|${kName}\s*[!=]=`, "g");

const comparisonsIn = (text) => text.replace(/\/\/.*$/gm, "").match(kCompared) ?? [];

test("the search sees a comparison with a function and leaves types and calls alone", () => {
  assert.equal(comparisonsIn("if (t->tp_getattro == PyObject_GenericGetAttr) {").length, 1);
  assert.equal(comparisonsIn("return PyObject_GenericSetAttr != slot;").length, 1);
  assert.deepEqual(
    comparisonsIn(
      "a == &PyLong_Type; b != PyBaseObject_Type.tp_hash; c == PyList_GET_ITEM(l, 0); d == Py_None;",
    ),
    [],
  );
});

test("no source of the core compares with the address of a function of CPython", () => {
  const found = [];
  let read = 0;
  for (const entry of readdirSync(kCore, { recursive: true })) {
    if (!/\.(cc|h)$/.test(entry)) continue;
    read += 1;
    for (const hit of comparisonsIn(readFileSync(join(kCore, entry), "utf8"))) found.push(`${entry}: ${hit}`);
  }
  assert.ok(read > 100, `only ${read} files were read`);
  assert.deepEqual(found, []);
});

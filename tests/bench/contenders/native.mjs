// PyTorch in a native CPython beside the others: eager, and compiled by inductor. No peer in a browser, so its columns are marked.
//
// In: a Python that can import torch. Out: two contenders. The calls are made and timed in that Python; one question at a time.
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const kNative = "(native)";

/** The Python to use, or null: `THIRDBOOK_BENCH_PYTHON` names it, else it is python3. */
export function nativePython() {
  const python = process.env.THIRDBOOK_BENCH_PYTHON || "python3";
  const { status } = spawnSync(python, ["-c", "import torch"], { stdio: "ignore" });
  return status === 0 ? python : null;
}

function ask(python) {
  const script = fileURLToPath(new URL("native.py", import.meta.url));
  const child = spawn(python, [script], { stdio: ["pipe", "pipe", "ignore"] });
  const waiting = [];
  const settle = (note) => {
    const { resolve, reject } = waiting.shift() ?? {};
    if ("error" in note) reject?.(new Error(note.error));
    else resolve?.(note.ok);
  };
  createInterface({ input: child.stdout }).on("line", (line) => settle(JSON.parse(line)));
  child.on("close", (status) => {
    while (waiting.length > 0) settle({ error: `the native Python ended with status ${status}` });
  });
  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      child.stdin.write(`${JSON.stringify(question)}\n`);
    });
}

export async function open() {
  const say = ask(nativePython());
  const version = await say({ version: true });
  const encoded = (data) => Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString("base64");
  const contender = (name, compiled) => ({
    name: `${name} ${kNative}`,
    version,
    async task({ kind, n = 0, inputs }) {
      const given = Object.fromEntries(Object.entries(inputs).map(([key, data]) => [key, encoded(data)]));
      if (!(await say({ make: kind, n, inputs: given, compiled }))) return undefined;
      return {
        runMany: (count) => say({ run: count }),
        async result() {
          const bytes = Buffer.from(await say({ result: true }), "base64");
          return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
        },
      };
    },
  });
  return [contender("PyTorch eager", false), contender("PyTorch inductor", true)];
}

// Thirdbook: the Python of programs.py in Pyodide, compiled or eager; a run includes the call from Python.

export async function open({ pyodide, programs, compiled }) {
  const module = pyodide.runPython(`
import sys, types
_bench = sys.modules.get("bench_programs")
if _bench is None:
    _bench = types.ModuleType("bench_programs")
    sys.modules["bench_programs"] = _bench
    exec(compile(${JSON.stringify(programs)}, "programs.py", "exec"), _bench.__dict__)
_bench`);
  return {
    name: compiled ? "Thirdbook" : "Thirdbook eager",
    version: pyodide.runPython("import thirdbook; thirdbook.__version__") ?? "",
    task(spec) {
      const inputs = pyodide.toPy(
        Object.fromEntries(
          Object.entries(spec.inputs).map(([name, data]) => [
            name,
            new Uint8Array(data.buffer, data.byteOffset, data.byteLength),
          ]),
        ),
      );
      const task = module.prepare(spec.kind, spec.n ?? 0, inputs, compiled);
      inputs.destroy();
      if (!task) return undefined;
      return {
        runMany: (n) => task.run_many(n),
        result() {
          const bytes = module.result_bytes(task);
          const view = bytes.toJs ? bytes.toJs() : bytes;
          return new Float32Array(view.slice().buffer);
        },
        close: () => task.destroy(),
      };
    },
    cold: () => module.cold(1000).toJs(),
    /** What replaying changes costs beside plain Python; see ledger.py. */
    ledger(source, seconds, samples) {
      const text = pyodide.runPython(`
import json, types
_ledger = types.ModuleType("bench_ledger")
exec(compile(${JSON.stringify(source)}, "ledger.py", "exec"), _ledger.__dict__)
json.dumps(_ledger.measure(${seconds}, ${samples}))`);
      return JSON.parse(text);
    },
  };
}

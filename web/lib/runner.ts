// In: a Pyodide, a program's path in its file system, and arguments. Out: the exit status that `python FILE ARGS…` would give.
// Invariant: the program is `__main__`, its folder is first on sys.path, a traceback shows its own frames only, exit handlers run,
// and the standard streams are flushed before the status is known.

import type { Pyodide } from "./host.js";

export const kRunner = `
import atexit
import builtins
import os
import sys
import types


class _Runner:
    """Runs programs as the interpreter's command line does."""

    def __init__(self):
        self.folder = None

    def settings(self, values):
        """Applies defaults for compile(): 'enabled', 'backend' and 'verify'."""
        import thirdbook
        thirdbook.config.enabled = values.get("enabled", True)
        for name in ("backend", "verify"):
            if name in values:
                setattr(thirdbook.config, name, values[name])

    def prepare(self, path, given, arguments):
        sys.argv = [given, *arguments]
        if self.folder is not None and self.folder in sys.path:
            sys.path.remove(self.folder)
        self.folder = os.path.dirname(path)
        sys.path.insert(0, self.folder)
        main = types.ModuleType("__main__")
        main.__file__ = path
        main.__builtins__ = builtins
        sys.modules["__main__"] = main
        return main

    def run(self, path, given, arguments):
        main = self.prepare(path, given, arguments)
        try:
            with open(path, "rb") as file:
                source = file.read()
            code = compile(source, path, "exec", dont_inherit=True)
        except BaseException as error:
            return self.finish(error, None)
        try:
            exec(code, main.__dict__)
        except BaseException as error:
            return self.finish(error, error.__traceback__.tb_next)
        return self.finish(None, None)

    def finish(self, error, tb):
        status = self.status(error, tb)
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        return status

    def status(self, error, tb):
        if error is None:
            return 0
        if isinstance(error, SystemExit):
            if error.code is None:
                return 0
            if isinstance(error.code, int):
                return error.code & 0xFF
            print(error.code, file=sys.stderr)
            return 1
        try:
            sys.stdout.flush()
        except (AttributeError, OSError, ValueError):
            pass
        error.__traceback__ = tb
        sys.excepthook(type(error), error, tb)
        return 130 if isinstance(error, KeyboardInterrupt) else 1


_runner = _Runner()
`;

export interface ProgramSettings {
  /** false: compile() gives back its argument unchanged. */
  enabled?: boolean;
  backend?: string;
  verify?: boolean;
}

type RunFunction = ((path: string, given: string, args: unknown) => number) & {
  callPromising?(path: string, given: string, args: unknown): Promise<number>;
};

interface PyRunner {
  settings(values: unknown): void;
  run: RunFunction;
}

/** Runs programs in one Pyodide; made once and kept. */
export class Runner {
  readonly #pyodide: Pyodide;
  readonly #runner: PyRunner;

  constructor(pyodide: Pyodide) {
    this.#pyodide = pyodide;
    const globals = pyodide.runPython("{'__name__': 'thirdbook_runner'}") as { get(name: string): unknown };
    pyodide.runPython(kRunner, { globals, filename: "<thirdbook runner>" });
    this.#runner = globals.get("_runner") as PyRunner;
  }

  settings(settings: ProgramSettings): void {
    this.#runner.settings(this.#pyodide.toPy(settings));
  }

  /** `given` is the path as the user typed it (sys.argv[0]). Where the engine has JSPI, the program may wait for promises. */
  async run(path: string, given: string, args: readonly string[]): Promise<number> {
    const list = this.#pyodide.toPy([...args]);
    const run = this.#runner.run;
    if ("Suspending" in WebAssembly && run.callPromising) return run.callPromising(path, given, list);
    return run(path, given, list);
  }
}

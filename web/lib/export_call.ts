// In: the text of a graph that a program's report has shown, and the Pyodide in which the program runs again. Out: the graph's file for
// thirdbook/runtime. Invariant: a call is exported before it happens, with the arguments that it gets; once the file is there the program
// is not needed any more and ends; where none comes, the last reason is given.

import type { Pyodide } from "./host.js";
import type { Exported } from "./protocol.js";

const kCatch = `
import functools
import re


class _Enough(BaseException):
    """Ends a program whose file is there."""


class _Catch:
    """Exports calls of compiled functions until one has the wanted graph."""

    MOST = 50

    def __init__(self, wanted):
        self.wanted = wanted
        self.file = self.similar = None
        self.reason = "the program did not compute this graph when it ran again"
        self.left = self.MOST
        self.exporting = False

    def start(self):
        from thirdbook import _api

        self._compiled = _api._compiled
        _api._compiled = self.compiled

    def end(self):
        from thirdbook import _api

        _api._compiled = self._compiled
        return self.file or self.similar or self.reason

    def compiled(self, function, options):
        result = self._compiled(function, options)
        if self.exporting:
            return result

        @functools.wraps(function)
        def call(*args, **kwargs):
            if self.left > 0 and not self.exporting:
                self.left -= 1
                self.attempt(function, args, kwargs)
            return result(*args, **kwargs)

        return call

    def attempt(self, function, args, kwargs):
        from thirdbook import _core
        from thirdbook._errors import Unsupported
        from thirdbook._export import ExportError, export

        known = {record["id"] for record in _core._records()}
        self.exporting = True
        try:
            data = export(function, *args, **kwargs)
        except (ExportError, Unsupported) as error:
            self.reason = str(error).splitlines()[0]
            return
        except Exception:
            return  # the program's own, which its own call raises
        finally:
            self.exporting = False
        texts = [graph["text"] for record in _core._records() if record["id"] not in known for graph in record["graphs"]]
        if self.wanted in texts:
            self.file = data
            raise _Enough
        if any(self.shapeless(text) == self.shapeless(self.wanted) for text in texts):
            self.similar = self.similar or data

    @staticmethod
    def shapeless(text):
        """A graph that was compiled for any size, and the same for the sizes of one call."""
        return re.sub(r"\\b(\\w+\\d+)\\[[^\\]]*\\]", r"\\1[]", text)
`;

interface PyCatch {
  start(): void;
  end(): string | { toJs(): Uint8Array; destroy(): void };
  destroy(): void;
}

/** Watches the program that runs from its making to end(). */
export class GraphCatch {
  readonly #catch: PyCatch;

  constructor(pyodide: Pyodide, graphText: string) {
    const globals = pyodide.runPython("{'__name__': 'thirdbook_catch'}") as { get(name: string): unknown };
    pyodide.runPython(kCatch, { globals, filename: "<thirdbook export>" });
    this.#catch = (globals.get("_Catch") as (wanted: string) => PyCatch)(graphText);
    this.#catch.start();
  }

  end(): Exported {
    const found = this.#catch.end();
    this.#catch.destroy();
    if (typeof found === "string") return { kind: "refused", reason: found };
    const bytes = found.toJs();
    found.destroy();
    return { kind: "file", bytes };
  }
}

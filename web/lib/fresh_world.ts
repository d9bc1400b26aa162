// In: a Pyodide in which programs run one after the other. Out: for each of them the interpreter as it was before the first.
// Invariant: what a program does to builtins, to sys, to loaded modules, to modes and generators, to settings of thirdbook, ends with it.

import type { Pyodide } from "./host.js";

const kWorld = `
import builtins
import linecache
import os
import sys
import warnings

import thirdbook
from thirdbook._run_state import ProcessState


class _World:
    """What every program finds."""

    def __init__(self):
        self.process = ProcessState()
        self.names = builtins.__dict__
        self.tables = [(table, dict(table)) for table in (self.names, sys.__dict__, sys.modules)]
        self.lists = [(items, list(items)) for items in (sys.path, sys.meta_path, sys.path_hooks, warnings.filters)]
        self.environment = dict(os.environ)
        self.limit = sys.getrecursionlimit()

    def restore(self):
        for table, before in self.tables:  # first, as the rest needs names
            table.update(before)
        for name in self.names.keys() - self.tables[0][1].keys():
            del self.names[name]
        for items, before in self.lists:
            items[:] = before
        sys.settrace(None)
        sys.setprofile(None)
        sys.setrecursionlimit(self.limit)
        if os.environ != self.environment:
            os.environ.clear()
            os.environ.update(self.environment)
        self.process.put_back()
        linecache.clearcache()
        thirdbook.config.reset()
        thirdbook.reset()


_world = _World()
`;

export class FreshWorld {
  readonly #world: { restore(): void };

  constructor(pyodide: Pyodide) {
    const globals = pyodide.runPython("{'__name__': 'thirdbook_world'}") as { get(name: string): unknown };
    pyodide.runPython(kWorld, { globals, filename: "<thirdbook world>" });
    this.#world = globals.get("_world") as { restore(): void };
  }

  restore(): void {
    this.#world.restore();
  }
}

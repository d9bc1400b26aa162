// In: PyPI. Out: in the cache, JupyterLite with its Pyodide kernel, and the wheels that the kernel loads at run time; null where
// PyPI cannot be reached. Invariant: fixed versions, wheels only, a whole set or none.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { pipDownload, pipInstall } from "./pip.mjs";
import { cache, kPython } from "./places.mjs";
import { say } from "./say.mjs";
import { readStamp, writeStamp } from "./stamp.mjs";

const kTools = [
  "jupyterlite-core==0.8.6",
  "jupyterlite-pyodide-kernel==0.8.6",
  "doit==0.37.0",
  "jupyter_core==5.9.1",
  "pkginfo==1.12.1.2",
  "platformdirs==4.4.0",
  "traitlets==5.14.3",
];

/** What the kernel imports; the same versions as in Pyodide's own lock file where that names them. */
const kKernel = [
  "asttokens==3.0.1",
  "comm==0.2.3",
  "decorator==5.2.1",
  "executing==2.2.1",
  "ipython==9.12.0",
  "jedi==0.20.1",
  "matplotlib-inline==0.2.1",
  "micropip==0.11.1",
  "packaging==26.1",
  "parso==0.8.7",
  "prompt-toolkit==3.0.52",
  "pure-eval==0.2.3",
  "pygments==2.20.0",
  "six==1.17.0",
  "stack-data==0.6.3",
  "traitlets==5.14.3",
  "wcwidth==0.6.0",
];
const kRecipe = [...kTools, ...kKernel].join(" ");

/** `{tools, wheels}`: a folder for PYTHONPATH and a folder of wheels; or null, said aloud. */
export function setUpJupyterLite() {
  const found = { tools: join(cache.jupyterLite, "tools"), wheels: join(cache.jupyterLite, "wheels") };
  if (readStamp("jupyterlite", kRecipe) && existsSync(found.tools) && existsSync(found.wheels)) return found;
  say("jupyterlite: fetching JupyterLite and its kernel's packages, about 30 MB");
  const anywhere = [
    "--platform",
    "any",
    "--python-version",
    kPython,
    "--implementation",
    "py",
    "--abi",
    "none",
  ];
  const fetched =
    pipInstall(["--target", found.tools, ...kTools]) &&
    pipDownload(["--dest", found.wheels, ...anywhere, ...kKernel]);
  if (!fetched) {
    say("jupyterlite: PyPI cannot be reached; its tests are skipped");
    return null;
  }
  writeStamp("jupyterlite", kRecipe, {});
  return found;
}

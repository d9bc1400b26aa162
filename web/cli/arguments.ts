// In: the command line's words. Out: a command, tagged by `kind`, or a UsageError.
// Invariant: every wrong word is named in the error, together with what may stand there; nothing is read or run here.

import { parseArgs } from "node:util";
import { kSections, type Section } from "../report/print.js";

export const kBackends = ["auto", "wasm", "webgpu", "eager", "reference"] as const;
export type Backend = (typeof kBackends)[number];

export interface RunCommand {
  kind: "run" | "explain";
  file: string;
  args: string[];
  backend: Backend | undefined;
  off: boolean;
  verify: boolean;
  report: string | undefined;
  print: Section[];
}

export type Command = RunCommand | { kind: "doctor" } | { kind: "help" } | { kind: "version" };

export class UsageError extends Error {}

export const kUsage = `usage: thirdbook run FILE.py [options] [-- ARGS…]
       thirdbook explain FILE.py [options] [-- ARGS…]
       thirdbook doctor

options of run and explain:
  --backend NAME     ${kBackends.join(", ")}
  --off              compile() gives back its argument: plain Python, the reference
  --verify           run eagerly on a copy as well and report the first difference
  --report OUT.json  write the report
  --print A,B,…      ${kSections.join(", ")}, all (to stderr)`;

const kOptions = {
  backend: { type: "string" },
  off: { type: "boolean" },
  verify: { type: "boolean" },
  report: { type: "string" },
  print: { type: "string", multiple: true },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "V" },
} as const;

export function parseCommand(words: string[]): Command {
  const split = words.indexOf("--");
  const own = split < 0 ? words : words.slice(0, split);
  const args = split < 0 ? [] : words.slice(split + 1);
  const { values, positionals } = parse(own);
  if (values.help) return { kind: "help" };
  if (values.version) return { kind: "version" };
  const [name, file, ...rest] = positionals;
  switch (name) {
    case undefined:
      throw new UsageError("a command is missing: run, explain or doctor");
    case "doctor":
      if (file !== undefined) throw new UsageError(`doctor takes no argument, got ${file}`);
      return { kind: "doctor" };
    case "run":
    case "explain":
      if (file === undefined) throw new UsageError(`${name} needs a Python file: thirdbook ${name} FILE.py`);
      if (rest.length > 0)
        throw new UsageError(`${rest.join(" ")}: put the program's own arguments after --`);
      return {
        kind: name,
        file,
        args,
        backend: values.backend === undefined ? undefined : backendOf(values.backend),
        off: values.off ?? false,
        verify: values.verify ?? false,
        report: values.report,
        print: sectionsOf(values.print ?? []),
      };
    default:
      throw new UsageError(`${name} is not a command: run, explain or doctor`);
  }
}

function parse(words: string[]) {
  try {
    return parseArgs({ args: words, options: kOptions, allowPositionals: true });
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    throw new UsageError(text.split(". ")[0] ?? text);
  }
}

function backendOf(name: string): Backend {
  const found = kBackends.find((backend) => backend === name);
  if (!found) throw new UsageError(`--backend ${name} is not known: use ${listOf(kBackends)}`);
  return found;
}

function sectionsOf(values: string[]): Section[] {
  const wanted = new Set<Section>();
  for (const name of values.flatMap((value) => value.split(","))) {
    if (name === "all") {
      kSections.forEach((section) => wanted.add(section));
      continue;
    }
    const found = kSections.find((section) => section === name);
    if (!found) throw new UsageError(`--print ${name} is not known: use ${listOf([...kSections, "all"])}`);
    wanted.add(found);
  }
  return [...wanted];
}

function listOf(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

// Generated from schema.json by generate.mjs (npm run build); do not edit.

/** What thirdbook.report() returns: everything compiled since the last reset. One schema for Python, the command line, the page and the test tools. Lines are 1-based; columns are 0-based UTF-8 byte offsets as in co_positions. */
export interface Report {
  /** Version of this schema. */
  schema: 1;
  /** Version of Thirdbook. */
  version: string;
  compilations: Compilation[];
  counters: Counters;
}

/** One traced frame: what became of it. */
export interface Compilation {
  id: number;
  /** Qualified name. */
  function: string;
  file: string;
  line: number;
  /** Why it was compiled: first call, a failed guard (its text), a resumed frame. */
  trigger: string;
  /** Of each version that was there before: the guard that did not hold for this call. */
  misses: Miss[];
  /** compiled, or why the frame was left to CPython. */
  status: string;
  graphs: Graph[];
  guards: Guard[];
  ledger: Mutation[];
  breaks: Break[];
  bytecode: Bytecode;
  /** Milliseconds by stage name. */
  timings?: Record<string, number>;
}

/** A pure graph; nodes come after their operands. */
export interface Graph {
  nodes: Node[];
  inputs: number[];
  outputs: number[];
  text: string;
  kernels: Kernel[];
  /** What ran on the GPU, one a dispatch, in order; left out where it has not run there. */
  shaders?: Shader[];
}

export interface Node {
  id: number;
  op: string;
  /** Node ids; null where an optional operand is missing. */
  operands: (number | null)[];
  attrs: Record<string, unknown>;
  dtype: string;
  /** Strings are symbolic sizes. */
  shape: (number | string)[];
  /** Of an input: its source, such as L['x']. */
  name: string;
  /** Where the user wrote it. */
  line: number | null;
}

export interface Kernel {
  name: string;
  /** The loop form, for people. */
  loops: string;
  /** The wasm text of what runs; empty for a library kernel. */
  text: string;
  nodes: number[];
}

export interface Shader {
  name: string;
  nodes: number[];
  /** WGSL. */
  text: string;
}

export interface Guard {
  source: string;
  kind: string;
  text: string;
  line: number | null;
  /** Steps that checking it adds to those of the guards before it. */
  cost?: number;
  /** How often it was the one that failed. */
  hits?: number;
}

/** A guard that did not hold, so that a version could not be used. */
export interface Miss {
  /** The version that it guards. */
  compilation: number;
  guard: string;
  line: number | null;
  /** The value that it asks for; empty where the guard's text says it all. */
  was: string;
  /** The value that it met. */
  now: string;
}

export interface Site {
  file: string;
  line: number;
  col: number;
  endLine: number;
  endCol: number;
}

export type MutationKind =
  "value-existing" | "value-new" | "attribute-existing" | "attribute-new" | "cell" | "global" | "effect";

/** One entry of the ledger. */
export interface Mutation {
  /** Position in the replay. */
  order: number;
  kind: MutationKind;
  source: string;
  operation: string;
  before?: string;
  after: string;
  sites: Site[];
  /** Where the entry is replayed: the return, or a break. */
  settledAt: string | null;
}

export interface Break {
  /** What broke the graph here, in words. */
  reason: string;
  /** Stable name of its entry in docs/graph-breaks.md. */
  code: string;
  explanation: string;
  hint: string;
  file: string;
  line: number;
  stack: string[];
}

export type Role = "guard" | "load" | "graph" | "rebuild" | "replay" | "resume" | "return";

export interface Bytecode {
  original: CodeListing;
  rewritten: CodeListing | null;
}

export interface CodeListing {
  text: string;
  instructions: Instruction[];
}

export interface Instruction {
  offset: number;
  op: string;
  arg: number | null;
  argrepr: string;
  line: number | null;
  endLine: number | null;
  col: number | null;
  endCol: number | null;
  role?: Role | null;
}

export interface Counters {
  frames: number;
  compilations: number;
  graphs: number;
  breaks: number;
  recompiles: number;
  cacheHits: number;
  replays: number;
  fallbacks: number;
}

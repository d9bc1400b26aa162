// Runs the kernels that test_kernel has dumped in this engine and compares with the interpreter's results.
//
// In: node run_generated.mjs PATH-OF-test_kernel [FOLDER]. Out: exit status 0 when every kernel validates, writes what it should (floats within a
// tolerance that covers another order of summation and ulps of functions) and not one byte elsewhere.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [program, given] = process.argv.slice(2);
const folder = given ?? mkdtempSync(join(tmpdir(), "thirdbook-kernels-"));
mkdirSync(folder, { recursive: true });
if (program && program !== "-") {
  execFileSync(program, ["--gtest_filter=Wasm.*"], {
    env: { ...process.env, THIRDBOOK_KERNEL_DUMP: folder },
    stdio: "ignore",
  });
}

// Host functions: the native build numbers them 2 * index + (1 for float64); see host_functions.def.
const names = [
  "exp",
  "exp2",
  "expm1",
  "log",
  "log2",
  "log10",
  "log1p",
  "sin",
  "cos",
  "tan",
  "asin",
  "acos",
  "atan",
  "sinh",
  "cosh",
  "tanh",
  "asinh",
  "acosh",
  "atanh",
  "erf",
  "erfc",
  "sigmoid",
  "pow",
  "atan2",
  "fmod",
  "remainder",
  "floordiv",
];
function erf(x) {
  let term = x,
    sum = x;
  if (Math.abs(x) > 4) return Math.sign(x);
  for (let n = 1; n < 120; ++n) {
    term *= (-x * x) / n;
    sum += term / (2 * n + 1);
  }
  return (2 / Math.sqrt(Math.PI)) * sum;
}
const special = {
  exp2: (x) => 2 ** x,
  erf,
  erfc: (x) => 1 - erf(x),
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  // C's pow gives 1 for 1 ** NaN and (-1) ** infinity.
  pow: (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y),
  fmod: (x, y) => x % y,
  remainder: (x, y) => {
    const r = x % y;
    return r !== 0 && y < 0 !== r < 0 ? r + y : r;
  },
  floordiv: (x, y) => {
    if (y === 0) return x / y;
    const r = x % y;
    let q = (x - r) / y;
    if (r !== 0 && y < 0 !== r < 0) q -= 1;
    if (q === 0) return x / y < 0 ? -0 : 0;
    const f = Math.floor(q);
    return q - f > 0.5 ? f + 1 : f;
  },
};
// A function table that holds JavaScript functions as wasm functions of the right type.
function wrap(func, arity, f64) {
  const type = f64 ? 0x7c : 0x7d;
  const params = Array(arity).fill(type);
  const body = [0, ...params.flatMap((_, i) => [0x20, i]), 0x10, 0, 0x0b];
  const bytes = [
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    1,
    5 + arity,
    1,
    0x60,
    arity,
    ...params,
    1,
    type,
    2,
    7,
    1,
    1,
    0x65,
    1,
    0x66,
    0,
    0,
    3,
    2,
    1,
    0,
    7,
    5,
    1,
    1,
    0x6b,
    0,
    1,
    10,
    body.length + 2,
    1,
    body.length,
    ...body,
  ];
  return new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(bytes)), { e: { f: func } }).exports
    .k;
}
const table = new WebAssembly.Table({ element: "anyfunc", initial: 2 * names.length });
names.forEach((name, i) => {
  const func = special[name] ?? Math[name];
  const arity = i >= names.indexOf("pow") ? 2 : 1;
  table.set(
    2 * i,
    wrap(arity === 1 ? (x) => Math.fround(func(x)) : (x, y) => Math.fround(func(x, y)), arity, false),
  );
  table.set(2 * i + 1, wrap(func, arity, true));
});

const memory = new WebAssembly.Memory({ initial: 17 });
const views = {
  float32: Float32Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  bool: Uint8Array,
};
const relaxedModule = new Uint8Array([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 6, 1, 0x60, 1, 0x7b, 1, 0x7b, 3, 2, 1, 0, 10, 13, 1, 11, 0, 0x20, 0,
  0x20, 0, 0x20, 0, 0xfd, 0x85, 2, 0x0b,
]);
const variants = WebAssembly.validate(relaxedModule) ? ["", ".relaxed"] : [""];

function differs(dtype, got, want, scale) {
  if (got === want || (got !== got && want !== want)) return false;
  if (dtype !== "float32" && dtype !== "float64") return true;
  const tolerance = dtype === "float32" ? 2e-5 : 1e-9;
  return !(Math.abs(got - want) <= tolerance * (Math.abs(want) + 0.01 * scale + 1e-3));
}

let failures = 0,
  discontinuous = 0,
  elements = 0;
const cases = readFileSync(join(folder, "index.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));
for (const test of cases) {
  const before = readFileSync(join(folder, `${test.name}.before`));
  const after = readFileSync(join(folder, `${test.name}.after`));
  for (const variant of variants) {
    const bytes = readFileSync(join(folder, `${test.name}${variant}.wasm`));
    let run;
    try {
      run = new WebAssembly.Instance(new WebAssembly.Module(bytes), { e: { m: memory, t: table } }).exports.k;
    } catch (error) {
      console.log(`${test.name}${variant} ${test.kernel}: ${error.message}`);
      ++failures;
      continue;
    }
    const all = new Uint8Array(memory.buffer);
    all.set(before);
    run(0);
    for (const [at, size] of test.scratch) all.fill(0, at, at + size);
    const got = all.slice(0, after.length).buffer;
    const want = after.buffer.slice(after.byteOffset, after.byteOffset + after.length);
    const seen = new Uint8Array(after.length);
    let bad = "",
      flips = 0,
      total = 0;
    for (const buffer of test.buffers.filter((b) => b.output)) {
      const View = views[buffer.dtype];
      const count = buffer.bytes / View.BYTES_PER_ELEMENT;
      const g = new View(got, buffer.at, count),
        w = new View(want, buffer.at, count);
      let scale = 0;
      for (const x of w) if (Number.isFinite(Number(x))) scale = Math.max(scale, Math.abs(Number(x)));
      for (let i = 0; i < count; ++i) {
        ++total;
        if (differs(buffer.dtype, g[i], w[i], scale)) {
          ++flips;
          bad ||= `buffer at ${buffer.at} ${buffer.dtype}[${i}]: ${g[i]} instead of ${w[i]}`;
        }
      }
      seen.fill(1, buffer.at, buffer.at + buffer.bytes);
    }
    const gotBytes = new Uint8Array(got);
    for (let i = 0; i < after.length; ++i) {
      if (!seen[i] && gotBytes[i] !== after[i]) {
        bad = `byte ${i} was written`;
        flips = Infinity;
        break;
      }
    }
    elements += total;
    // An ulp may turn a comparison or a rounding; a wrong instruction turns many.
    if (
      bad &&
      flips <= 2 + total / 100 &&
      /lt|ge|eq|ne|floor|round|trunc|sign|remainder|and|sqrt|pow|log|where/.test(test.kernel)
    )
      ++discontinuous;
    else if (bad) {
      console.log(`${test.name}${variant} ${test.kernel}: ${bad} (${flips} of ${total})`);
      ++failures;
    }
  }
}
for (let rows = 1; rows <= 4; ++rows) {
  for (const variant of variants) {
    const bytes = readFileSync(join(folder, `product${rows}${variant}.wasm`));
    if (WebAssembly.validate(bytes)) continue;
    console.log(`product${rows}${variant} is refused`);
    ++failures;
  }
}
console.log(
  `${cases.length} kernels × ${variants.length} variants, ${elements} elements: ${failures} failures, ${discontinuous} with an ulp at a discontinuity`,
);
process.exit(failures || discontinuous > cases.length / 20 ? 1 : 0);

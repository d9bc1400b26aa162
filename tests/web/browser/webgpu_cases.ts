// For every operation of the table a small graph with inputs: what the matrix of webgpu.test.ts runs on both devices.
// Invariant: an operation of the table without a row here fails the test that counts them.

import type { DType } from "../../../web/lib/export_file.ts";
import { GraphFile, type Attribute, type Ref } from "../graph_file.ts";
import type { Case, Input } from "./gpu.ts";

type Shape = number[];
type Operand = Input | null;
interface Row {
  operands: Operand[];
  attributes?: Record<string, Attribute>;
  /** Relative to the largest magnitude of the output; default 4e-6. */
  bound?: number;
}

const count = (shape: Shape) => shape.reduce((product, size) => product * size, 1);

/** Numbers between low and high, the same at every run. */
function numbers(shape: Shape, low = -3, high = 3, seed = 1): number[] {
  let state = seed;
  return Array.from({ length: count(shape) }, () => {
    state = (state * 48271) % 2147483647;
    return Math.fround(low + ((high - low) * state) / 2147483647);
  });
}

export function floats(shape: Shape, low = -3, high = 3, seed = 1): Input {
  return { dtype: "float32", shape, data: numbers(shape, low, high, seed) };
}
function whole(dtype: DType, shape: Shape, low: number, high: number, seed = 1): Input {
  return { dtype, shape, data: numbers(shape, low, high, seed).map(Math.floor) };
}
const given = (...data: (number | "NaN" | "Infinity" | "-Infinity")[]): Input => ({
  dtype: "float32",
  shape: [data.length],
  data,
});

const kEdges = given(
  0,
  -0,
  1,
  -1,
  0.5,
  -0.5,
  2,
  1e-3,
  -20,
  90,
  -110,
  3e38,
  1e-30,
  "NaN",
  "Infinity",
  "-Infinity",
);
const kInside = floats([7, 9], -0.99, 0.99);
const x = floats([3, 5]);
const y = floats([5], 0.5, 2, 7);
const column = floats([3, 1], -2, 2, 9);
const ints = whole("int32", [3, 5], -9, 9);
const longs = whole("int64", [3, 5], -9e12, 9e12);
const flags = whole("bool", [3, 5], 0, 2, 5);
const bytes = whole("uint8", [3, 5], 0, 256, 6);

const unary = (...names: string[]): [string, Row[]][] =>
  names.map((name) => [name, [{ operands: [kEdges] }, { operands: [floats([40, 33], -9, 9)] }]]);
const binary = (...names: string[]): [string, Row[]][] =>
  names.map((name) => [
    name,
    [{ operands: [x, y] }, { operands: [x, column] }, { operands: [ints, whole("int32", [5], 1, 9)] }],
  ]);
const logical = (...names: string[]): [string, Row[]][] =>
  names.map((name) => [name, [{ operands: [flags, whole("bool", [5], 0, 2, 8)] }, { operands: [x, y] }]]);
const bitwise = (...names: string[]): [string, Row[]][] =>
  names.map((name) => [
    name,
    [
      { operands: [ints, whole("int32", [5], 0, 9)] },
      { operands: [bytes, bytes] },
      { operands: [longs, longs] },
    ],
  ]);
const folds = (...names: string[]): [string, Row[]][] =>
  names.map((name) => [
    name,
    [
      { operands: [floats([6, 300])], attributes: { dim: [1] }, bound: 1e-5 },
      { operands: [floats([300, 70])], attributes: { dim: [0], keepdim: true }, bound: 1e-5 },
      { operands: [floats([100, 5, 7])], attributes: { dim: [0, 2] }, bound: 1e-5 },
      { operands: [floats([5000, 3])], attributes: { dim: [1] } },
    ],
  ]);
const along = (name: string, more: Record<string, Attribute> = {}): [string, Row[]] => [
  name,
  [
    { operands: [floats([6, 300], -20, 20)], attributes: { dim: 1, ...more } },
    { operands: [floats([200, 70])], attributes: { dim: 0, ...more } },
    { operands: [floats([5000, 10])], attributes: { dim: 1, ...more } },
  ],
];
const indices = whole("int64", [2, 4], 0, 3, 3);
const image = floats([2, 4, 9, 7]);
const definite: Input = { dtype: "float32", shape: [2, 2], data: [4, 1, 1, 3] };

/** By operation; the operands are the graph's inputs. */
export const rows = new Map<string, Row[]>([
  ...unary(
    ...[
      "neg",
      "abs",
      "sign",
      "relu",
      "floor",
      "ceil",
      "round",
      "trunc",
      "sqrt",
      "exp",
      "exp2",
      "expm1",
      "log",
    ],
    ...[
      "log1p",
      "log2",
      "log10",
      "tanh",
      "erf",
      "sigmoid",
      "atan",
      "sinh",
      "cosh",
      "asinh",
      "isnan",
      "isinf",
    ],
    ...["isfinite", "reciprocal", "rsqrt", "logical_not", "clone", "square"],
  ),
  ...["sin", "cos", "tan"].map((name): [string, Row[]] => [
    name,
    [
      { operands: [given(0, 1, -1, 3.5, 100, -2000, "NaN", "Infinity")], bound: 1e-5 },
      { operands: [floats([40, 33], -1.5, 1.5)] },
    ],
  ]),
  ...["asin", "acos", "atanh"].map((name): [string, Row[]] => [
    name,
    [{ operands: [kInside] }, { operands: [given(1, -1, 0, 2)] }],
  ]),
  ["acosh", [{ operands: [floats([40, 33], 1, 900)] }, { operands: [given(1, 0.5, 3e38)] }]],
  ["erfc", [{ operands: [floats([40, 33], -5, 5)] }]],
  ...binary("add", "sub", "mul", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"),
  [
    "div",
    [
      { operands: [x, y] },
      { operands: [x, y], attributes: { rounding_mode: "floor" } },
      { operands: [ints, ints], attributes: { rounding_mode: null } },
    ],
  ],
  ["floor_divide", [{ operands: [floats([40, 33], -90, 90), floats([33], 0.5, 7, 3)] }]],
  [
    "remainder",
    [
      { operands: [floats([40, 33], -90, 90), floats([33], -7, 7, 3)] },
      { operands: [given(5e8, 1e30, -7), given(3, 0.7, 3)] },
    ],
  ],
  ["fmod", [{ operands: [floats([40, 33], -90, 90), floats([33], -7, 7, 3)] }]],
  [
    "pow",
    [
      { operands: [floats([40, 33], 0.01, 9), floats([33], -4, 4, 3)], bound: 2e-5 },
      {
        operands: [
          given(0, 0, -2, -2, 2, "Infinity", 1, -8),
          given(0, -1, 3, 0.5, "-Infinity", -2, "NaN", 2),
        ],
      },
    ],
  ],
  [
    "atan2",
    [
      { operands: [floats([40, 33]), floats([33], -3, 3, 3)] },
      {
        operands: [
          given(0, 0, -0, 1, "Infinity", "Infinity", -1),
          given(1, -1, -1, 0, "Infinity", "-Infinity", "-Infinity"),
        ],
      },
    ],
  ],
  ["lerp", [{ operands: [x, y, column] }]],
  ["clamp", [{ operands: [x, null, y] }, { operands: [x, given(-1), given(1)] }]],
  ["where", [{ operands: [flags, x, y] }, { operands: [flags, longs, longs] }]],
  ["masked_fill", [{ operands: [x, flags, { dtype: "float32", shape: [], data: [-7] }] }]],
  ["copy", [{ operands: [x, y] }]],
  ["fill", [{ operands: [x, { dtype: "float32", shape: [], data: [2.5] }] }]],
  [
    "to",
    (["bool", "uint8", "int32", "int64", "float32", "float64"] as const).flatMap((dtype) =>
      [ints, longs, flags, floats([3, 5], 0, 200)].map((operand) => ({
        operands: [operand],
        attributes: { dtype: { dtype } },
      })),
    ),
  ],
  ...bitwise("bitwise_and", "bitwise_or", "bitwise_xor"),
  [
    "bitwise_not",
    [{ operands: [ints] }, { operands: [bytes] }, { operands: [flags] }, { operands: [longs] }],
  ],
  ["bitwise_left_shift", [{ operands: [ints, whole("int32", [5], 0, 5)] }]],
  ["bitwise_right_shift", [{ operands: [ints, whole("int32", [5], 0, 5)] }]],
  ...logical("logical_and", "logical_or", "logical_xor"),
  ...folds("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "linalg_vector_norm"),
  [
    "prod",
    [
      { operands: [floats([6, 30], 0.5, 1.5)], attributes: { dim: 1 }, bound: 1e-5 },
      { operands: [longs], attributes: { dim: 0 } },
    ],
  ],
  ["max", [{ operands: [floats([6, 300])] }, { operands: [longs] }]],
  ["min", [{ operands: [floats([6, 300])] }, { operands: [ints] }]],
  ["any", [{ operands: [flags], attributes: { dim: [1] } }, { operands: [x] }]],
  ["all", [{ operands: [flags], attributes: { dim: [0] } }]],
  [
    "max_dim",
    [
      { operands: [x], attributes: { dim: 1 } },
      { operands: [image], attributes: { dim: 2, keepdim: true } },
      { operands: [floats([3, 700])], attributes: { dim: 1 } },
      { operands: [longs], attributes: { dim: 0 } },
    ],
  ],
  [
    "min_dim",
    [
      { operands: [x], attributes: { dim: 0 } },
      { operands: [kEdges], attributes: { dim: 0 } },
    ],
  ],
  ["argmax", [{ operands: [x] }, { operands: [floats([70, 90])] }, { operands: [kEdges] }]],
  [
    "argmin",
    [
      { operands: [x], attributes: { dim: 1 } },
      { operands: [whole("int32", [70, 90], 0, 5)], attributes: { dim: 0 } }, // many are equal: the first
    ],
  ],
  along("softmax"),
  along("log_softmax"),
  [
    "layer_norm",
    [
      {
        operands: [floats([40, 33]), floats([33], 0.5, 2, 4), floats([33], -1, 1, 5)],
        attributes: { normalized_shape: [33] },
        bound: 1e-5,
      },
    ],
  ],
  ["cumsum", [{ operands: [x], attributes: { dim: 1 } }]],
  ["cumprod", [{ operands: [x], attributes: { dim: 0 } }]],
  [
    "matmul",
    [
      { operands: [floats([70, 50]), floats([50, 33], -1, 1, 2)], bound: 1e-5 },
      { operands: [floats([2, 3, 9, 5]), floats([3, 5, 4], -1, 1, 2)], bound: 1e-5 },
      { operands: [floats([5]), floats([5])] },
      { operands: [floats([5]), floats([2, 5, 3])] },
      { operands: [floats([4, 6, 5]), floats([5])] },
    ],
  ],
  [
    "mm",
    [
      { operands: [floats([130, 257]), floats([257, 66], -1, 1, 2)], bound: 2e-5 },
      { operands: [floats([1, 3]), floats([3, 2])] },
    ],
  ],
  ["mv", [{ operands: [floats([70, 50]), floats([50])], bound: 1e-5 }]],
  ["bmm", [{ operands: [floats([5, 40, 9]), floats([5, 9, 33])], bound: 1e-5 }]],
  ["addmm", [{ operands: [floats([33]), floats([40, 20]), floats([20, 33])], bound: 1e-5 }]],
  [
    "linear",
    [
      { operands: [floats([40, 20]), floats([33, 20]), floats([33])], bound: 1e-5 },
      { operands: [floats([2, 3, 20]), floats([7, 20]), null], bound: 1e-5 },
    ],
  ],
  ["dot", [{ operands: [floats([400]), floats([400], -1, 1, 3)], bound: 1e-5 }]],
  ["outer", [{ operands: [floats([4]), floats([5])] }]],
  ["linalg_solve", [{ operands: [definite, given(1, 2)] }]],
  ["linalg_inv", [{ operands: [definite] }]],
  ["linalg_cholesky", [{ operands: [definite] }]],
  ["linalg_det", [{ operands: [definite] }]],
  ["alias", [{ operands: [x] }]],
  ["view", [{ operands: [x], attributes: { size: [5, 3] } }]],
  ["permute", [{ operands: [image], attributes: { dims: [2, 0, 3, 1] } }]],
  ["transpose", [{ operands: [x], attributes: { dim0: 0, dim1: 1 } }]],
  ["t", [{ operands: [x] }]],
  ["squeeze", [{ operands: [column], attributes: { dim: [1] } }]],
  ["unsqueeze", [{ operands: [x], attributes: { dim: 1 } }]],
  ["expand", [{ operands: [column], attributes: { size: [2, 3, 4] } }]],
  ["select", [{ operands: [x], attributes: { dim: 1, index: 2 } }]],
  ["slice", [{ operands: [x], attributes: { dim: 1, start: 1, end: 5, step: 2 } }]],
  ["narrow", [{ operands: [x], attributes: { dim: 1, start: 1, length: 3 } }]],
  ["as_strided", [{ operands: [x], attributes: { size: [2, 3], stride: [1, 4], storage_offset: 2 } }]],
  ["diagonal", [{ operands: [x], attributes: { offset: 1 } }]],
  ["unfold", [{ operands: [x], attributes: { dimension: 1, size: 3, step: 1 } }]],
  ["reshape", [{ operands: [x], attributes: { shape: [5, 3] } }]],
  ["flatten", [{ operands: [image], attributes: { start_dim: 1 } }]],
  ["contiguous", [{ operands: [x] }]],
  [
    "cat",
    [
      { operands: [x, floats([2, 5])], attributes: { dim: 0 } },
      { operands: [x, column, x], attributes: { dim: 1 } },
      { operands: [longs, longs], attributes: { dim: -1 } },
      { operands: [flags, flags, flags], attributes: { dim: 0 } },
    ],
  ],
  [
    "stack",
    [
      { operands: [x, x], attributes: { dim: 1 } },
      { operands: [ints, ints, ints], attributes: { dim: -1 } },
      { operands: [bytes, bytes], attributes: { dim: 0 } },
    ],
  ],
  [
    "flip",
    [
      { operands: [x], attributes: { dims: [1] } },
      { operands: [image], attributes: { dims: [0, -1] } },
    ],
  ],
  [
    "roll",
    [
      { operands: [x], attributes: { shifts: [2], dims: [1] } },
      { operands: [image], attributes: { shifts: [-3, 12], dims: [2, 3] } },
    ],
  ],
  ["repeat", [{ operands: [x], attributes: { repeats: [2, 2, 1] } }]],
  ["tril", [{ operands: [x] }, { operands: [image], attributes: { diagonal: -2 } }]],
  ["triu", [{ operands: [x], attributes: { diagonal: 1 } }, { operands: [flags] }]],
  [
    "constant_pad_nd",
    [
      { operands: [x], attributes: { pad: [1, 2, 0, 1], value: 4 } },
      { operands: [ints], attributes: { pad: [-1, 2, -1, 3], value: 7 } },
    ],
  ],
  [
    "slice_scatter",
    [
      { operands: [x, floats([3, 3])], attributes: { dim: 1, start: 1, end: 4, step: 1 } },
      { operands: [x, floats([1, 5])], attributes: { dim: 0, start: -1 } },
    ],
  ],
  [
    "select_scatter",
    [
      { operands: [x, floats([3])], attributes: { dim: 1, index: 2 } },
      { operands: [longs, whole("int64", [5], -9, 9)], attributes: { dim: 0, index: -1 } },
    ],
  ],
  [
    "as_strided_scatter",
    [{ operands: [x, floats([2, 3])], attributes: { size: [2, 3], stride: [5, 1], storage_offset: 1 } }],
  ],
  [
    "index",
    [
      { operands: [x, whole("int64", [4], 0, 3)] },
      { operands: [image, null, whole("int64", [2, 3], -4, 4), null, whole("int64", [3], 0, 7, 9)] },
      { operands: [image, null, whole("int64", [3], -4, 4), whole("int32", [2, 1], 0, 9, 9)] },
    ],
  ],
  ["index_put", [{ operands: [x, whole("int64", [1], 0, 3), floats([1, 5])] }]],
  [
    "index_select",
    [
      { operands: [x, whole("int64", [4], 0, 3)], attributes: { dim: 0 } },
      { operands: [image, whole("int32", [5], 0, 9)], attributes: { dim: -2 } },
    ],
  ],
  ["index_add", [{ operands: [x, whole("int64", [2], 0, 3), floats([2, 5])], attributes: { dim: 0 } }]],
  [
    "gather",
    [
      { operands: [x, indices], attributes: { dim: 0 } },
      { operands: [longs, whole("int64", [3, 9], 0, 5)], attributes: { dim: 1 } },
    ],
  ],
  [
    "scatter",
    [
      {
        operands: [x, { dtype: "int64", shape: [1, 4], data: [0, 1, 2, 0] }, floats([1, 4])],
        attributes: { dim: 0 },
      },
    ],
  ],
  ["scatter_add", [{ operands: [x, indices, floats([2, 4])], attributes: { dim: 0 } }]],
  ["embedding", [{ operands: [x, indices] }]],
  ["one_hot", [{ operands: [indices], attributes: { num_classes: 5 } }]],
  ["sort", [{ operands: [x] }]],
  ["argsort", [{ operands: [x] }]],
  ["topk", [{ operands: [x], attributes: { k: 2 } }]],
  [
    "conv1d",
    [
      {
        operands: [floats([2, 4, 20]), floats([6, 4, 3]), floats([6])],
        attributes: { padding: [1], stride: [2] },
        bound: 1e-5,
      },
    ],
  ],
  [
    "conv2d",
    [
      { operands: [image, floats([6, 4, 3, 3]), floats([6])], attributes: { padding: [1, 1] }, bound: 1e-5 },
      {
        operands: [image, floats([4, 2, 3, 2]), null],
        attributes: { groups: 2, dilation: [2, 1], stride: [1, 2] },
        bound: 1e-5,
      },
    ],
  ],
  [
    "max_pool2d",
    [
      { operands: [image], attributes: { kernel_size: [2, 2], stride: [2, 2] } },
      {
        operands: [image],
        attributes: {
          kernel_size: [3, 2],
          stride: [2, 1],
          padding: [1, 1],
          dilation: [2, 1],
          ceil_mode: true,
        },
      },
      { operands: [floats([3, 70, 70], -9, -1)], attributes: { kernel_size: [3, 3], padding: [1, 1] } },
    ],
  ],
  [
    "avg_pool2d",
    [
      { operands: [image], attributes: { kernel_size: [2, 2], stride: [2, 2] } },
      {
        operands: [image],
        attributes: { kernel_size: [3, 3], stride: [2, 2], padding: [1, 1], count_include_pad: false },
      },
      { operands: [image], attributes: { kernel_size: [3, 2], padding: [1, 0], ceil_mode: true } },
      { operands: [image], attributes: { kernel_size: [3, 2], divisor_override: 5 } },
    ],
  ],
  [
    "adaptive_avg_pool2d",
    [
      { operands: [image], attributes: { output_size: [3, 7] } },
      { operands: [image], attributes: { output_size: [1, 1] } },
    ],
  ],
  [
    "upsample_nearest2d",
    [
      { operands: [image], attributes: { output_size: [18, 14] } },
      { operands: [image], attributes: { output_size: [5, 11] } },
    ],
  ],
  [
    "upsample_bilinear2d",
    [{ operands: [image], attributes: { output_size: [18, 14], align_corners: false } }],
  ],
]);

/** What lower_indexed.h makes shaders of. */
export const kWithShader = new Set(
  (
    "cat stack flip roll repeat tril triu constant_pad_nd slice_scatter select_scatter embedding index_select gather index " +
    "one_hot max_pool2d avg_pool2d adaptive_avg_pool2d upsample_nearest2d max_dim min_dim argmax argmin"
  ).split(" "),
);

export const isWide = (input: Input) => typeof input !== "number" && input.dtype === "float64";

/** Operations that look up elements, and which of the operands of their first row holds the indices. */
export const kLookUps = new Map([
  ["embedding", { name: "embedding", operand: 1 }],
  ["index_select", { name: "index_select", operand: 1 }],
  ["gather", { name: "gather", operand: 1 }],
  ["index", { name: "index", operand: 1 }],
]);

/** The first row of an operation with one index too large. */
export function outOfRange({ name, operand }: { name: string; operand: number }): Case {
  const [one] = casesOf(name) as [Case];
  const index = one.inputs[`x${operand}`] as Input & object;
  one.inputs[`x${operand}`] = { ...index, data: index.data.map((value, i) => (i === 1 ? 99 : value)) };
  return one;
}

/** Rows 0, 2 and 5 of a table of 6 - `fewer` rows, by indices that another shader computes. */
export function computedIndexCase(fewer: number): Case {
  const g = new GraphFile();
  const table = g.input("table", "float32", [6 - fewer, 5]);
  const i = g.input("i", "int64", [3]);
  const at = g.op("add", [g.op("mul", [i, i]), i]); // 0, 2, 6 from 0, 1, 2
  const large = g.op("to", [g.op("gt", [at, g.literal(4)])], { dtype: { dtype: "int64" } });
  g.output(g.op("index_select", [table, g.op("sub", [at, large])], { dim: 0 }));
  return {
    name: "computed indices",
    file: g.bytes(),
    inputs: { table: floats([6 - fewer, 5]), i: { dtype: "int64", shape: [3], data: [0, 1, 2] } },
  };
}

/** Few rows, long ones: folds of every kind and type. */
export function subgroupCases(): Case[] {
  const long = { float32: floats([3, 1000]), int32: whole("int32", [3, 1000], -9, 9) };
  const wide = { int64: whole("int64", [3, 1000], -9e12, 9e12), bool: whole("bool", [3, 1000], 0, 2) };
  const fold = (dtype: DType, input: Input, name: string, attributes: Record<string, Attribute>): Case => {
    const g = new GraphFile();
    g.output(g.op(name, [g.input("x", dtype, [3, 1000])], attributes));
    return { name: `${name} of ${dtype}`, file: g.bytes(), inputs: { x: input } };
  };
  const all = Object.entries({ ...long, ...wide }) as [DType, Input][];
  return all.flatMap(([dtype, input]) => [
    fold(dtype, input, "sum", { dim: [1] }),
    fold(dtype, input, "amax", { dim: [1] }),
    fold(dtype, input, "amin", { dim: [1] }),
    fold(dtype, input, "any", { dim: [1] }),
    fold(dtype, input, "all", { dim: [1] }),
    ...(dtype === "float32" ? [fold(dtype, input, "softmax", { dim: 1 })] : []),
  ]);
}

const kTwoOutputs = new Set(["max_dim", "min_dim", "sort", "topk"]);

/** tanh(x * y + 1) * x, with a number of the program and one that is given at each run. */
export function chainCase(): Case {
  const g = new GraphFile();
  const a = g.input("a", "float32", [40, 33]);
  const b = g.input("b", "float32", [33]);
  const scale = g.number("scale", "float");
  const sum = g.op("add", [g.op("mul", [a, b]), g.literal(1)]);
  g.output(g.op("mul", [g.op("mul", [g.op("tanh", [sum]), a]), scale]));
  return { name: "chain", file: g.bytes(), inputs: { a: floats([40, 33]), b: floats([33]), scale: 0.3 } };
}

/** The softmax of x - mean(x), scaled. */
export function softmaxCase(): Case {
  const g = new GraphFile();
  const a = g.input("a", "float32", [20, 90]);
  const centred = g.op("sub", [a, g.op("mean", [a], { dim: [1], keepdim: true })]);
  g.output(g.op("mul", [g.op("softmax", [centred], { dim: 1 }), g.literal(3)]));
  return { name: "softmax", file: g.bytes(), inputs: { a: floats([20, 90]) } };
}

/** Two linear layers with a relu between them. */
export function layersCase(): Case {
  const g = new GraphFile();
  const sizes: [string, Shape][] = [
    ["x", [8, 30]],
    ["w1", [50, 30]],
    ["b1", [50]],
    ["w2", [10, 50]],
    ["b2", [10]],
  ];
  const [a, w1, b1, w2, b2] = sizes.map(([name, shape]) => g.input(name, "float32", shape)) as [
    Ref,
    Ref,
    Ref,
    Ref,
    Ref,
  ];
  g.output(g.op("linear", [g.op("relu", [g.op("linear", [a, w1, b1])]), w2, b2]));
  return {
    name: "layers",
    file: g.bytes(),
    inputs: Object.fromEntries(sizes.map(([name, shape], i) => [name, floats(shape, -1, 1, i + 1)])),
  };
}

/** One graph for each row of an operation; what it computes is also used once more, so that fusing is seen. */
export function casesOf(name: string): (Case & { bound: number })[] {
  return (rows.get(name) ?? []).map(({ operands, attributes, bound }, index) => {
    const g = new GraphFile();
    const inputs: Record<string, Input> = {};
    const refs = operands.map((operand, i): Ref | null => {
      if (operand === null || typeof operand === "number") return null;
      inputs[`x${i}`] = operand;
      return g.input(`x${i}`, operand.dtype, operand.shape);
    });
    const result = g.op(name, refs, attributes);
    g.output(result);
    if (kTwoOutputs.has(name)) g.output({ node: result.node, output: 1 });
    return { name: `${name} ${index}`, file: g.bytes(), inputs, bound: bound ?? 4e-6 };
  });
}

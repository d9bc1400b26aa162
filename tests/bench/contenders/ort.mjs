// ONNX Runtime on wasm, one thread. Its graphs are built here as ONNX files; copies in and out are part of every run, as its
// interface has it.
import { kAttention, kChain, kConv, kMlp } from "../cases.mjs";
import { async_ } from "../measure.mjs";

// ---- A few messages of onnx.proto, as bytes ----------------------------------------------------------------------------------

function varint(n) {
  const out = [];
  let v = BigInt.asUintN(64, BigInt(n));
  do {
    const low = Number(v & 127n);
    v >>= 7n;
    out.push(v ? low | 128 : low);
  } while (v);
  return out;
}
const bytes = (field, content) => [...varint((field << 3) | 2), ...varint(content.length), ...content];
const text = (field, s) => bytes(field, [...new TextEncoder().encode(s)]);
const integer = (field, n) => [...varint(field << 3), ...varint(n)];

function tensorOf(name, data, dims) {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return { head: [...dims.flatMap((d) => integer(1, d)), ...integer(2, 1), ...text(8, name)], raw };
}
function join(parts) {
  const total = parts.reduce((n, p) => n + p.length, 0),
    out = new Uint8Array(total);
  let at = 0;
  for (const p of parts) (out.set(p, at), (at += p.length));
  return out;
}
function valueInfo(name, dims) {
  const shape = dims.flatMap((d) => bytes(1, integer(1, d)));
  return [...text(1, name), ...bytes(2, bytes(1, [...integer(1, 1), ...bytes(2, shape)]))];
}
function attribute(name, value) {
  if (Array.isArray(value))
    return [...text(1, name), ...value.flatMap((v) => integer(8, v)), ...integer(20, 7)];
  if (Number.isInteger(value)) return [...text(1, name), ...integer(3, value), ...integer(20, 2)];
  const f = new Uint8Array(Float32Array.of(value).buffer);
  return [...text(1, name), ...varint((2 << 3) | 5), ...f, ...integer(20, 1)];
}
/** nodes: [op, inputs, outputs, attributes]; inputs, outputs: {name: dims}; constants: {name: [data, dims]}. */
function model({ nodes, inputs, outputs, constants = {} }) {
  const parts = [];
  for (const [op, ins, outs, attributes = {}] of nodes) {
    const node = [...ins.flatMap((n) => text(1, n)), ...outs.flatMap((n) => text(2, n)), ...text(4, op)];
    for (const [name, value] of Object.entries(attributes)) node.push(...bytes(5, attribute(name, value)));
    parts.push(new Uint8Array(bytes(1, node)));
  }
  parts.push(new Uint8Array(text(2, "g")));
  for (const [name, [data, dims]] of Object.entries(constants)) {
    const { head, raw } = tensorOf(name, data, dims);
    const rawHead = [...varint((9 << 3) | 2), ...varint(raw.length)];
    parts.push(
      new Uint8Array([
        ...varint((5 << 3) | 2),
        ...varint(head.length + rawHead.length + raw.length),
        ...head,
        ...rawHead,
      ]),
      raw,
    );
  }
  for (const [name, dims] of Object.entries(inputs))
    parts.push(new Uint8Array(bytes(11, valueInfo(name, dims))));
  for (const [name, dims] of Object.entries(outputs))
    parts.push(new Uint8Array(bytes(12, valueInfo(name, dims))));
  const graph = join(parts);
  return join([
    new Uint8Array(integer(1, 8)),
    new Uint8Array([...varint((7 << 3) | 2), ...varint(graph.length)]),
    graph,
    new Uint8Array(bytes(8, integer(2, 17))),
  ]);
}

export async function open({ peers }) {
  const { ort, version } = await peers.ort();
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "error";
  const made = async (description, feeds) => {
    const session = await ort.InferenceSession.create(model(description), {
      executionProviders: ["wasm"],
      graphOptimizationLevel: "all",
    });
    const tensors = Object.fromEntries(
      Object.entries(feeds).map(([name, [data, dims]]) => [name, new ort.Tensor("float32", data, dims)]),
    );
    const run = () => session.run(tensors);
    return { ...async_(run), result: async () => (await run()).y.data, close: () => session.release() };
  };
  const scalar = (v) => [Float32Array.of(v), []];
  const tasks = {
    chain: ({ n, inputs }) =>
      made(
        {
          nodes: [
            ["Mul", ["x", "a"], ["p"]],
            ["Add", ["p", "b"], ["q"]],
            ["Tanh", ["q"], ["t"]],
            ["Mul", ["t", "x"], ["u"]],
            ["Sub", ["x", "c"], ["d"]],
            ["Relu", ["d"], ["r"]],
            ["Add", ["u", "r"], ["y"]],
          ],
          inputs: { x: [n] },
          outputs: { y: [n] },
          constants: { a: scalar(kChain.a), b: scalar(kChain.b), c: scalar(kChain.c) },
        },
        { x: [inputs.x, [n]] },
      ),
    matmul: ({ n, inputs }) =>
      made(
        { nodes: [["MatMul", ["a", "b"], ["y"]]], inputs: { a: [n, n], b: [n, n] }, outputs: { y: [n, n] } },
        { a: [inputs.a, [n, n]], b: [inputs.b, [n, n]] },
      ),
    sum: ({ n, inputs }) =>
      made(
        { nodes: [["ReduceSum", ["x"], ["y"], { keepdims: 0 }]], inputs: { x: [n] }, outputs: { y: [] } },
        { x: [inputs.x, [n]] },
      ),
    softmax: ({ n, inputs }) =>
      made(
        { nodes: [["Softmax", ["x"], ["y"], { axis: 1 }]], inputs: { x: [n, n] }, outputs: { y: [n, n] } },
        { x: [inputs.x, [n, n]] },
      ),
    layernorm: ({ n, inputs }) =>
      made(
        {
          nodes: [["LayerNormalization", ["x", "w", "b"], ["y"], { axis: 1, epsilon: 1.00001e-5 }]],
          inputs: { x: [n, n] },
          outputs: { y: [n, n] },
          constants: { w: [inputs.weight, [n]], b: [inputs.bias, [n]] },
        },
        { x: [inputs.x, [n, n]] },
      ),
    mlp({ inputs }) {
      const { batch, sizes } = kMlp;
      const constants = {},
        nodes = [];
      for (let i = 0; i < 3; ++i) {
        constants[`w${i}`] = [inputs[`w${i}`], [sizes[i], sizes[i + 1]]];
        constants[`b${i}`] = [inputs[`b${i}`], [sizes[i + 1]]];
        nodes.push(["Gemm", [i ? `h${i - 1}` : "x", `w${i}`, `b${i}`], [i < 2 ? `g${i}` : "y"]]);
        if (i < 2) nodes.push(["Relu", [`g${i}`], [`h${i}`]]);
      }
      return made(
        { nodes, inputs: { x: [batch, 784] }, outputs: { y: [batch, 10] }, constants },
        { x: [inputs.x, [batch, 784]] },
      );
    },
    conv({ inputs }) {
      const { size, batch } = kConv;
      const attributes = { kernel_shape: [3, 3], pads: [1, 1, 1, 1] };
      return made(
        {
          nodes: [
            ["Conv", ["x", "w0", "b0"], ["c0"], attributes],
            ["Relu", ["c0"], ["h0"]],
            ["Conv", ["h0", "w1", "b1"], ["c1"], attributes],
            ["Relu", ["c1"], ["y"]],
          ],
          inputs: { x: [batch, 1, size, size] },
          outputs: { y: [batch, 32, size, size] },
          constants: {
            w0: [inputs.w0, [16, 1, 3, 3]],
            b0: [inputs.b0, [16]],
            w1: [inputs.w1, [32, 16, 3, 3]],
            b1: [inputs.b1, [32]],
          },
        },
        { x: [inputs.x, [batch, 1, size, size]] },
      );
    },
    attention({ inputs }) {
      const { heads, length, depth } = kAttention,
        shape = [heads, length, depth];
      return made(
        {
          nodes: [
            ["Transpose", ["k"], ["kt"], { perm: [0, 2, 1] }],
            ["MatMul", ["q", "kt"], ["s"]],
            ["Div", ["s", "d"], ["e"]],
            ["Softmax", ["e"], ["p"], { axis: 2 }],
            ["MatMul", ["p", "v"], ["y"]],
          ],
          inputs: { q: shape, k: shape, v: shape },
          outputs: { y: shape },
          constants: { d: scalar(Math.sqrt(depth)) },
        },
        { q: [inputs.q, shape], k: [inputs.k, shape], v: [inputs.v, shape] },
      );
    },
  };
  return { name: "ORT-web", version, task: (spec) => tasks[spec.kind]?.(spec) };
}

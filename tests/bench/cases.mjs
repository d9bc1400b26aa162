// The work that is timed: names, sizes, input data, and what one run amounts to.
//
// In: nothing. Out: a list of cases; each makes its inputs (the same for every contender) and says how to turn seconds into a rate.
// Invariant: data are deterministic.

/** Uniform numbers in [-1, 1). */
export function numbers(count, seed = 1) {
  const out = new Float32Array(count);
  let state = (seed * 2654435761) >>> 0 || 1;
  for (let i = 0; i < count; ++i) {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    out[i] = state / 2147483648 - 1;
  }
  return out;
}

export const kChain = { a: 1.1, b: 0.3, c: 0.2 };

function chain(n) {
  return {
    id: `chain-${n}`,
    kind: "chain",
    n,
    title: `tanh(x·a+b)·x + relu(x−c), n = ${n.toLocaleString("en")}`,
    unit: n < 1e5 ? "µs" : "ms",
    inputs: () => ({ x: numbers(n) }),
  };
}
function matmul(n) {
  return {
    id: `matmul-${n}`,
    kind: "matmul",
    n,
    title: `matmul ${n}`,
    unit: "GFLOP/s",
    flops: 2 * n ** 3,
    inputs: () => ({ a: numbers(n * n, 1), b: numbers(n * n, 2) }),
  };
}

export const kMlp = { batch: 64, sizes: [784, 256, 256, 10] };
export const kConv = { channels: [1, 16, 32], size: 28, batch: 8 };
export const kAttention = { heads: 8, length: 128, depth: 64 };
export const kStateful = { steps: 200, width: 64 };

export const cases = [
  chain(8),
  chain(1e3),
  chain(1e5),
  chain(1e6),
  chain(1e7),
  matmul(256),
  matmul(512),
  matmul(1024),
  {
    id: "sum-1000000",
    kind: "sum",
    n: 1e6,
    title: "sum of 1,000,000",
    unit: "µs",
    bytes: 4e6,
    inputs: () => ({ x: numbers(1e6) }),
  },
  {
    id: "softmax-1024",
    kind: "softmax",
    n: 1024,
    title: "softmax 1024 × 1024",
    unit: "ms",
    inputs: () => ({ x: numbers(1024 * 1024) }),
  },
  {
    id: "layernorm-1024",
    kind: "layernorm",
    n: 1024,
    title: "layer norm 1024 × 1024",
    unit: "ms",
    inputs: () => ({ x: numbers(1024 * 1024), weight: numbers(1024, 3), bias: numbers(1024, 4) }),
  },
  {
    id: "mlp",
    kind: "mlp",
    title: "MLP 784-256-256-10, batch 64",
    unit: "ms",
    flops: 2 * 64 * (784 * 256 + 256 * 256 + 256 * 10),
    inputs() {
      const { batch, sizes } = kMlp;
      const out = { x: numbers(batch * sizes[0]) };
      for (let i = 0; i + 1 < sizes.length; ++i) {
        // Weights as matrices [in, out]; PyTorch's nn.Linear keeps them transposed, contenders turn them as they need.
        out[`w${i}`] = numbers(sizes[i] * sizes[i + 1], 10 + i).map((v) => v / Math.sqrt(sizes[i]));
        out[`b${i}`] = numbers(sizes[i + 1], 20 + i);
      }
      return out;
    },
  },
  {
    id: "conv",
    kind: "conv",
    title: "conv net 1-16-32, 3×3, 28×28, batch 8",
    unit: "ms",
    flops: 2 * 8 * (16 * 9 * 784 + 32 * 16 * 9 * 784),
    inputs: () => ({
      x: numbers(8 * 784),
      w0: numbers(16 * 9, 5),
      b0: numbers(16, 6),
      w1: numbers(32 * 16 * 9, 7).map((v) => v / 12),
      b1: numbers(32, 8),
    }),
  },
  {
    id: "attention",
    kind: "attention",
    title: "attention 8 heads × 128 × 64",
    unit: "ms",
    flops: 2 * 2 * 8 * 128 * 128 * 64,
    inputs: () => ({ q: numbers(8 * 128 * 64, 1), k: numbers(8 * 128 * 64, 2), v: numbers(8 * 128 * 64, 3) }),
  },
  {
    id: "stateful",
    kind: "stateful",
    title: "stateful loop: running mean, history, cache; 200 steps of width 64",
    unit: "ms",
    inputs: () => ({ x: numbers(kStateful.steps * kStateful.width) }),
  },
];

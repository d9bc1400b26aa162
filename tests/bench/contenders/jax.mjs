// jax-js on its wasm or its WebGPU backend: each case is one jitted function.
import { kAttention, kChain, kConv, kMlp, kStateful } from "../cases.mjs";
import { async_ } from "../measure.mjs";

export async function open({ peers, backend = "wasm" }) {
  const { jax, version } = await peers.jax();
  await jax.init(backend);
  jax.defaultDevice(backend);
  const { jit, nn, numpy: np } = jax;
  // Arguments are consumed by a call: `.ref` keeps them.
  const made = (work, kept) => {
    const f = jit(work);
    const call = () => f(...kept.map((t) => t.ref));
    return {
      ...async_(async () => {
        const y = call();
        await y.blockUntilReady();
        y.dispose();
      }),
      result: async () => new Float32Array(await call().data()),
      close: () => kept.forEach((t) => t.dispose()),
    };
  };
  const array = (data, shape) => np.array(data).reshape(shape);
  const tasks = {
    chain: ({ n, inputs }) =>
      made(
        (x) => {
          const t = np.tanh(x.ref.mul(kChain.a).add(kChain.b));
          return t.mul(x.ref).add(nn.relu(x.sub(kChain.c)));
        },
        [array(inputs.x, [n])],
      ),
    matmul: ({ n, inputs }) =>
      made((a, b) => np.matmul(a, b), [array(inputs.a, [n, n]), array(inputs.b, [n, n])]),
    sum: ({ n, inputs }) => made((x) => np.sum(x), [array(inputs.x, [n])]),
    softmax: ({ n, inputs }) => made((x) => nn.softmax(x), [array(inputs.x, [n, n])]),
    layernorm: ({ n, inputs }) =>
      made(
        (x, w, b) => {
          const d = x.ref.sub(np.mean(x, 1, { keepdims: true }));
          const variance = np.mean(np.square(d.ref), 1, { keepdims: true });
          return d
            .div(np.sqrt(variance.add(1e-5)))
            .mul(w)
            .add(b);
        },
        [array(inputs.x, [n, n]), array(inputs.weight, [n]), array(inputs.bias, [n])],
      ),
    mlp({ inputs }) {
      const { batch, sizes } = kMlp;
      const kept = [array(inputs.x, [batch, sizes[0]])];
      for (let i = 0; i < 3; ++i)
        kept.push(array(inputs[`w${i}`], [sizes[i], sizes[i + 1]]), array(inputs[`b${i}`], [sizes[i + 1]]));
      return made((x, w0, b0, w1, b1, w2, b2) => {
        const h0 = nn.relu(np.matmul(x, w0).add(b0));
        const h1 = nn.relu(np.matmul(h0, w1).add(b1));
        return np.matmul(h1, w2).add(b2);
      }, kept);
    },
    conv({ inputs }) {
      const { size, batch } = kConv;
      return made(
        (x, w0, b0, w1, b1) => {
          const conv = (a, w) =>
            jax.lax.convGeneralDilated(
              a,
              w,
              [1, 1],
              [
                [1, 1],
                [1, 1],
              ],
            );
          return nn.relu(conv(nn.relu(conv(x, w0).add(b0)), w1).add(b1));
        },
        [
          array(inputs.x, [batch, 1, size, size]),
          array(inputs.w0, [16, 1, 3, 3]),
          array(inputs.b0, [16, 1, 1]),
          array(inputs.w1, [32, 16, 3, 3]),
          array(inputs.b1, [32, 1, 1]),
        ],
      );
    },
    attention({ inputs }) {
      const { heads, length, depth } = kAttention;
      return made(
        (q, k, v) => {
          const scores = np.matmul(q, np.transpose(k, [0, 2, 1])).div(Math.sqrt(depth));
          return np.matmul(nn.softmax(scores), v);
        },
        ["q", "k", "v"].map((name) => array(inputs[name], [heads, length, depth])),
      );
    },
    stateful({ inputs }) {
      const { steps, width } = kStateful;
      const rows = Array.from({ length: steps }, (_, s) =>
        array(inputs.x.slice(s * width, (s + 1) * width), [width]),
      );
      const step = jit((x, mean, count) => {
        const y = np.tanh(x.ref.sub(mean.ref));
        const next = mean.ref.add(x.sub(mean).div(count));
        return [next, np.sum(np.square(y))];
      });
      const counts = rows.map((_, s) => np.array(s + 1));
      const work = async () => {
        let mean = np.zeros([width]);
        const history = [],
          cache = new Map();
        rows.forEach((x, s) => {
          const [next, total] = step(x.ref, mean, counts[s].ref);
          mean = next;
          history.push(s);
          cache.get(s % 16)?.dispose();
          cache.set(s % 16, total);
        });
        for (const t of cache.values()) t.dispose();
        await mean.blockUntilReady();
        return mean;
      };
      return {
        ...async_(async () => (await work()).dispose()),
        result: async () => new Float32Array(await (await work()).data()),
      };
    },
  };
  return { name: "jax-js", version, task: (spec) => tasks[spec.kind]?.(spec) };
}

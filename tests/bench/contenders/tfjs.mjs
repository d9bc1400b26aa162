// TensorFlow.js on its wasm backend (XNNPACK), one thread, or on its WebGPU backend.
import { kAttention, kChain, kConv, kMlp, kStateful } from "../cases.mjs";
import { async_, sync } from "../measure.mjs";

export async function open({ peers, backend = "wasm" }) {
  const { tf, version } = await peers.tfjs();
  await tf.setBackend(backend);
  await tf.ready();
  const gpu = backend === "webgpu";
  // A run on the GPU ends when the device has done the work.
  const timed = (run) =>
    gpu
      ? async_(async () => {
          run();
          tf.backend().endComputePassEncoder();
          tf.backend().submitQueue();
          await tf.backend().device.queue.onSubmittedWorkDone();
        })
      : sync(run);
  const made = (work, prepare) => {
    const kept = prepare();
    const run = () => tf.tidy(() => void work(kept));
    return {
      ...timed(run),
      result: () => (gpu ? tf.tidy(() => work(kept)).data() : tf.tidy(() => work(kept).dataSync().slice())),
      close: () => Object.values(kept).forEach((t) => t.dispose()),
    };
  };
  const tasks = {
    chain: ({ inputs }) =>
      made(
        ({ x }) => {
          const t = tf.tanh(tf.add(tf.mul(x, kChain.a), kChain.b));
          return tf.add(tf.mul(t, x), tf.relu(tf.sub(x, kChain.c)));
        },
        () => ({ x: tf.tensor1d(inputs.x) }),
      ),
    matmul: ({ n, inputs }) =>
      made(
        ({ a, b }) => tf.matMul(a, b),
        () => ({ a: tf.tensor2d(inputs.a, [n, n]), b: tf.tensor2d(inputs.b, [n, n]) }),
      ),
    sum: ({ inputs }) =>
      made(
        ({ x }) => tf.sum(x),
        () => ({ x: tf.tensor1d(inputs.x) }),
      ),
    softmax: ({ n, inputs }) =>
      made(
        ({ x }) => tf.softmax(x),
        () => ({ x: tf.tensor2d(inputs.x, [n, n]) }),
      ),
    layernorm: ({ n, inputs }) =>
      made(
        ({ x, weight, bias }) => {
          const { mean, variance } = tf.moments(x, -1, true);
          return tf.add(tf.mul(tf.mul(tf.sub(x, mean), tf.rsqrt(tf.add(variance, 1e-5))), weight), bias);
        },
        () => ({
          x: tf.tensor2d(inputs.x, [n, n]),
          weight: tf.tensor1d(inputs.weight),
          bias: tf.tensor1d(inputs.bias),
        }),
      ),
    mlp: ({ inputs }) =>
      made(
        (k) => {
          let h = k.x;
          for (let i = 0; i < 3; ++i)
            h = tf.fused.matMul({
              a: h,
              b: k[`w${i}`],
              bias: k[`b${i}`],
              activation: i < 2 ? "relu" : "linear",
            });
          return h;
        },
        () => {
          const { batch, sizes } = kMlp;
          const kept = { x: tf.tensor2d(inputs.x, [batch, sizes[0]]) };
          for (let i = 0; i < 3; ++i) {
            kept[`w${i}`] = tf.tensor2d(inputs[`w${i}`], [sizes[i], sizes[i + 1]]);
            kept[`b${i}`] = tf.tensor1d(inputs[`b${i}`]);
          }
          return kept;
        },
      ),
    conv: ({ inputs }) =>
      made(
        (k) => {
          const conv = (x, filter, bias) =>
            tf.fused.conv2d({ x, filter, strides: 1, pad: "same", bias, activation: "relu" });
          return tf.transpose(conv(conv(k.x, k.w0, k.b0), k.w1, k.b1), [0, 3, 1, 2]);
        },
        () => {
          const { size, batch } = kConv;
          const turned = (data, shape) => tf.tidy(() => tf.transpose(tf.tensor4d(data, shape), [2, 3, 1, 0]));
          return {
            x: tf.tensor4d(inputs.x, [batch, size, size, 1]),
            w0: turned(inputs.w0, [16, 1, 3, 3]),
            b0: tf.tensor1d(inputs.b0),
            w1: turned(inputs.w1, [32, 16, 3, 3]),
            b1: tf.tensor1d(inputs.b1),
          };
        },
      ),
    attention: ({ inputs }) =>
      made(
        ({ q, k, v }) =>
          tf.matMul(tf.softmax(tf.div(tf.matMul(q, k, false, true), Math.sqrt(kAttention.depth))), v),
        () => {
          const shape = [kAttention.heads, kAttention.length, kAttention.depth];
          return {
            q: tf.tensor3d(inputs.q, shape),
            k: tf.tensor3d(inputs.k, shape),
            v: tf.tensor3d(inputs.v, shape),
          };
        },
      ),
    stateful({ inputs }) {
      if (gpu) return undefined;
      const { steps, width } = kStateful;
      const rows = Array.from({ length: steps }, (_, s) =>
        tf.tensor1d(inputs.x.slice(s * width, (s + 1) * width)),
      );
      const work = () => {
        let mean = tf.zeros([width]);
        const history = [],
          cache = new Map();
        rows.forEach((x, s) => {
          const [next, total] = tf.tidy(() => {
            const y = tf.tanh(tf.sub(x, mean));
            return [tf.add(mean, tf.div(tf.sub(x, mean), s + 1)), tf.sum(tf.mul(y, y))];
          });
          mean.dispose();
          mean = next;
          history.push(s);
          cache.get(s % 16)?.dispose();
          cache.set(s % 16, total);
        });
        for (const t of cache.values()) t.dispose();
        return mean;
      };
      return {
        ...sync(() => work().dispose()),
        result: () => {
          const m = work();
          const out = m.dataSync().slice();
          m.dispose();
          return out;
        },
        close: () => rows.forEach((t) => t.dispose()),
      };
    },
  };
  return { name: "tfjs", version, task: (spec) => tasks[spec.kind]?.(spec) };
}

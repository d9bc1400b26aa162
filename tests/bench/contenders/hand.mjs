// The hand-made kernels of limits/kernels.c, and the machine's limits from the same module.
import { kChain, kMlp } from "../cases.mjs";
import { sync } from "../measure.mjs";

export async function open({ limits }) {
  const memory = new WebAssembly.Memory({ initial: 6000 });
  const { instance } = await WebAssembly.instantiate(limits, { env: { memory } });
  const k = instance.exports;
  const base = 1 << 17;
  let top = base;
  const put = (data) => {
    const at = top;
    new Float32Array(memory.buffer, at, data.length).set(data);
    top = (at + data.length * 4 + 255) & ~255;
    return at;
  };
  const room = (count) => {
    const at = top;
    top = (at + count * 4 + 255) & ~255;
    return at;
  };
  const read = (at, count) => new Float32Array(memory.buffer, at, count).slice();
  const fresh = () => void (top = base);

  const tasks = {
    chain({ n, inputs }) {
      const x = put(inputs.x),
        out = room(n);
      const run = () => k.chain(out, x, kChain.a, kChain.b, kChain.c, n);
      return { ...sync(run), result: () => (run(), read(out, n)) };
    },
    matmul({ n, inputs }) {
      const a = put(inputs.a),
        b = put(inputs.b),
        c = room(n * n),
        panels = room(256 * n);
      const run = () => k.gemm(c, a, b, n, n, n, panels, 256, 4);
      return { ...sync(run), result: () => (run(), read(c, n * n)) };
    },
    sum({ n, inputs }) {
      const x = put(inputs.x);
      let total = 0;
      return { ...sync(() => (total = k.sum(x, n))), result: () => Float32Array.of(total || k.sum(x, n)) };
    },
    softmax({ n, inputs }) {
      const x = put(inputs.x),
        out = room(n * n);
      const run = () => k.softmax(out, x, n, n);
      return { ...sync(run), result: () => (run(), read(out, n * n)) };
    },
    layernorm({ n, inputs }) {
      const x = put(inputs.x),
        w = put(inputs.weight),
        b = put(inputs.bias),
        out = room(n * n);
      const run = () => k.layer_norm(out, x, w, b, n, n);
      return { ...sync(run), result: () => (run(), read(out, n * n)) };
    },
    // The last layer's 10 columns are padded to 16 by hand.
    mlp({ inputs }) {
      const { batch, sizes } = kMlp;
      const x = put(inputs.x);
      const layers = [];
      for (let i = 0; i + 1 < sizes.length; ++i) {
        const rows = sizes[i],
          columns = Math.ceil(sizes[i + 1] / 8) * 8;
        const weight = new Float32Array(rows * columns),
          bias = new Float32Array(columns);
        for (let r = 0; r < rows; ++r)
          weight.set(inputs[`w${i}`].subarray(r * sizes[i + 1], (r + 1) * sizes[i + 1]), r * columns);
        bias.set(inputs[`b${i}`]);
        const panels = room(rows * columns);
        k.pack_weights(panels, put(weight), rows, columns);
        layers.push({ panels, bias: put(bias), rows, columns, out: room(batch * columns) });
      }
      const run = () => {
        let from = x;
        layers.forEach((l, i) => {
          k.linear(l.out, from, l.panels, l.bias, batch, l.columns, l.rows, i < 2 ? 1 : 0);
          from = l.out;
        });
      };
      const last = layers.at(-1);
      const result = () => {
        run();
        const padded = read(last.out, batch * last.columns);
        return Float32Array.from(
          { length: batch * 10 },
          (_, i) => padded[Math.floor(i / 10) * last.columns + (i % 10)],
        );
      };
      return { ...sync(run), result };
    },
  };

  return {
    name: "hand",
    version: "simd128 by hand",
    task(spec) {
      fresh();
      return tasks[spec.kind]?.(spec);
    },
    limits() {
      fresh();
      const small = put(Float32Array.of(0.9, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1));
      const arrays = (n) => ({
        x: put(new Float32Array(n).fill(1)),
        y: put(new Float32Array(n).fill(2)),
        out: room(n),
      });
      const tasks = { peak: { task: sync(() => k.peak(small, 100000)), amount: 96e5, unit: "GFLOP/s" } };
      for (const n of [1e5, 1e6, 1e7]) {
        fresh();
        top += 4096;
        const { x, y, out } = arrays(n);
        tasks[`triad ${n.toLocaleString("en")}`] = {
          task: sync(() => k.triad(out, x, y, 3, n)),
          amount: 12 * n,
          unit: "GB/s",
        };
        tasks[`copy ${n.toLocaleString("en")}`] = {
          task: sync(() => k.copy(out, x, 4 * n)),
          amount: 8 * n,
          unit: "GB/s",
        };
        tasks[`read ${n.toLocaleString("en")}`] = {
          task: sync(() => k.sum(x, n)),
          amount: 4 * n,
          unit: "GB/s",
        };
      }
      return tasks;
    },
  };
}

// Plain JavaScript on typed arrays, as one writes it without a library.
import { kAttention, kChain, kConv, kMlp, kStateful } from "../cases.mjs";
import { sync } from "../measure.mjs";

function product(out, a, b, m, n, k) {
  for (let i = 0; i < m; ++i) {
    for (let j = 0; j < n; ++j) {
      let total = 0;
      for (let p = 0; p < k; ++p) total += a[i * k + p] * b[p * n + j];
      out[i * n + j] = total;
    }
  }
}
function softmaxRows(out, x, rows, n) {
  for (let r = 0; r < rows; ++r) {
    let top = -Infinity,
      total = 0;
    for (let i = 0; i < n; ++i) top = Math.max(top, x[r * n + i]);
    for (let i = 0; i < n; ++i) total += out[r * n + i] = Math.exp(x[r * n + i] - top);
    for (let i = 0; i < n; ++i) out[r * n + i] /= total;
  }
}

const tasks = {
  chain({ n, inputs: { x } }) {
    const out = new Float32Array(n),
      { a, b, c } = kChain;
    return {
      out,
      run: () => {
        for (let i = 0; i < n; ++i) out[i] = Math.tanh(x[i] * a + b) * x[i] + Math.max(x[i] - c, 0);
      },
    };
  },
  matmul({ n, inputs }) {
    const out = new Float32Array(n * n);
    return { out, run: () => product(out, inputs.a, inputs.b, n, n, n) };
  },
  sum({ inputs: { x } }) {
    const out = new Float32Array(1);
    return {
      out,
      run: () => {
        let total = 0;
        for (let i = 0; i < x.length; ++i) total += x[i];
        out[0] = total;
      },
    };
  },
  softmax({ n, inputs: { x } }) {
    const out = new Float32Array(n * n);
    return { out, run: () => softmaxRows(out, x, n, n) };
  },
  layernorm({ n, inputs: { x, weight, bias } }) {
    const out = new Float32Array(n * n);
    return {
      out,
      run: () => {
        for (let r = 0; r < n; ++r) {
          let mean = 0,
            variance = 0;
          for (let i = 0; i < n; ++i) mean += x[r * n + i];
          mean /= n;
          for (let i = 0; i < n; ++i) variance += (x[r * n + i] - mean) ** 2;
          const scale = 1 / Math.sqrt(variance / n + 1e-5);
          for (let i = 0; i < n; ++i) out[r * n + i] = (x[r * n + i] - mean) * scale * weight[i] + bias[i];
        }
      },
    };
  },
  mlp({ inputs }) {
    const { batch, sizes } = kMlp;
    const layers = sizes.slice(1).map((n) => new Float32Array(batch * n));
    return {
      out: layers.at(-1),
      run: () => {
        let from = inputs.x;
        layers.forEach((out, i) => {
          product(out, from, inputs[`w${i}`], batch, sizes[i + 1], sizes[i]);
          for (let j = 0; j < out.length; ++j) {
            out[j] += inputs[`b${i}`][j % sizes[i + 1]];
            if (i < 2) out[j] = Math.max(out[j], 0);
          }
          from = out;
        });
      },
    };
  },
  conv({ inputs }) {
    const { channels, size, batch } = kConv;
    const layers = channels.slice(1).map((c) => new Float32Array(batch * c * size * size));
    const layer = (out, x, w, b, cin, cout) => {
      for (let n = 0; n < batch; ++n)
        for (let o = 0; o < cout; ++o)
          for (let y = 0; y < size; ++y)
            for (let z = 0; z < size; ++z) {
              let total = b[o];
              for (let c = 0; c < cin; ++c)
                for (let i = 0; i < 3; ++i)
                  for (let j = 0; j < 3; ++j) {
                    const u = y + i - 1,
                      v = z + j - 1;
                    if (u >= 0 && v >= 0 && u < size && v < size)
                      total += x[((n * cin + c) * size + u) * size + v] * w[((o * cin + c) * 3 + i) * 3 + j];
                  }
              out[((n * cout + o) * size + y) * size + z] = Math.max(total, 0);
            }
    };
    return {
      out: layers[1],
      run: () => {
        layer(layers[0], inputs.x, inputs.w0, inputs.b0, 1, 16);
        layer(layers[1], layers[0], inputs.w1, inputs.b1, 16, 32);
      },
    };
  },
  attention({ inputs }) {
    const { heads, length, depth } = kAttention;
    const out = new Float32Array(heads * length * depth),
      scores = new Float32Array(length * length);
    return {
      out,
      run: () => {
        for (let h = 0; h < heads; ++h) {
          const at = h * length * depth;
          for (let i = 0; i < length; ++i)
            for (let j = 0; j < length; ++j) {
              let total = 0;
              for (let p = 0; p < depth; ++p)
                total += inputs.q[at + i * depth + p] * inputs.k[at + j * depth + p];
              scores[i * length + j] = total / Math.sqrt(depth);
            }
          softmaxRows(scores, scores, length, length);
          product(
            out.subarray(at, at + length * depth),
            scores,
            inputs.v.subarray(at, at + length * depth),
            length,
            depth,
            length,
          );
        }
      },
    };
  },
  stateful({ inputs: { x } }) {
    const { steps, width } = kStateful;
    const out = new Float32Array(width);
    return {
      out,
      run: () => {
        const mean = new Float32Array(width),
          history = [],
          cache = new Map();
        for (let s = 0; s < steps; ++s) {
          let total = 0;
          for (let i = 0; i < width; ++i) {
            const y = Math.tanh(x[s * width + i] - mean[i]);
            mean[i] += (x[s * width + i] - mean[i]) / (s + 1);
            total += y * y;
          }
          history.push(s);
          cache.set(s % 16, total);
        }
        out.set(mean);
      },
    };
  },
};

export async function open() {
  return {
    name: "plain JS",
    version: "typed arrays",
    task(spec) {
      const made = tasks[spec.kind]?.(spec);
      return made && { ...sync(made.run), result: () => (made.run(), made.out) };
    },
  };
}

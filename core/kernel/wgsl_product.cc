#include "kernel/wgsl_product.h"

#include <functional>

#include "kernel/wgsl_emit.h"

namespace thirdbook {
namespace {

// Names in the shader, in the order of WgslProductShape.
constexpr const char* kNames[] = {
    "m",        "n",        "k",         "batches",   "a_base",     "a_row",      "a_column",
    "b_base",   "b_row",    "b_column",  "height",    "width",      "window_h",   "window_w",
    "stride_h", "stride_w", "padding_h", "padding_w", "dilation_h", "dilation_w", "out_w"};
constexpr size_t kMatrixNames = 10;

constexpr const char* kMatrixElement = R"(fn b_element(base: u32, row: u32, column: u32) -> f32 {
  return B[base + row * b_row + column * b_column];
}
)";
// Row: channel, y and x inside the window; column: pixel of the result.
constexpr const char* kImageElement = R"(fn b_element(base: u32, row: u32, column: u32) -> f32 {
  let window = window_h * window_w;
  let inside = row % window;
  let y = column / out_w * stride_h + inside / window_w * dilation_h - padding_h;
  let x = column % out_w * stride_w + inside % window_w * dilation_w - padding_w;
  if (y >= height || x >= width) { return 0.0; }
  return B[base + (row / window * height + y) * width + x];
}
)";

// `line` is where row y of the image starts, `inside` whether the image has it.
constexpr const char* kPixel = R"(fn pixel(inside: bool, line: u32, x: u32) -> f32 {
  let there = inside && x < width;
  return select(0.0, B[select(0u, line + x, there)], there);
}
)";

void Replace(std::string* text, const std::string& word, const std::string& with) {
  const auto is_name = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  for (size_t at = text->find(word); at != std::string::npos; at = text->find(word, at)) {
    const bool whole = (at == 0 || !is_name((*text)[at - 1])) &&
                       (at + word.size() == text->size() || !is_name((*text)[at + word.size()]));
    if (whole) text->replace(at, word.size(), with);
    at += whole ? with.size() : word.size();
  }
}

// What is loaded from `array` becomes float32.
void Widen(std::string* text, const std::string& array) {
  const std::string load = array + "[";
  for (size_t at = text->find(load); at != std::string::npos; at = text->find(load, at + 5)) {
    size_t end = at + load.size();
    for (int open = 1; open > 0; ++end) open += (*text)[end] == '[' ? 1 : (*text)[end] == ']' ? -1 : 0;
    text->insert(end, ")");
    text->insert(at, "f32(");
  }
}

// The sums of a square of `edge` elements are stored.
std::string Stores(int edge) {
  const std::string e = std::to_string(edge) + "u";
  return "for (var j = 0u; j < " + std::to_string(edge * edge) +
         "u; j++) {\n"
         "let row = row0 + j / " +
         e + ";\nlet column = column0 + j % " + e +
         ";\nif (row < m && column < n) { finish((batch * m + row) * n + column, sums[j / 4u][j % 4u]); "
         "}\n}\n";
}

// `edge`: of the square of elements that an invocation computes, from row0 and column0 on.
std::string Head(int edge) {
  const std::string e = std::to_string(edge) + "u";
  return R"(@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32) {
let ty = lane / 8u;
let tx = lane % 8u;
let row0 = (group.y * 8u + ty) * )" +
         e + ";\nlet column0 = (group.x * 8u + tx) * " + e + R"(;
for (var batch = group.z; batch < batches; batch += groups.z) {
let a_start = a_base A_OFFSET;
let b_start = b_base B_OFFSET;
)";
}

constexpr const char* kTiled = R"(    let row_tile = group.y * 32u;
    let column_tile = group.x * 32u;
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
    for (var k0 = 0u; k0 < k; k0 += 16u) {
      for (var j = lane; j < 128u; j += 64u) {
        let a_k = k0 + j % 16u;
        let row = row_tile + j / 16u * 4u;
        let b_k = k0 + j / 8u;
        let column = column_tile + j % 8u * 4u;
        var a = vec4<f32>();
        var b = vec4<f32>();
        if (a_k < k) {
          let at = a_start + row * a_row + a_k * a_column;
          if (row < m) { a.x = A[at]; }
          if (row + 1u < m) { a.y = A[at + a_row]; }
          if (row + 2u < m) { a.z = A[at + 2u * a_row]; }
          if (row + 3u < m) { a.w = A[at + 3u * a_row]; }
        }
        if (b_k < k) {
          if (column < n) { b.x = b_element(b_start, b_k, column); }
          if (column + 1u < n) { b.y = b_element(b_start, b_k, column + 1u); }
          if (column + 2u < n) { b.z = b_element(b_start, b_k, column + 2u); }
          if (column + 3u < n) { b.w = b_element(b_start, b_k, column + 3u); }
        }
        a_tile[j % 16u * 8u + j / 16u] = a;
        b_tile[j] = b;
      }
      workgroupBarrier();
      for (var i = 0u; i < 16u; i++) {
        let a = a_tile[i * 8u + ty];
        let b = b_tile[i * 8u + tx];
        s0 += a.x * b;
        s1 += a.y * b;
        s2 += a.z * b;
        s3 += a.w * b;
      }
      workgroupBarrier();
    }
    var sums = array<vec4<f32>, 4>(s0, s1, s2, s3);
)";

// What one invocation computes where nothing is shared: kDirect rows and columns, each element of A and B
// loaded once for as many products.
constexpr int kDirect = 8;

std::string Times(int count, const std::function<std::string(const std::string&)>& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text(std::to_string(i));
  return all;
}

// The statements of one step of k, of which `element(c)` is the element of B in column c.
std::string DirectStep(const std::function<std::string(int)>& element) {
  std::string text;
  for (int v = 0; v < kDirect / 4; ++v) {
    text += "let v" + std::to_string(v) + " = vec4<f32>(";
    for (int c = 0; c < 4; ++c) text += (c ? ", " : "") + element(4 * v + c);
    text += ");\n";
  }
  return text + Times(kDirect, [](const std::string& i) {
           std::string row = "let e" + i + " = A[a" + i + "];\na" + i + " += a_column;\n";
           for (int v = 0; v < kDirect / 4; ++v) {
             const std::string vector = std::to_string(v);
             row += "s" + i + "_" + vector + " += e" + i + " * v" + vector + ";\n";
           }
           return row;
         });
}

// Rows and columns beyond the end are read again from the last one, and not stored.
std::string Direct(bool convolution) {
  std::string text = "if (row0 < m && column0 < n) {\n";
  text += Times(kDirect, [](const std::string& i) {
    return "var a" + i + " = a_start + min(row0 + " + i + "u, m - 1u) * a_row;\n" +
           Times(kDirect / 4,
                 [&](const std::string& v) { return "var s" + i + "_" + v + " = vec4<f32>();\n"; });
  });
  const auto column = [](const std::string& c) { return "min(column0 + " + c + "u, n - 1u)"; };
  if (convolution) {
    text += Times(kDirect, [&](const std::string& c) {
      return "let y" + c + " = " + column(c) + " / out_w * stride_h - padding_h;\nlet x" + c + " = " +
             column(c) + " % out_w * stride_w - padding_w;\n";
    });
    text +=
        "for (var channel = 0u; channel < k / (window_h * window_w); channel++) {\n"
        "let plane = b_start + channel * height * width;\n"
        "for (var dy = 0u; dy < window_h * dilation_h; dy += dilation_h) {\n";
    text += Times(kDirect, [](const std::string& c) {
      return "let line" + c + " = plane + (y" + c + " + dy) * width;\nlet in" + c + " = y" + c +
             " + dy < height;\n";
    });
    text += "for (var dx = 0u; dx < window_w * dilation_w; dx += dilation_w) {\n";
    text += DirectStep([](int c) {
      const std::string n = std::to_string(c);
      return "pixel(in" + n + ", line" + n + ", x" + n + " + dx)";
    });
    text += "}\n}\n}\n";
  } else {
    text += Times(kDirect, [&](const std::string& c) {
      return "var b" + c + " = b_start + " + column(c) + " * b_column;\n";
    });
    text += "for (var i = 0u; i < k; i++) {\n";
    text += DirectStep([](int c) { return "B[b" + std::to_string(c) + "]"; });
    text += Times(kDirect, [](const std::string& c) { return "b" + c + " += b_row;\n"; }) + "}\n";
  }
  text += "var sums = array<vec4<f32>, " + std::to_string(kDirect * kDirect / 4) + ">(";
  for (int i = 0; i < kDirect * kDirect / 4; ++i) {
    text += (i ? ", s" : "s") + std::to_string(4 * i / kDirect) + "_" + std::to_string(i % (kDirect / 4));
  }
  return text + ");\n" + Stores(kDirect) + "}\n";
}

}  // namespace

LoopKernel PlainEpilogue() {
  LoopKernel k;
  k.inner = 1;
  k.buffers = {{DType::kFloat32, false, 1, Walk::kUnit}, {DType::kFloat32, true, 1, Walk::kUnit}};
  k.instrs = {{Prim::k_load, LaneType::kF32}};
  Stage stage;
  stage.element = true;
  stage.body = {0};
  stage.stores = {{0, 1}};
  k.stages = {stage};
  return k;
}

WgslShader EmitWgslProduct(const WgslProductForm& form, const LoopKernel& epilogue,
                           const std::vector<int>& bindings) {
  WgslBody body(epilogue, bindings);
  body.Bind(form.a, DType::kFloat32, form.a_half);
  body.Bind(form.b, DType::kFloat32, form.b_half);
  if (form.batched) body.Bind(form.offsets, DType::kInt32);
  body.Replace(form.product, "product");
  body.Open("fn finish(e: u32, product: f32) {");
  EmitElement(epilogue, "e", &body);
  body.Close();
  const std::string offsets = "g" + std::to_string(form.offsets);
  std::string text;
  if (form.direct)
    text = std::string(form.convolution ? kPixel : "") + Head(kDirect) + Direct(form.convolution) + "}\n}\n";
  else
    text = std::string(form.convolution ? kImageElement : kMatrixElement) + Head(4) + kTiled + Stores(4) +
           "}\n}\n";
  Replace(&text, "A_OFFSET", form.batched ? "+ u32(" + offsets + "[batch * 2u])" : "");
  Replace(&text, "B_OFFSET", form.batched ? "+ u32(" + offsets + "[batch * 2u + 1u])" : "");
  if (form.a_half) Widen(&text, "A");
  if (form.b_half) Widen(&text, "B");
  Replace(&text, "A", "g" + std::to_string(form.a));
  Replace(&text, "B", "g" + std::to_string(form.b));
  const size_t names = form.convolution ? std::size(kNames) : kMatrixNames;
  for (size_t i = 0; i < names; ++i) {
    Replace(&text, kNames[i], body.Cell({WgslCell::Kind::kShape, -1, static_cast<int>(i)}));
  }
  body.Line(text);
  return body.Finish(form.direct ? ""
                                 : "var<workgroup> a_tile: array<vec4<f32>, 128>;\n"
                                   "var<workgroup> b_tile: array<vec4<f32>, 128>;\n");
}

int WgslProductTile(const WgslProductForm& form) { return 8 * (form.direct ? kDirect : 4); }

std::vector<int64_t> WgslProductShape(const ProductShape& s, int64_t a_base, int64_t b_base) {
  const ConvolutionShape& c = s.image;
  return {s.m,         s.n,         s.k,          static_cast<int64_t>(s.a_batch.size()),
          a_base,      s.a_row,     s.a_column,   b_base,
          s.b_row,     s.b_column,  c.height,     c.width,
          c.kernel_h,  c.kernel_w,  c.stride_h,   c.stride_w,
          c.padding_h, c.padding_w, c.dilation_h, c.dilation_w,
          c.out_w};
}

}  // namespace thirdbook

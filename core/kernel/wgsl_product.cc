#include "kernel/wgsl_product.h"

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

constexpr const char* kHead = R"(@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32) {
  let row0 = group.y * 32u;
  let column0 = group.x * 32u;
  let ty = lane / 8u;
  let tx = lane % 8u;
  for (var batch = group.z; batch < batches; batch += groups.z) {
    let a_start = a_base A_OFFSET;
    let b_start = b_base B_OFFSET;
    var s0 = vec4<f32>();
    var s1 = vec4<f32>();
    var s2 = vec4<f32>();
    var s3 = vec4<f32>();
)";

constexpr const char* kTiled = R"(    for (var k0 = 0u; k0 < k; k0 += 16u) {
      for (var j = lane; j < 128u; j += 64u) {
        let a_k = k0 + j % 16u;
        let row = row0 + j / 16u * 4u;
        let b_k = k0 + j / 8u;
        let column = column0 + j % 8u * 4u;
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
)";

// Rows and columns beyond the end are read again from the last one, and not stored.
constexpr const char* kDirect = R"(    let row = vec4<u32>(0u, 1u, 2u, 3u) + row0 + ty * 4u;
    let column = min(vec4<u32>(0u, 1u, 2u, 3u) + column0 + tx * 4u, vec4<u32>(n - 1u));
    let at = a_start + min(row, vec4<u32>(m - 1u)) * a_row;
    for (var i = 0u; i < k; i++) {
      let step = i * a_column;
      let b = vec4<f32>(b_element(b_start, i, column.x), b_element(b_start, i, column.y),
                        b_element(b_start, i, column.z), b_element(b_start, i, column.w));
      s0 += A[at.x + step] * b;
      s1 += A[at.y + step] * b;
      s2 += A[at.z + step] * b;
      s3 += A[at.w + step] * b;
    }
)";

constexpr const char* kTail = R"(    var sums = array<vec4<f32>, 4>(s0, s1, s2, s3);
    for (var j = 0u; j < 16u; j++) {
      let row = row0 + ty * 4u + j / 4u;
      let column = column0 + tx * 4u + j % 4u;
      if (row < m && column < n) { finish((batch * m + row) * n + column, sums[j / 4u][j % 4u]); }
    }
  }
}
)";

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
  body.Bind(form.a, DType::kFloat32);
  body.Bind(form.b, DType::kFloat32);
  if (form.batched) body.Bind(form.offsets, DType::kInt32);
  body.Replace(form.product, "product");
  body.Open("fn finish(e: u32, product: f32) {");
  EmitElement(epilogue, "e", &body);
  body.Close();
  const std::string offsets = "g" + std::to_string(form.offsets);
  std::string text = std::string(form.convolution ? kImageElement : kMatrixElement) + kHead +
                     (form.direct ? kDirect : kTiled) + kTail;
  Replace(&text, "A_OFFSET", form.batched ? "+ u32(" + offsets + "[batch * 2u])" : "");
  Replace(&text, "B_OFFSET", form.batched ? "+ u32(" + offsets + "[batch * 2u + 1u])" : "");
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

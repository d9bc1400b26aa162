// The modules that kernels become: the annotated text of a small one, and, with THIRDBOOK_KERNEL_DUMP=FOLDER,
// files with kernels of random graphs, their memory before and the interpreter's memory after, which
// run_generated.mjs runs in an engine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "graph/passes.h"
#include "kernel/fuse.h"
#include "kernel/loop_interpreter.h"
#include "kernel/lower.h"
#include "kernel/math_expand.h"
#include "kernel/plan.h"
#include "kernel/wasm_emit.h"
#include "kernel/wasm_product.h"
#include "random_graph.h"

namespace thirdbook {
namespace {

TEST(Wasm, TheDumpLabelsEveryByte) {
  LoopKernel k;  // b1 = b0 + b0
  k.name = "twice";
  k.inner = 1;
  k.buffers = {{DType::kFloat32, false, 1, Walk::kUnit}, {DType::kFloat32, true, 1, Walk::kUnit}};
  k.instrs = {{Prim::k_load, LaneType::kF32}, {Prim::k_add, LaneType::kF32, {0, 0, -1, -1}}};
  Stage stage;
  stage.element = true;
  stage.body = {0, 1};
  stage.stores = {{1, 1}};
  k.stages = {stage};
  const FunctionWriter::Module module = EmitWasm(k, {.annotate = true});
  ASSERT_GT(module.bytes.size(), 8u);
  EXPECT_EQ(std::memcmp(module.bytes.data(), "\0asm\1\0\0\0", 8), 0);
  // Every byte appears in the dump once, in order.
  std::string hex;
  for (size_t at = 0; at < module.text.size();) {
    const size_t end = module.text.find('\n', at);
    const std::string line = module.text.substr(at, end - at);
    const size_t bytes = line.find(':') + 1, comment = line.find(" ;");
    for (char c : line.substr(bytes, comment - bytes)) {
      if (c != ' ') hex += c;
    }
    at = end + 1;
  }
  std::string want;
  for (uint8_t b : module.bytes) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", b);
    want += two;
  }
  EXPECT_EQ(hex, want);
  for (const char* text : {"e.m memory", "v128.load align=4 offset=16", "f32x4.add",
                           "v128.store align=4 offset=48", "v128.store32_lane"}) {
    EXPECT_NE(module.text.find(text), std::string::npos) << text << "\n" << module.text;
  }
}

struct Dump {
  std::string folder;
  std::FILE* index = nullptr;
  int count = 0;

  void File(const std::string& name, const void* data, size_t size) const {
    std::FILE* f = std::fopen((folder + "/" + name).c_str(), "wb");
    TB_CHECK(f != nullptr);
    TB_CHECK(std::fwrite(data, 1, size, f) == size);
    std::fclose(f);
  }
};

// Memory of one case: the cells first, then buffers and scratch rows, each with a gap whose bytes must not
// change.
void DumpUnit(Dump& dump, const LoweredUnit& unit, Random& random) {
  const LoopKernel expanded = ExpandMath(unit.kernel);
  constexpr size_t kGap = 64;
  std::vector<Cell> cells(static_cast<size_t>(CellCount(expanded)), 0);
  for (size_t d = 0; d < unit.sizes.size(); ++d)
    cells[static_cast<size_t>(SizeCell(expanded, static_cast<int>(d)))] = unit.sizes[d];
  size_t top = cells.size() * 8 + kGap;
  std::vector<size_t> at, bytes;
  for (size_t b = 0; b < unit.buffers.size(); ++b) {
    int64_t extent = ItemSize(expanded.buffers[b].dtype);
    for (size_t d = 0; d < unit.sizes.size(); ++d) {
      cells[static_cast<size_t>(StrideCell(expanded, static_cast<int>(b), static_cast<int>(d)))] =
          unit.buffers[b].strides[d];
      if (unit.sizes[d] == 0) return;
      extent += (unit.sizes[d] - 1) * unit.buffers[b].strides[d];
    }
    top = (top + 15) / 16 * 16 + kGap;
    at.push_back(top), bytes.push_back(static_cast<size_t>(extent));
    top += static_cast<size_t>(extent) + kGap;
  }
  std::vector<size_t> scratch;
  for (LaneType type : expanded.scratch) {
    top = (top + 15) / 16 * 16;
    scratch.push_back(top);
    top += static_cast<size_t>(unit.RowLength()) * (IsWide(type) ? 8 : 4) + kGap;
  }
  if (top > 1 << 20) return;
  std::vector<uint64_t> memory((top + 7) / 8, 0xabababababababab);
  auto* base = reinterpret_cast<char*>(memory.data());
  for (size_t b = 0; b < unit.buffers.size(); ++b) {
    const DType dtype = expanded.buffers[b].dtype;
    const size_t item = static_cast<size_t>(ItemSize(dtype));
    for (size_t i = 0; i + item <= bytes[b]; i += item) {
      char* p = base + at[b] + i;
      const double value = random.Below(60) == 0 ? NAN : random.Uniform(-3, 3);
      const float f32 = static_cast<float>(value);
      const auto whole = static_cast<int64_t>(std::isnan(value) ? 2 : value * 3);
      switch (dtype) {
        case DType::kFloat32: std::memcpy(p, &f32, 4); break;
        case DType::kFloat64: std::memcpy(p, &value, 8); break;
        case DType::kInt64: std::memcpy(p, &whole, 8); break;
        case DType::kInt32: std::memcpy(p, &whole, 4); break;
        case DType::kUInt8: *p = static_cast<char>(whole); break;
        case DType::kBool: *p = static_cast<char>(random.Below(2)); break;
      }
    }
  }
  std::vector<uint64_t> after = memory;
  auto* real = reinterpret_cast<char*>(after.data());
  std::vector<Cell> pointers = cells;
  for (size_t b = 0; b < at.size(); ++b) {
    cells[b] = static_cast<Cell>(at[b]);
    pointers[b] = reinterpret_cast<Cell>(real + at[b]);
  }
  for (size_t s = 0; s < scratch.size(); ++s) {
    cells[static_cast<size_t>(ScratchCell(expanded, static_cast<int>(s)))] = static_cast<Cell>(scratch[s]);
    pointers[static_cast<size_t>(ScratchCell(expanded, static_cast<int>(s)))] =
        reinterpret_cast<Cell>(real + scratch[s]);
  }
  std::memcpy(base, cells.data(), cells.size() * 8);
  InterpretLoops(expanded, pointers.data());
  std::memcpy(real, cells.data(), cells.size() * 8);
  for (size_t s = 0; s < scratch.size(); ++s) {  // scratch rows may hold anything
    const size_t size = static_cast<size_t>(unit.RowLength()) * (IsWide(expanded.scratch[s]) ? 8 : 4);
    std::memset(real + scratch[s], 0, size);
  }
  const std::string name = "case" + std::to_string(dump.count++);
  const FunctionWriter::Module plain = EmitWasm(expanded, {.annotate = true}),
                               relaxed = EmitWasm(expanded, {.relaxed = true});
  dump.File(name + ".wasm", plain.bytes.data(), plain.bytes.size());
  dump.File(name + ".relaxed.wasm", relaxed.bytes.data(), relaxed.bytes.size());
  dump.File(name + ".before", memory.data(), memory.size() * 8);
  dump.File(name + ".after", after.data(), after.size() * 8);
  const std::string text = Print(unit.kernel) + plain.text;
  dump.File(name + ".txt", text.data(), text.size());
  std::fprintf(dump.index, "{\"name\": \"%s\", \"kernel\": \"%s\", \"buffers\": [", name.c_str(),
               unit.kernel.name.c_str());
  for (size_t b = 0; b < at.size(); ++b) {
    std::fprintf(dump.index, "%s{\"at\": %zu, \"bytes\": %zu, \"dtype\": \"%s\", \"output\": %s}",
                 b ? ", " : "", at[b], bytes[b], std::string(DTypeName(expanded.buffers[b].dtype)).c_str(),
                 expanded.buffers[b].output ? "true" : "false");
  }
  std::fprintf(dump.index, "], \"scratch\": [");
  for (size_t s = 0; s < scratch.size(); ++s) {
    std::fprintf(dump.index, "%s[%zu, %zu]", s ? ", " : "", scratch[s],
                 static_cast<size_t>(unit.RowLength()) * (IsWide(expanded.scratch[s]) ? 8 : 4));
  }
  std::fprintf(dump.index, "]}\n");
}

TEST(Wasm, KernelsOfRandomGraphsAreEmitted) {
  const char* folder = std::getenv("THIRDBOOK_KERNEL_DUMP");
  Dump dump;
  if (folder) {
    dump.folder = folder;
    dump.index = std::fopen((dump.folder + "/index.jsonl").c_str(), "w");
    ASSERT_NE(dump.index, nullptr);
  }
  Random random(99);
  int kernels = 0;
  for (uint64_t seed = 20000; seed < 20400; ++seed) {
    GraphCase c = MakeRandomGraph(seed, 3 + static_cast<int>(seed % 12));
    Optimise(&c.graph);
    std::vector<const TensorMeta*> inputs;
    for (NodeId id : c.graph.inputs()) inputs.push_back(&c.graph.node(id).metas[0]);
    const Result<ValueMetas> metas = InferMetas(c.graph, inputs);
    ASSERT_TRUE(metas.ok());
    for (const Unit& unit : Fuse(c.graph, *metas)) {
      if (!unit.fused) continue;
      std::vector<ValueRef> outputs;
      for (const Member& m : unit.members) outputs.push_back({m.node, 0});
      const Result<LoweredUnit> lowered = Lower(c.graph, *metas, unit, outputs);
      ASSERT_TRUE(lowered.ok());
      EXPECT_EQ(VerifyLoops(ExpandMath(lowered->kernel)), "");
      const size_t size = EmitWasm(ExpandMath(lowered->kernel), {}).bytes.size();
      EXPECT_GT(size, 80u) << Print(lowered->kernel);
      ++kernels;
      if (folder) DumpUnit(dump, *lowered, random);
    }
  }
  EXPECT_GT(kernels, 400);
  if (!folder) return;
  for (int rows = 1; rows <= 4; ++rows) {
    for (bool relaxed : {false, true}) {
      const FunctionWriter::Module m = EmitProduct(rows, relaxed);
      dump.File("product" + std::to_string(rows) + (relaxed ? ".relaxed" : "") + ".wasm", m.bytes.data(),
                m.bytes.size());
    }
  }
  std::fclose(dump.index);
}

}  // namespace
}  // namespace thirdbook

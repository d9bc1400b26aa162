// The file format: round trips, and loaders that survive anything.
#include "graph/serialize.h"

#include "build.h"
#include "tensor/generator.h"

namespace thirdbook {
namespace {

Graph Sample() {
  Build b;
  ValueRef x = b.Input("L['x']", DType::kFloat32, {4, 3});
  ValueRef w = b.graph.AddConstant(FloatTensor({3, 2}, {1, 2, 3, 4, 5, 6}), false);
  ValueRef n = b.graph.AddInput("n", Tensor::WeakInt(0).meta());
  ValueRef y = b.Do(Op::k_add, {b.Do(Op::k_mm, {x, w}), n}, {int64_t{2}});
  ValueRef z = b.Do(Op::k_div, {y, b.Number(0.1)}, {std::string("floor")});
  ValueRef m = b.Do(Op::k_max_dim, {z}, {int64_t{0}, true});
  b.Out({m.node, 1});
  b.Out(b.Do(Op::k_sum, {z}, {Sizes{1}, false, DType::kFloat64}));
  b.Out(b.Do(Op::k_layer_norm, {z, ValueRef{}, ValueRef{}}, {Sizes{2}, 1e-3}));
  return b.graph;
}

TEST(Serialize, RoundTripPrintsAndRunsTheSame) {
  Graph graph = Sample();
  std::vector<uint8_t> bytes = SaveGraph(graph).value();
  Result<Graph> back = LoadGraph(bytes.data(), bytes.size());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(Print(*back), Print(graph));
  EXPECT_EQ(SaveGraph(*back).value(), bytes);
  std::vector<Tensor> in = {FloatTensor({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}), Tensor::WeakInt(3)};
  std::vector<Tensor> a = RunReference(graph, in).value(), c = RunReference(*back, in).value();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(FloatValues(a[i]), FloatValues(c[i]));
}

TEST(Serialize, DtypesDoNotDependOnTheReadersDefault) {
  SetDefaultDType(DType::kFloat64);
  Build b;
  b.Out(b.Do(Op::k_full, {}, {Sizes{2}, 1.0}));
  Result<std::vector<uint8_t>> bytes = SaveGraph(b.graph);
  Build quotient;
  ValueRef m = quotient.Input("n", DType::kInt64, {2});
  quotient.Out(quotient.Do(Op::k_div, {m, m}));
  Result<std::vector<uint8_t>> refused = SaveGraph(quotient.graph);
  EXPECT_EQ(DefaultDType(), DType::kFloat64);
  Result<Graph> under_another = LoadGraph(bytes->data(), bytes->size());
  SetDefaultDType(DType::kFloat32);
  Result<Graph> back = LoadGraph(bytes->data(), bytes->size());
  ASSERT_TRUE(back.ok() && under_another.ok());
  EXPECT_EQ(back->meta(back->outputs()[0]).dtype, DType::kFloat64);
  EXPECT_EQ(under_another->meta(under_another->outputs()[0]).dtype, DType::kFloat64);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(),
            "div has its dtype from a default dtype other than float32, which a file does not know");
}

TEST(Serialize, AFileCutAnywhereIsOneError) {
  std::vector<uint8_t> bytes = SaveGraph(Sample()).value();
  for (size_t size = 0; size < bytes.size(); ++size) {
    std::vector<uint8_t> cut(
        bytes.begin(), bytes.begin() + static_cast<long>(size));  // exact size: ASan sees every read beyond
    Result<Graph> r = LoadGraph(cut.data(), cut.size());
    ASSERT_FALSE(r.ok()) << size;
    EXPECT_EQ(r.status().kind(), ErrorKind::kValue);
  }
  bytes.push_back(0);
  EXPECT_EQ(LoadGraph(bytes.data(), bytes.size()).status().message(),
            "not a usable graph file: bytes after its end");
}

TEST(Serialize, ANewerFileSaysSo) {
  std::vector<uint8_t> bytes = SaveGraph(Sample()).value();
  bytes[8] = 99;
  EXPECT_EQ(LoadGraph(bytes.data(), bytes.size()).status().message(),
            "not a usable graph file: it was written by a newer version (format 99, this one reads up to 1)");
}

TEST(Serialize, DamagedBytesNeverCrash) {
  std::vector<uint8_t> bytes = SaveGraph(Sample()).value();
  Generator random(1);
  int loaded = 0;
  auto attempt = [&](const std::vector<uint8_t>& damaged) {
    Result<Graph> r = LoadGraph(damaged.data(), damaged.size());
    if (!r.ok()) return;
    ++loaded;
    EXPECT_TRUE(Verify(*r).ok());
    Print(*r);
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (uint8_t value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::vector<uint8_t> damaged = bytes;
      damaged[i] = value;
      attempt(damaged);
    }
  }
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> damaged = bytes;
    for (uint32_t hits = 1 + random.Random() % 8; hits > 0; --hits)
      damaged[random.Random() % damaged.size()] = static_cast<uint8_t>(random.Random());
    attempt(damaged);
  }
  EXPECT_GT(loaded, 0);  // some changes only change a name or a number
}

}  // namespace
}  // namespace thirdbook

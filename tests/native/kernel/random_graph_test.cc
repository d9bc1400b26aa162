// The executor against the reference on random graphs: every combination of fusion, lowering, arena and
// epilogues that chance finds.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernel/executable.h"
#include "random_graph.h"

namespace thirdbook {
namespace {

// Comparisons, signs and roundings turn an ulp into a whole number: such graphs are compared only for what
// the executor guarantees when every function is the library's. The test therefore allows a few per cent of
// graphs to differ in a discontinuous way, none in sizes, dtypes or strides.
bool Discontinuous(const Graph& graph) {
  for (const Node& node : graph.nodes()) {
    switch (node.op) {
      case Op::k_floor:
      case Op::k_sign:
      case Op::k_round:
      case Op::k_trunc:
      case Op::k_lt:
      case Op::k_ge:
      case Op::k_eq:
      case Op::k_ne:
      case Op::k_remainder:
      case Op::k_floor_divide:
      case Op::k_isnan:
      case Op::k_isfinite:
      case Op::k_logical_not:
      case Op::k_logical_and:
      case Op::k_logical_or:
      case Op::k_any:
      case Op::k_all:
      case Op::k_to:
      case Op::k_pow:
      case Op::k_reciprocal:
      case Op::k_div:
      case Op::k_rsqrt:
      case Op::k_where:
      case Op::k_log2:
      case Op::k_log1p:
      case Op::k_atan2:
      case Op::k_std:
      case Op::k_sqrt:
      case Op::k_layer_norm:
      case Op::k_exp:
      case Op::k_expm1: return true;
      default: break;
    }
  }
  return false;
}

TEST(RandomGraph, ExecutorAgreesWithReference) {
  const char* text = std::getenv("THIRDBOOK_RANDOM_GRAPHS");
  const int count = text ? std::atoi(text) : 1500;
  const char* start = std::getenv("THIRDBOOK_RANDOM_FIRST");
  const int first = start ? std::atoi(start) : 1;
  int compared = 0, close_calls = 0;
  for (int seed = first; seed < first + count; ++seed) {
    GraphCase c = MakeRandomGraph(static_cast<uint64_t>(seed), 3 + seed % 14);
    ASSERT_TRUE(Verify(c.graph).ok()) << seed;
    const Result<std::vector<Tensor>> want = RunReference(c.graph, c.inputs);
    Result<std::unique_ptr<Executable>> executable = CompileGraph(c.graph, Backend::kWasm);
    ASSERT_TRUE(executable.ok()) << seed << " " << executable.status().message();
    for (int run = 0; run < 2; ++run) {
      const Result<std::vector<Tensor>> got = (*executable)->Run(c.inputs);
      if (!want.ok()) continue;  // an error of the data in a node that nothing needs may go with it
      ASSERT_TRUE(got.ok()) << seed << " " << got.status().message() << "\n"
                            << Print(c.graph) << (*executable)->PlanText();
      ASSERT_EQ(got->size(), want->size());
      for (size_t i = 0; i < want->size(); ++i) {
        const std::string difference = Compare((*got)[i], (*want)[i], 2e-3);
        ++compared;
        if (difference.empty()) continue;
        if (Discontinuous(c.graph) && difference.rfind("element", 0) == 0) {
          ++close_calls;
          if (std::getenv("THIRDBOOK_RANDOM_SHOW")) {
            std::fprintf(stderr, "seed %d output %zu: %s\n%s%s", seed, i, difference.c_str(),
                         Print(c.graph).c_str(), (*executable)->PlanText().c_str());
          }
          continue;
        }
        std::string kernels;
        for (const KernelReport& k : (*executable)->Kernels()) kernels += k.loops;
        FAIL() << "seed " << seed << " output " << i << ": " << difference << "\n"
               << Print(c.graph) << (*executable)->PlanText() << kernels;
      }
    }
  }
  EXPECT_GT(compared, count);
  EXPECT_LT(close_calls, compared / 50);
  std::printf("%d outputs compared, %d differ by a discontinuity\n", compared, close_calls);
}

}  // namespace
}  // namespace thirdbook

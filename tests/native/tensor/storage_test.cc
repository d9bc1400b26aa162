// Storage: alignment, foreign memory, allocation faults; copies into overlapping memory.
#include "make.h"

namespace thirdbook {
namespace {

TEST(Storage, IsAlignedToSixteenBytes) {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{17}, size_t{4096}}) {
    auto storage = Storage::Allocate(bytes);
    ASSERT_NE(storage, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage->data()) % 16, 0u);
    EXPECT_EQ(storage->bytes(), bytes);
  }
}

TEST(Storage, ReleasesForeignMemoryOnceWhenTheLastTensorLetsGo) {
  float memory[4] = {1, 2, 3, 4};
  int released = 0;
  {
    Tensor a(Storage::Wrap(memory, sizeof memory, [&released] { ++released; }),
             ContiguousMeta(DType::kFloat32, {4}));
    Tensor view = Eager(Op::k_slice, {a}, {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{1}});
    a = Tensor();
    EXPECT_EQ(released, 0);
    EXPECT_EQ(Values<float>(view), (std::vector<float>{2, 3}));
  }
  EXPECT_EQ(released, 1);
}

TEST(Storage, AllocationFaultGivesMemoryErrorAndNothingElse) {
  Tensor a = Make<float>({3}, {1, 2, 3});
  for (int countdown = 0; countdown < 2; ++countdown) {
    SetAllocationFault(countdown);
    Result<std::vector<Tensor>> r = Execute(Op::k_clamp, {a, Tensor::WeakFloat(1.5), Tensor()}, {});
    SetAllocationFault(-1);
    ASSERT_FALSE(r.ok());
    EXPECT_EQ(r.status().kind(), ErrorKind::kMemory);
    if (Execute(Op::k_clamp, {a, Tensor::WeakFloat(1.5), Tensor()}, {}).ok() && countdown == 0) break;
  }
  EXPECT_EQ(Values<float>(a), (std::vector<float>{1, 2, 3}));
}

TEST(Storage, EveryAllocationOfAnOpMayFail) {
  Tensor a = Make<int32_t>({2, 3}, {3, 1, 2, 6, 5, 4});
  struct Case {
    Op op;
    std::vector<Tensor> operands;
    Attrs attrs;
  };
  std::vector<Case> cases = {
      {Op::k_sum, {a}, {}},
      {Op::k_roll, {a}, {Sizes{1}, Sizes{}}},
      {Op::k_index_put, {a, Vector<int64_t>({0, 1}), a}, {true}},
      {Op::k_unique, {a}, {true, true, true, None{}}},
      {Op::k_sort, {a}, {}},
      {Op::k_matmul, {a, Eager(Op::k_t, {a})}, {}},
  };
  for (const Case& c : cases) {
    bool done = false;
    for (int countdown = 0; !done; ++countdown) {
      SetAllocationFault(countdown);
      Result<std::vector<Tensor>> r = Execute(c.op, c.operands, c.attrs);
      SetAllocationFault(-1);
      done = r.ok();
      if (!done) {
        EXPECT_EQ(r.status().kind(), ErrorKind::kMemory) << Info(c.op).name << ": " << r.status().message();
      }
      ASSERT_LT(countdown, 100);
    }
  }
}

TEST(Tensor, RefusesSizesThatMemoryCannotHold) {
  Result<Tensor> r = Tensor::Empty(DType::kFloat64, {int64_t{1} << 30, int64_t{1} << 25});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.status().kind(), ErrorKind::kMemory);
  EXPECT_EQ(Tensor::Empty(DType::kFloat32, {-1}).status().kind(), ErrorKind::kRuntime);
  EXPECT_EQ(Tensor::Empty(DType::kFloat32, {int64_t{1} << 40, int64_t{1} << 40}).status().kind(),
            ErrorKind::kRuntime);
}

TEST(CopyInto, ShiftsWithinOneStorage) {
  Tensor a = Make<int64_t>({6}, {0, 1, 2, 3, 4, 5});
  Tensor head = Eager(Op::k_slice, {a}, {int64_t{0}, int64_t{0}, int64_t{5}, int64_t{1}});
  Tensor tail = Eager(Op::k_slice, {a}, {int64_t{0}, int64_t{1}, int64_t{6}, int64_t{1}});
  ASSERT_TRUE(CopyInto(tail, head).ok());
  EXPECT_EQ(Values<int64_t>(a), (std::vector<int64_t>{0, 0, 1, 2, 3, 4}));
  Tensor square = Make<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(CopyInto(square, Eager(Op::k_t, {square})).ok());
  EXPECT_EQ(Values<float>(square), (std::vector<float>{1, 3, 2, 4}));
}

TEST(CopyInto, BroadcastsAndConverts) {
  Tensor a = Make<int32_t>({2, 2}, {0, 0, 0, 0});
  ASSERT_TRUE(CopyInto(a, Vector<float>({1.9f, -2.9f})).ok());
  EXPECT_EQ(Values<int32_t>(a), (std::vector<int32_t>{1, -2, 1, -2}));
  Status s = CopyInto(Vector<float>({1, 2}), a);
  EXPECT_EQ(s.kind(), ErrorKind::kRuntime);
  EXPECT_EQ(s.message(), "output with shape [2] doesn't match the broadcast shape [2, 2]");
}

}  // namespace
}  // namespace thirdbook

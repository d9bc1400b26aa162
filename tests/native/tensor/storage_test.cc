// Storage: alignment, foreign memory, allocation faults; copies into overlapping memory.
#include "make.h"

#include <cstring>
#include <map>

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

// A device as the tests have it: elements by number, and reads that may fail.
struct FakeDevice {
  static inline std::map<int, std::vector<float>> elements;
  static inline bool can_read = true;

  static Status Read(int id, void* to, size_t bytes) {
    if (!can_read) return RuntimeError("cannot wait");
    std::memcpy(to, elements.at(id).data(), bytes);
    return Status::Ok();
  }
  static void Release(int id) { elements.erase(id); }
  static Tensor Put(int id, const std::vector<float>& values) {
    elements[id] = values;
    return Tensor(Storage::OnDevice(id, values.size() * 4),
                  ContiguousMeta(DType::kFloat32, {static_cast<int64_t>(values.size())}, Device::kWebGpu));
  }

  FakeDevice() { SetDeviceAccess({Read, Release}); }
  ~FakeDevice() {
    SetDeviceAccess({});
    elements.clear();
    can_read = true;
  }
};

TEST(Storage, ElementsOnADeviceComeBackWhenSomethingReadsThem) {
  FakeDevice device;
  Tensor a = FakeDevice::Put(7, {1, 2, 3});
  const Tensor view = Eager(Op::k_slice, {a}, {int64_t{0}, int64_t{1}, int64_t{3}, int64_t{1}});
  EXPECT_EQ(a.storage()->device_id(), 7);  // a view touches no element
  const Tensor sum = Eager(Op::k_add, {view, Tensor::WeakInt(1)}, {});
  EXPECT_EQ(a.storage()->device_id(), -1);
  EXPECT_TRUE(FakeDevice::elements.empty());
  EXPECT_EQ(Values<float>(sum), (std::vector<float>{3, 4}));
  EXPECT_EQ(sum.meta().device, Device::kWebGpu);
}

TEST(Storage, WhereTheDeviceCannotBeReadEveryKernelSaysSoAndNothingChanges) {
  FakeDevice device;
  Tensor a = FakeDevice::Put(1, {1, 2, 3}), target = Make<float>({3}, {4, 5, 6});
  FakeDevice::can_read = false;
  EXPECT_EQ(Execute(Op::k_neg, {a}, {}).status().message(), "cannot wait");
  EXPECT_EQ(CopyInto(target, a).message(), "cannot wait");
  EXPECT_EQ(ToContiguous(a, DType::kFloat64).status().message(), "cannot wait");
  EXPECT_EQ(CopyLayout(a).status().message(), "cannot wait");
  EXPECT_EQ(Values<float>(target), (std::vector<float>{4, 5, 6}));
  FakeDevice::can_read = true;
  ASSERT_TRUE(CopyInto(target, a).ok());
  EXPECT_EQ(Values<float>(target), (std::vector<float>{1, 2, 3}));
}

TEST(Storage, MemoryThatOthersSeeDoesNotLeaveForADevice) {
  FakeDevice device;
  Tensor a = Make<float>({2}, {1, 2});
  EXPECT_TRUE(a.storage()->can_leave_memory());
  FakeDevice::elements[3] = {1, 2};
  a.storage()->ToDevice(3);
  FakeDevice::elements[4] = {8, 9};
  a.storage()->ToDevice(4);  // another copy takes its place
  EXPECT_EQ(FakeDevice::elements.count(3), 0u);
  EXPECT_EQ(Values<float>(a), (std::vector<float>{8, 9}));
  a.storage()->SetExported();
  EXPECT_FALSE(a.storage()->can_leave_memory());
  float memory[1];
  EXPECT_FALSE(Storage::Wrap(memory, sizeof memory, nullptr)->can_leave_memory());
}

}  // namespace
}  // namespace thirdbook

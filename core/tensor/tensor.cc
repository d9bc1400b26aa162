// Storage: aligned memory that can fail; tensors of numbers.
#include "tensor/tensor.h"

#include <cstring>

#include "graph/shape.h"

namespace thirdbook {
namespace {

constexpr size_t kAlignment = 16;
int64_t fault_at = -1;
int64_t allocations = 0;
DeviceAccess device_access;

bool FaultStrikes() { return allocations++ == fault_at; }

// The block starts with its own address as malloc gave it, just before the aligned part.
void* AllocateAligned(size_t bytes) {
  size_t total = bytes + kAlignment + sizeof(void*);
  if (total < bytes) return nullptr;
  char* block = static_cast<char*>(std::malloc(total));
  if (!block) return nullptr;
  uintptr_t start = reinterpret_cast<uintptr_t>(block) + sizeof(void*);
  uintptr_t aligned = (start + kAlignment - 1) & ~static_cast<uintptr_t>(kAlignment - 1);
  reinterpret_cast<void**>(aligned)[-1] = block;
  return reinterpret_cast<void*>(aligned);
}

void FreeAligned(void* data) {
  if (data) std::free(static_cast<void**>(data)[-1]);
}

template <typename T>
Tensor Weak(DType dtype, T value) {
  std::shared_ptr<Storage> storage = Storage::Allocate(sizeof(T));
  TB_CHECK(storage != nullptr);
  std::memcpy(storage->data(), &value, sizeof(T));
  TensorMeta meta = ContiguousMeta(dtype, {});
  meta.weak = true;
  return Tensor(std::move(storage), std::move(meta));
}

}  // namespace

void SetAllocationFault(int nth) {
  fault_at = nth;
  allocations = 0;
}
int64_t AllocationCount() { return allocations; }

std::shared_ptr<Storage> Storage::Allocate(size_t bytes) {
  // Numbers (a few bytes) never fail: code that makes one has no way to say so.
  if (bytes > 8 && FaultStrikes()) return nullptr;
  void* data = AllocateAligned(bytes);
  if (!data) return nullptr;
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = data;
  storage->bytes_ = bytes;
  return storage;
}

std::shared_ptr<Storage> Storage::Wrap(void* data, size_t bytes, std::function<void()> release) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->release_ = release ? std::move(release) : [] {};
  return storage;
}

std::shared_ptr<Storage> Storage::OnDevice(int id, size_t bytes) {
  std::shared_ptr<Storage> storage(new Storage());
  storage->device_id_ = id;
  storage->bytes_ = bytes;
  return storage;
}

Status Storage::ToHost() {
  if (device_id_ < 0) return Status::Ok();
  void* data = AllocateAligned(bytes_);
  if (!data) return MemoryError("out of memory for the elements of a tensor on the GPU");
  const int id = device_id_;
  const Status status = device_access.read(id, data, bytes_);
  if (!status.ok() || device_id_ != id) {  // while it waited, another task may have brought them back
    FreeAligned(data);
    return status.ok() ? ToHost() : status;
  }
  device_access.release(device_id_);
  device_id_ = -1;
  data_ = data;
  return status;
}

void Storage::ToDevice(int id) {
  if (device_id_ >= 0) {
    device_access.release(device_id_);
  } else {
    TB_CHECK(can_leave_memory());
    FreeAligned(data_);
    data_ = nullptr;
  }
  device_id_ = id;
}

// Memory that was read without asking for ToHost() first: our own bug where that could have failed.
void* Storage::Fetched() const {
  const Status status = const_cast<Storage*>(this)->ToHost();
  TB_CHECK(status.ok());
  return data_;
}

void SetDeviceAccess(const DeviceAccess& access) { device_access = access; }

Storage::~Storage() {
  if (device_id_ >= 0) device_access.release(device_id_);
  if (release_)
    release_();
  else
    FreeAligned(data_);
}

Result<Tensor> Tensor::Empty(DType dtype, Sizes sizes) {
  TB_ASSIGN_OR_RETURN(int64_t numel, CheckedNumel(sizes));
  constexpr uint64_t kLimit =
      SIZE_MAX / 2 < (uint64_t{1} << 39) ? SIZE_MAX / 2 : uint64_t{1} << 39;  // more is a mistake
  uint64_t bytes = static_cast<uint64_t>(numel) * static_cast<uint64_t>(ItemSize(dtype));
  std::shared_ptr<Storage> storage = bytes < kLimit ? Storage::Allocate(static_cast<size_t>(bytes)) : nullptr;
  if (!storage) {
    return MemoryError(
        Format("not enough memory: tried to allocate %llu bytes", static_cast<unsigned long long>(bytes)));
  }
  return Tensor(std::move(storage), ContiguousMeta(dtype, std::move(sizes)));
}

Tensor Tensor::WeakInt(int64_t value) { return Weak(DType::kInt64, value); }
Tensor Tensor::WeakFloat(double value) { return Weak(DType::kFloat64, value); }
Tensor Tensor::WeakBool(bool value) { return Weak(DType::kBool, value); }

}  // namespace thirdbook

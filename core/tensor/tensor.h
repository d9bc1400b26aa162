// A strided tensor over a reference-counted storage; what eager calls compute on and graphs take and give.
//
// Invariant: every element that (sizes, strides, offset) reach lies inside the storage. Copying a Tensor
// shares the storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.h"
#include "graph/meta.h"

namespace thirdbook {

// Memory of a tensor. `owner` keeps foreign memory alive (a NumPy array, a buffer); otherwise the storage
// owns it.
//
// Elements may also be on a device, where the host knows them by a number: they are in one place or the
// other,
//
//   in memory ── ToDevice(id) ──▶ on the device (data() is null)
//      ▲                               │
//      └──────────── ToHost() ─────────┘
//
// and whatever reads memory asks for ToHost() first: the kernels' door (Execute), copies, plans, and the
// edges of Python.
class Storage {
 public:
  // Uninitialised memory, aligned to 16 bytes; nullptr when the allocation fails (or fault injection says
  // so).
  static std::shared_ptr<Storage> Allocate(size_t bytes);
  // Foreign memory; `release` runs once when the last tensor lets go.
  static std::shared_ptr<Storage> Wrap(void* data, size_t bytes, std::function<void()> release);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  void* data() const { return device_id_ < 0 ? data_ : Fetched(); }
  size_t bytes() const { return bytes_; }

  static std::shared_ptr<Storage> OnDevice(int id, size_t bytes);
  int device_id() const { return device_id_; }  // -1: in memory
  // RuntimeError where nothing here can wait for the device; MemoryError.
  Status ToHost();
  // The device has these elements now, as `id`; the memory is freed.
  void ToDevice(int id);
  // Foreign memory, and memory that others see (a buffer export), stays where it is.
  bool can_leave_memory() const { return !release_ && !exported_; }
  void SetExported() { exported_ = true; }

 private:
  void* Fetched() const;
  Storage() = default;
  void* data_ = nullptr;
  size_t bytes_ = 0;
  int device_id_ = -1;
  bool exported_ = false;
  std::function<void()> release_;
};

// How the host reaches the device: `read` writes `bytes` bytes to `to` and keeps the device's copy.
struct DeviceAccess {
  Status (*read)(int id, void* to, size_t bytes) = nullptr;
  void (*release)(int id) = nullptr;
};
void SetDeviceAccess(const DeviceAccess& access);

// Fault injection for tests: of the allocations counted from now, the one with index `nth` fails, once; a
// negative number switches it off. Numbers (8 bytes or less) are not counted: they never fail.
// AllocationCount tells how many there were since.
void SetAllocationFault(int nth);
int64_t AllocationCount();

class Tensor {
 public:
  Tensor() = default;  // undefined
  Tensor(std::shared_ptr<Storage> storage, TensorMeta meta)
      : storage_(std::move(storage)), meta_(std::move(meta)) {}
  // Uninitialised contiguous tensor.
  static Result<Tensor> Empty(DType dtype, Sizes sizes);
  // A 0-d tensor of a Python number; weak for promotion.
  static Tensor WeakInt(int64_t value);
  static Tensor WeakFloat(double value);
  static Tensor WeakBool(bool value);

  bool defined() const { return storage_ != nullptr; }
  const TensorMeta& meta() const { return meta_; }
  DType dtype() const { return meta_.dtype; }
  const Sizes& sizes() const { return meta_.sizes; }
  const std::shared_ptr<Storage>& storage() const { return storage_; }
  // Address of the first element.
  template <typename T = void>
  T* data() const {
    return reinterpret_cast<T*>(static_cast<char*>(storage_->data()) + meta_.offset * ItemSize(meta_.dtype));
  }
  // Elements that are on a device come back; see Storage.
  Status ToHost() const { return storage_ && storage_->device_id() >= 0 ? storage_->ToHost() : Status::Ok(); }
  // Same storage, other view; the caller guarantees the invariant above.
  Tensor WithMeta(TensorMeta meta) const { return Tensor(storage_, std::move(meta)); }

 private:
  std::shared_ptr<Storage> storage_;
  TensorMeta meta_;
};

}  // namespace thirdbook

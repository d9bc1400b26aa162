// Status and Result: how the core reports bad input without C++ exceptions.
//
// In: an error kind (named after the Python exception that the edge raises) and one sentence.
// Out: a must-use value; the C API edge turns it into an exception.
// Invariant: an ok Status carries no message; a failed CHECK is Thirdbook's own bug, never the user's.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace thirdbook {

enum class ErrorKind : unsigned char { kOk, kRuntime, kType, kValue, kIndex, kNotImplemented, kMemory };

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  static Status Ok() { return Status(); }
  bool ok() const { return kind_ == ErrorKind::kOk; }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

 private:
  ErrorKind kind_ = ErrorKind::kOk;
  std::string message_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

inline Status RuntimeError(std::string m) { return {ErrorKind::kRuntime, std::move(m)}; }
inline Status TypeError(std::string m) { return {ErrorKind::kType, std::move(m)}; }
inline Status ValueError(std::string m) { return {ErrorKind::kValue, std::move(m)}; }
inline Status IndexError(std::string m) { return {ErrorKind::kIndex, std::move(m)}; }
inline Status NotImplementedError(std::string m) { return {ErrorKind::kNotImplemented, std::move(m)}; }
inline Status MemoryError(std::string m) { return {ErrorKind::kMemory, std::move(m)}; }

}  // namespace thirdbook

#define TB_CONCAT_INNER(a, b) a##b
#define TB_CONCAT(a, b) TB_CONCAT_INNER(a, b)

// Evaluates an expression that gives a Status and returns it from the enclosing function when it is not ok.
#define TB_RETURN_IF_ERROR(expr)             \
  do {                                       \
    ::thirdbook::Status tb_status_ = (expr); \
    if (!tb_status_.ok()) return tb_status_; \
  } while (0)

// Evaluates an expression that gives a Result, returns its Status on failure, else binds its value.
#define TB_ASSIGN_OR_RETURN(lhs, expr) TB_ASSIGN_OR_RETURN_INNER(TB_CONCAT(tb_result_, __LINE__), lhs, expr)
#define TB_ASSIGN_OR_RETURN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                              \
  if (!tmp.ok()) return tmp.status();             \
  lhs = std::move(tmp.value())

// A broken invariant of our own: prints where and stops.
#define TB_CHECK(cond)                                                                          \
  do {                                                                                          \
    if (!(cond)) {                                                                              \
      std::fprintf(stderr, "thirdbook: CHECK failed: %s (%s:%d)\n", #cond, __FILE__, __LINE__); \
      std::abort();                                                                             \
    }                                                                                           \
  } while (0)

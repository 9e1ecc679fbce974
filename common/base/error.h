// Errors, in one table: each row gives the enum, the name that counters and messages use, PostgreSQL's
// SQLSTATE, and whether the server may retry the whole transaction by itself. A row exists only where
// somebody can react to it. Functions that can fail return Status or Result<T>; nothing throws.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/check.h"

namespace namdb {

enum class ErrorCode : std::uint8_t {
#define NAMDB_ERROR(code, sqlstate, retry) code,
#include "common/base/error_table.inc"
#undef NAMDB_ERROR
};

struct ErrorInfo {
  ErrorCode code;
  std::string_view name;
  std::string_view sqlstate;
  bool retry;  // the same transaction, run again, may well succeed
};

const ErrorInfo& error_info(ErrorCode code);
std::span<const ErrorInfo> error_table();
// The code of that name, for wire messages; nullopt for a name that this version does not know.
std::optional<ErrorCode> error_code_from_name(std::string_view name);

// Success, or an error with a message for people. One pointer wide; success allocates nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  // Cold: the compiler takes each way to it for an unlikely one, and keeps its code apart from the others'.
  [[gnu::cold]] Status(ErrorCode code, std::string message, std::string hint = {});
  Status(Status&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    if (this == &other) return *this;
    reset();
    error_ = std::exchange(other.error_, nullptr);
    return *this;
  }
  Status(const Status& other) : error_(copy_of(other.error_)) {}
  Status& operator=(const Status& other) {
    if (this != &other) *this = Status(other);
    return *this;
  }
  ~Status() { reset(); }

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  // The rest needs !ok().
  ErrorCode code() const { return payload().code; }
  const std::string& message() const { return payload().message; }
  const std::string& hint() const { return payload().hint; }
  const ErrorInfo& info() const { return error_info(code()); }
  // "name: message (hint)", or "ok".
  std::string to_string() const;

 private:
  struct Payload {
    ErrorCode code;
    std::string message;
    std::string hint;
  };
  const Payload& payload() const {
    NAMDB_CHECK(error_ != nullptr);
    return *error_;
  }
  // Likewise apart, so that success is little code.
  void reset() noexcept {
    if (error_ != nullptr) destroy(std::exchange(error_, nullptr));
  }
  static Payload* copy_of(const Payload* error) { return error == nullptr ? nullptr : copy(*error); }
  [[gnu::cold]] static Payload* copy(const Payload& error);
  [[gnu::cold]] static void destroy(Payload* error) noexcept;

  Payload* error_ = nullptr;
};

// A value or a Status that is not ok.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) { NAMDB_CHECK(!status_.ok()); }
  Result(ErrorCode code, std::string message, std::string hint = {})
      : status_(code, std::move(message), std::move(hint)) {}

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }
  T& value() & {
    NAMDB_CHECK(ok());
    return *value_;
  }
  const T& value() const& {
    NAMDB_CHECK(ok());
    return *value_;
  }
  T&& value() && {
    NAMDB_CHECK(ok());
    return std::move(*value_);
  }
  T& operator*() { return value(); }
  const T& operator*() const { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace namdb

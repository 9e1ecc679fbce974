// Errors, in one table: each row gives the enum, the name that counters and messages use, PostgreSQL's
// SQLSTATE, and whether the server may retry the whole transaction by itself. A row exists only where a
// caller or a client can react to it. Functions that can fail return Status or Result<T>; nothing throws.
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
  Status(ErrorCode code, std::string message, std::string hint = {})
      : error_(std::make_unique<Payload>(Payload{code, std::move(message), std::move(hint)})) {}
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other) : error_(other.error_ ? std::make_unique<Payload>(*other.error_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) error_ = other.error_ ? std::make_unique<Payload>(*other.error_) : nullptr;
    return *this;
  }

  bool ok() const { return error_ == nullptr; }
  explicit operator bool() const { return ok(); }
  // The same error with a DETAIL, which clients are told beside the message. Needs !ok().
  Status with_detail(std::string detail) && {
    NAMDB_CHECK(error_ != nullptr);
    error_->detail = std::move(detail);
    return std::move(*this);
  }
  // The rest needs !ok().
  ErrorCode code() const { return payload().code; }
  const std::string& message() const { return payload().message; }
  const std::string& hint() const { return payload().hint; }
  const std::string& detail() const { return payload().detail; }
  const ErrorInfo& info() const { return error_info(code()); }
  // "name: message (hint)", or "ok".
  std::string to_string() const;

 private:
  struct Payload {
    ErrorCode code;
    std::string message;
    std::string hint;
    std::string detail = {};
  };
  const Payload& payload() const {
    NAMDB_CHECK(error_ != nullptr);
    return *error_;
  }
  std::unique_ptr<Payload> error_;
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

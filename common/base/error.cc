#include "common/base/error.h"

#include <array>

namespace namdb {
namespace {

constexpr std::array kTable = {
#define NAMDB_ERROR(code, sqlstate, retry) ErrorInfo{ErrorCode::code, #code, sqlstate, retry},
#include "common/base/error_table.inc"
#undef NAMDB_ERROR
};

}  // namespace

const ErrorInfo& error_info(ErrorCode code) {
  return kTable.at(static_cast<std::size_t>(code));
}

std::span<const ErrorInfo> error_table() {
  return kTable;
}

std::optional<ErrorCode> error_code_from_name(std::string_view name) {
  for (const ErrorInfo& info : kTable) {
    if (info.name == name) return info.code;
  }
  return std::nullopt;
}

Status::Status(ErrorCode code, std::string message, std::string hint)
    : error_(new Payload{code, std::move(message), std::move(hint)}) {}

Status::Payload* Status::copy(const Payload& error) {
  return new Payload(error);
}

void Status::destroy(Payload* error) noexcept {
  delete error;
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  std::string text = std::string(info().name) + ": " + message();
  if (!hint().empty()) text += " (" + hint() + ")";
  return text;
}

}  // namespace namdb

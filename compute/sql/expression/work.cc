#include "compute/sql/expression/work.h"

#include <string>
#include <utility>

namespace namdb::sql {

Status Work::pause() {
  paused_ = true;
  return Status(ErrorCode::limit_exceeded, "an expression takes too long to be evaluated here");
}

void Work::wait_for(const Expr& call, std::vector<Datum> arguments) {
  paused_ = true;
  call_ = &call;
  arguments_ = std::move(arguments);
}

Status Work::wait_for_catalog() {
  paused_ = true;
  waits_for_catalog_ = true;
  // The statement's error where no coroutine can read it.
  return Status(ErrorCode::feature_not_supported, "the catalog cannot be read in this place");
}

Status Work::wait_for_long_values(LongValues& values) {
  paused_ = true;
  long_values_ = &values;
  // The statement's error where no coroutine can read them.
  return Status(ErrorCode::feature_not_supported, "a long value cannot be read in this place");
}

Status check_text_bytes(std::size_t bytes) {
  if (bytes <= kMaxText_bytes) return {};
  return Status(ErrorCode::limit_exceeded,
                "a string can have at most " + std::to_string(kMaxText_bytes) + " bytes");
}

Status check_array_bytes(std::size_t bytes) {
  if (bytes <= kMaxText_bytes) return {};
  return Status(ErrorCode::limit_exceeded,
                "an array can have at most " + std::to_string(kMaxText_bytes) + " bytes");
}

const Work::Memory* Work::find(const Expr& expr) const {
  if (!remembers_) return nullptr;
  const auto found = memories_.find(&expr);
  return found == memories_.end() ? nullptr : &found->second;
}

}  // namespace namdb::sql

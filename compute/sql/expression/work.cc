#include "compute/sql/expression/work.h"

namespace namdb::sql {

Status Work::pause() {
  paused_ = true;
  return Status(ErrorCode::limit_exceeded, "an expression takes too long to be evaluated here");
}

void Work::wait_for(const Expr& call, const Datum& argument) {
  paused_ = true;
  call_ = &call;
  argument_ = argument;
}

const Work::Memory* Work::find(const Expr& expr) const {
  if (!remembers_) return nullptr;
  const auto found = memories_.find(&expr);
  return found == memories_.end() ? nullptr : &found->second;
}

}  // namespace namdb::sql

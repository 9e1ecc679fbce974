#include "compute/sql/expression/work.h"

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

const Work::Memory* Work::find(const Expr& expr) const {
  if (!remembers_) return nullptr;
  const auto found = memories_.find(&expr);
  return found == memories_.end() ? nullptr : &found->second;
}

}  // namespace namdb::sql

#include "compute/sql/expression/work.h"

#include <string>

#include "compute/sql/expression/expression.h"
#include "compute/sql/expression/function.h"

namespace namdb::sql {

Status Work::pause() {
  paused_ = true;
  return Status(ErrorCode::limit_exceeded, "an expression takes too long to be evaluated here");
}

Status Work::wait_for(const Expr& call, const Datum& argument) {
  paused_ = true;
  call_ = &call;
  argument_ = argument;
  return Status(ErrorCode::feature_not_supported,
                "function " + std::string(call.function->name) + " cannot be called here");
}

const Work::Memory* Work::find(const Expr& expr) const {
  if (!remembers_) return nullptr;
  const auto found = memories_.find(&expr);
  return found == memories_.end() ? nullptr : &found->second;
}

}  // namespace namdb::sql

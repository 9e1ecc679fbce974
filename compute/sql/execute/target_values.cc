#include "compute/sql/execute/target_values.h"

#include <string>

namespace namdb::sql {

Status check_row_bytes(const Datum& value, std::size_t& bytes) {
  if (!value.null) bytes += value.text.size();
  if (bytes <= kMaxText_bytes) return {};
  return Status(ErrorCode::limit_exceeded,
                "the strings of a row can have at most " + std::to_string(kMaxText_bytes) + " bytes");
}

Status evaluate_targets(const SelectPlan& plan, const EvalContext& context, std::span<Datum> values,
                        std::size_t& bytes) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (Status status = evaluate(*plan.targets[i], context, values[i]); !status.ok()) return status;
    if (Status status = check_row_bytes(values[i], bytes); !status.ok()) return status;
  }
  return {};
}

}  // namespace namdb::sql

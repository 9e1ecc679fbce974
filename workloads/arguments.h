// Checks that every procedure makes before it uses its arguments.
#pragma once

#include "compute/procedure/procedure.h"

namespace namdb::workloads {

// None of the workloads' procedures has a meaning for NULL.
inline Status require_arguments(const procedure::Context& context) {
  for (std::size_t i = 0; i < context.arguments().size(); ++i) {
    if (context.is_null(i)) {
      return procedure::abort_with("argument " + std::to_string(i + 1) + " must not be NULL");
    }
  }
  return {};
}

}  // namespace namdb::workloads

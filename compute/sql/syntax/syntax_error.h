// The error of a text that is not a sequence of statements.
#pragma once

#include <cstdint>

#include "common/base/error.h"

namespace namdb::sql {

struct SyntaxError {
  Status status;
  std::uint32_t position = 0;  // in characters from 1; 0: unknown
};

}  // namespace namdb::sql

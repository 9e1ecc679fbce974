// The memory that a plan keeps, in bytes, about: its expressions, names and lists, with the allocator's
// overhead. Tables and procedures, which it shares with others, do not count.
#pragma once

#include <cstddef>

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

std::size_t memory_bytes(const Plan& plan);

}  // namespace namdb::sql

// A table of the rows 0, 1, ..., value 0, for tests of what a transaction costs.
#pragma once

#include <cstdint>

#include "compute/api/engine.h"

namespace namdb::sim {

inline constexpr const char* kPairs = "pairs";

// Creates and fills it, so many rows in a transaction.
reactor::Task<Status> load_pairs(txn::Engine* engine, std::int64_t rows, std::int64_t at_once = 1'000);

}  // namespace namdb::sim

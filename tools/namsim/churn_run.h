// Rows come and go while the collector reclaims them and hands their memory out again. Each key has a
// companion row that is never deleted and that says, in the same transactions, whether the key is there and
// with which value: every snapshot must show the two in agreement.
#pragma once

#include <cstdint>
#include <string>

#include "common/layout/schema.h"
#include "tools/namsim/interposer.h"

namespace namdb::sim {

struct ChurnVerdict {
  std::string anomaly;  // empty: the run was as it must be
  std::uint64_t committed = 0;
  std::uint64_t reclaimed = 0;  // records
};

// Of the rows and of their companions.
layout::Schema churn_schema();

ChurnVerdict run_churn(std::uint64_t seed, Interposer* interposer = nullptr);

}  // namespace namdb::sim

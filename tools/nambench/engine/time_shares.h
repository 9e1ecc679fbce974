// The time of the mean transaction in parts, as in the latency breakdowns of DrTM+H (Figure 15) and RCC
// (Figure 13): the stages, other waits, computation, and the rest.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compute/cluster/stage_times.h"
#include "tools/support/report/run_report.h"

namespace namdb::nambench {

// In the order of a transaction. The last is what nothing else accounts for: the procedure's and the engine's
// own computing, and turns of others. Of types whose metrics have time_ns (engine_call.h).
std::vector<support::TimeShare> time_shares(const txn::StageTimes& times,
                                            std::span<const support::TypeReport> types);

}  // namespace namdb::nambench

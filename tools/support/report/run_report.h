// The results of a run, as JSON and as tables for people.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/support/client/database_view.h"
#include "tools/support/report/histogram.h"

namespace namdb::support {

// The servers' counters for one transaction type: their differences over the whole run, warm-up included.
using ServerMetrics = std::map<std::string, std::int64_t>;

struct TypeReport {
  std::string name;
  std::string procedure;
  // Within the measured window.
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;  // rolled back: by the procedure, or by conflicts until the retries ran out
  std::uint64_t failed = 0;   // other errors
  Histogram latency;          // of all three
  ServerMetrics server;
};

// A part of what the mean transaction took from its call to its end, all attempts included; the last of them
// is the rest.
inline constexpr const char* kRestOfTime = "other";
struct TimeShare {
  std::string name;
  double us = 0;
  double round_trips = 0;
  double times = 0;  // how often it was waited for
};

// The calls that ended in one second of a run.
struct TimelineSecond {
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;
  std::uint64_t failed = 0;
};

struct RunReport {
  std::string workload;
  std::string population;
  std::string mode;  // "wire" or "engine"
  std::uint64_t clients = 0;
  std::uint64_t pipeline = 1;
  std::uint64_t seed = 0;
  double warmup_seconds = 0;
  double seconds = 0;  // measured
  // Engine mode: the processor time of the worker's thread for one transaction, warm-up included; 0: unknown.
  // On a machine with other work it says more than a rate.
  double processor_us = 0;
  std::vector<TypeReport> types;
  std::vector<TimeShare> time_shares;            // engine mode, if asked for; they add up
  std::map<std::string, std::uint64_t> reasons;  // errors and aborts: SQLSTATE and what it says
  std::vector<CheckResult> checks;
  std::vector<std::string> notes;
  // The seconds since the run began, the warm-up included. The last one may be cut short.
  std::vector<TimelineSecond> timeline;
  std::uint64_t begin_ns = 0;  // steady_now_ns() when it began
  // Of all calls, and of all calls and their results; sums over clients. The first is decided by seed and
  // number of transactions, the second also when there is but one client and nothing in the pipeline.
  std::uint64_t request_hash = 0;
  std::uint64_t result_hash = 0;

  std::uint64_t committed() const;
  std::uint64_t aborted() const;
  std::uint64_t failed() const;
  Histogram latency() const;  // of all types
  bool checks_ok() const;
};

nlohmann::ordered_json to_json(const RunReport& report);
std::string to_text(const RunReport& report);

// "1f" with sixteen digits.
std::string hash_text(std::uint64_t hash);

}  // namespace namdb::support

// Holds a history against an isolation level.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/namsim/history/anomaly.h"
#include "tools/namsim/history/history.h"

namespace namdb::history {

struct CheckOptions {
  Level level = strict_snapshot_isolation();
  // Reads of aborted and unknown transactions must have been consistent, too: clients saw them. The levels'
  // definitions do not require this; namdb keeps it, since every transaction reads from one snapshot.
  bool all_reads = false;
};

struct Report {
  std::vector<Anomaly> anomalies;  // that the level forbids, worst first; of each kind only some
  std::uint64_t transactions = 0;
  std::uint64_t committed = 0;
  std::uint64_t aborted = 0;
  std::uint64_t unknown = 0;
  std::uint64_t operations = 0;
  std::uint64_t edges = 0;
  // There are cycles whose kind was not determined within the bound of work; only at
  // parallel-snapshot-isolation may an anomaly have been missed.
  bool search_cut_short = false;

  bool ok() const { return anomalies.empty() && !search_cut_short; }
};

Report check(const History& history, const CheckOptions& options);

// Several lines: name and sentence, then the edges of the cycle. No line feed at the end.
std::string to_text(const Anomaly& anomaly, const History& history);
// Empty if the report is ok; otherwise the first anomaly as text.
std::string first_anomaly(const Report& report, const History& history);

}  // namespace namdb::history

// The versions of a history: their writers, the order in which they displaced each other, and their readers.
// Also the anomalies that need no graph: reads of versions that no transaction wrote, or only an aborted or
// unfinished one; writes that their own transaction does not see; versions that exist twice; forked orders.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/namsim/history/anomaly.h"
#include "tools/namsim/history/history.h"

namespace namdb::history {

inline constexpr std::uint32_t kNobody = ~std::uint32_t{0};  // the writer of initial versions

struct VersionEntry {
  Key key = 0;
  Version version = 0;
  std::uint32_t writer = kNobody;
  // Replaced by its own writer.
  bool intermediate = false;
  // Transactions that displaced it. More than one: for a register, the order forks (a lost update); for the
  // last element that was read of a list, the appends behind it, whose order is unknown.
  std::vector<std::uint32_t> next;
};

struct ReadEntry {
  std::uint32_t transaction = 0;
  std::uint32_t entry = 0;      // in Versions::entries
  std::uint32_t operation = 0;  // of the transaction
};

struct Versions {
  std::vector<VersionEntry> entries;
  // Reads of other transactions' versions, by transactions that take part.
  std::vector<ReadEntry> reads;
  // By transaction. Effective: committed, or of unknown outcome and a write of it was read.
  std::vector<bool> effective;
  // Effective, or its reads count although its writes do not.
  std::vector<bool> takes_part;
  std::vector<Anomaly> anomalies;
};

// `all_reads`: reads of aborted and unknown transactions must be consistent, too.
Versions find_versions(const History& history, bool all_reads);

}  // namespace namdb::history

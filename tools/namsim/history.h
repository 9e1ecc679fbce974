// The history of a run, and the check that it is snapshot isolated.
//
// Every transaction reads versions of keys and writes new ones; a version is named by a number that is unique
// in the history, and a writer records which version it displaced, so that the order of each key's versions
// is known. With D = session order, real-time order, write-read and write-write dependencies, and RW =
// anti-dependencies, the history is snapshot isolated if and only if D followed by at most one RW has no
// cycle (Cerone and Gotsman's characterisation; real-time order makes it strict). That excludes dirty reads,
// lost updates, read skew and long forks; write skew is allowed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace namdb::sim {

using Version = std::uint64_t;  // 0 = the version that the load wrote

struct HistoryTransaction {
  enum class Outcome : std::uint8_t { committed, aborted, unknown };
  std::uint64_t session = 0;
  std::uint64_t began_ns = 0;  // world time: before the first read was asked for
  std::uint64_t ended_ns = 0;  // after the outcome was known; ~0 while unknown
  Outcome outcome = Outcome::unknown;
  std::map<std::uint64_t, Version> reads;   // key -> version
  std::map<std::uint64_t, Version> writes;  // key -> version; the displaced one is in reads
};

class History {
 public:
  Version next_version() { return ++versions_; }
  // Its position.
  std::size_t add(HistoryTransaction transaction) {
    transactions_.push_back(std::move(transaction));
    return transactions_.size() - 1;
  }
  HistoryTransaction& at(std::size_t position) { return transactions_[position]; }
  const std::vector<HistoryTransaction>& transactions() const { return transactions_; }

  // A sentence that names an anomaly and its transactions, or nothing.
  std::optional<std::string> check() const;

 private:
  std::vector<HistoryTransaction> transactions_;
  Version versions_ = 0;
};

}  // namespace namdb::sim

// Costs and outcomes of transactions by type: the name of a CALLed procedure, the kind of a single statement
// ("SELECT", "UPDATE", ...), or "block" for BEGIN ... COMMIT. Read through the virtual table
// namdb_statistics, over all workers of this compute server.
//
// Threads: an entry has one writer, the worker that asked for it, and any readers. Entries live as long as
// the statistics.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/counters.h"
#include "common/reactor/turn_times.h"
#include "compute/sql/system/memory_budget.h"

namespace namdb::sql {

// Whether the server tries the transaction again after an attempt.
enum class Attempt : std::uint8_t { last, tried_again };

class TransactionStatistics {
 public:
  explicit TransactionStatistics(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

  // One attempt has ended with that status.
  void count_attempt(const Status& status, Attempt attempt, const fabric::OperationCounters& cost);

 private:
  friend class Statistics;
  static constexpr std::size_t kCostFields = sizeof(fabric::OperationCounters) / sizeof(std::uint64_t);
  static constexpr std::size_t kReasons = 256;  // ErrorCode is one byte
  using Counter = std::atomic<std::uint64_t>;
  static void add(Counter& counter, std::uint64_t amount) {
    // The one writer needs no atomic addition.
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  std::string name_;
  Counter transactions_{0};  // ended in a commit or an abort
  Counter commits_{0};
  Counter retries_{0};
  std::array<Counter, kCostFields> cost_{};
  std::array<Counter, kReasons> aborts_{};  // attempts that ended in an error, by ErrorCode
};

class Statistics {
 public:
  struct Row {
    std::string name;
    std::string metric;
    std::uint64_t value = 0;
  };

  // Makes an entry for one worker; several entries of one name are added up when they are read.
  TransactionStatistics& add(std::string name);
  // Adds a part, "memory", to rows(): the memory that the server keeps for clients. Called before there
  // are other threads.
  void add_memory(const MemoryBudget& client_memory) { client_memory_ = &client_memory; }
  // Adds a part "reactor" to rows(), for one worker's turns; those of several workers are put together.
  reactor::TurnTimes& add_turns();
  // Rows in the order of names; metrics in a fixed order, aborts by reason only where there were any.
  std::vector<Row> rows() const;

 private:
  void add_turns_to(std::vector<Row>& rows) const;

  mutable std::mutex mutex_;  // lint: allow banned: shared by the workers' threads; held to add or read
  std::deque<TransactionStatistics> entries_;
  std::deque<reactor::TurnTimes> turns_;
  const MemoryBudget* client_memory_ = nullptr;
};

// One worker's entries by name.
class WorkerStatistics {
 public:
  explicit WorkerStatistics(Statistics& all) : all_(all) {}
  TransactionStatistics& entry(std::string_view name);
  const Statistics& all() const { return all_; }

 private:
  Statistics& all_;
  std::vector<TransactionStatistics*> entries_;
};

}  // namespace namdb::sql

// The optimisations by which a compute server lowers the cost of a transaction's operations. Each can be left
// out to measure its effect (DrTM+H §3.2, §6.1 and its table 2). The number of transactions that a worker
// runs at once, its coroutines, is its clients' choice.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace namdb::txn {

struct Optimisations {
  // Operations of a stage are posted together; without, each waits for the one before.
  bool outstanding_requests = true;
  // Operations of a stage for one memory server ring one doorbell; without, one each.
  bool doorbell_batching = true;
  // Records' addresses are remembered.
  bool location_cache = true;
  // Rows that a procedure has requested are read together, when it needs the first; without, one by one.
  bool speculative_reads = true;
  // A commit is answered when it is logged; that it is installed is learned later. Where versions are checked
  // by the timestamp vector it waits, since a session would miss what it has committed.
  bool passive_acknowledgement = true;
  // A transaction that met a conflict pauses as backoff.h says; without, hardly at all, as RCC's
  // transactions.
  bool adaptive_backoff = true;

  // All but those of the list, separated by commas: outstanding-requests, doorbell-batching, location-cache,
  // speculative-reads, passive-acknowledgement, adaptive-backoff. nullopt: the list has another name.
  static std::optional<Optimisations> without(std::string_view list) {
    return Optimisations().leave_out(list);
  }
  // For a flag: the error of a malformed list, in words; empty if it is well-formed.
  static std::string complaint(const std::string& list) {
    return without(list) ? std::string() : "no list of " + names();
  }
  // These, without those of the list as well.
  std::optional<Optimisations> leave_out(std::string_view list) const;
  // For people: the names, separated by ", ".
  static std::string names();
  friend bool operator==(const Optimisations&, const Optimisations&) = default;
};

}  // namespace namdb::txn

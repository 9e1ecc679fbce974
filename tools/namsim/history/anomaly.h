// The anomalies that a history can show, and the isolation levels that forbid them, after Adya ("Weak
// Consistency", 1999), Cerone and Gotsman ("Analysing Snapshot Isolation", 2016) and Elle (VLDB 2020).
//
// Edges between transactions: ww (its version was displaced), wr (its version was read), rw (what it read was
// displaced: an anti-dependency), session order, real-time order. Most anomalies are cycles of them:
//
//   only ww                                G0
//   ww and wr                              G1c
//   exactly one rw                         G-single, and its special cases
//   several rw, no two side by side        long fork
//   two rw side by side                    G2-item, of two transactions: write skew
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/namsim/history/history.h"

namespace namdb::history {

enum class Strength : std::uint8_t { read_committed, parallel_snapshot, snapshot, serializable };

// X(kind, name, the weakest strength that forbids it, sentence)
#define NAMDB_ANOMALIES(X)                                                                                  \
  X(garbage_read, "garbage read", read_committed, "a version was read that nobody wrote")                   \
  X(duplicate_version, "duplicate version", read_committed, "one version is there twice")                   \
  X(incompatible_order, "incompatible order", read_committed,                                               \
    "two reads of a list do not continue each other: an append was lost or moved")                          \
  X(internal, "internal", read_committed, "a transaction did not see its own write")                        \
  X(aborted_read, "G1a", read_committed, "a write of an aborted transaction was seen")                      \
  X(intermediate_read, "G1b", read_committed, "a version was seen that its writer replaced before its end") \
  X(dirty_write, "G0", read_committed, "writes of transactions displaced each other in both orders")        \
  X(circular_information, "G1c", read_committed, "transactions saw each other's writes in a circle")        \
  X(monotonic_writes, "monotonic writes", parallel_snapshot,                                                \
    "a session's writes took effect against the session's order")                                           \
  X(writes_follow_reads, "writes follow reads", parallel_snapshot,                                          \
    "a session's write took effect before what the session had read")                                       \
  X(read_your_writes, "read your writes", parallel_snapshot, "a session did not see what it wrote before")  \
  X(monotonic_reads, "monotonic reads", parallel_snapshot, "a session went back to an older version")       \
  X(lost_update, "lost update", parallel_snapshot,                                                          \
    "a write displaced a version that its writer did not see")                                              \
  X(observed_transaction_vanishes, "OTV", parallel_snapshot,                                                \
    "a transaction that had been seen was not seen any more")                                               \
  X(single_anti_dependency, "G-single", parallel_snapshot,                                                  \
    "a transaction missed a write that its reads depend on")                                                \
  X(long_fork, "long fork", snapshot, "transactions saw independent writes in different orders")            \
  X(write_skew, "write skew", serializable, "each of two transactions missed the other's write")            \
  X(anti_dependency_cycle, "G2-item", serializable, "no serial order explains who missed whose writes")

enum class AnomalyKind : std::uint8_t {
#define NAMDB_ANOMALY_KIND(kind, name, strength, sentence) kind,
  NAMDB_ANOMALIES(NAMDB_ANOMALY_KIND)
#undef NAMDB_ANOMALY_KIND
};

struct AnomalyInfo {
  AnomalyKind kind;
  std::string_view name;
  Strength forbidden_from;
  std::string_view sentence;
};
std::span<const AnomalyInfo> anomaly_table();
const AnomalyInfo& anomaly_info(AnomalyKind kind);

// The criterion for a history. A level forbids every anomaly up to its strength; `sessions` and `real_time`
// tell which orders count as edges.
struct Level {
  std::string_view name;
  Strength strength;
  bool sessions;   // a session's transactions take effect in the session's order
  bool real_time;  // a transaction that ended before another began takes effect before it

  bool forbids(AnomalyKind kind) const { return anomaly_info(kind).forbidden_from <= strength; }
};
std::span<const Level> levels();
std::optional<Level> level_from_name(std::string_view name);
// namdb's guarantee: snapshot isolation within sessions and real time.
const Level& strict_snapshot_isolation();

enum class EdgeKind : std::uint8_t { ww, wr, rw, session, real_time };
std::string_view edge_name(EdgeKind kind);

// One edge of a cycle, between positions in the history.
struct Step {
  std::size_t from = 0;
  std::size_t to = 0;
  EdgeKind kind = EdgeKind::ww;
  std::optional<Key> key;  // of ww, wr and rw
  std::string reason;      // a sentence
};

struct Anomaly {
  AnomalyKind kind = AnomalyKind::internal;
  std::string sentence;                   // the event and its transactions, in one line
  std::vector<std::size_t> transactions;  // positions in the history
  std::vector<Key> keys;
  std::vector<Step> cycle;  // empty if the anomaly is not a cycle
  // Whether the cycle needs these orders; both false: the data alone shows it.
  bool session = false;
  bool real_time = false;

  // The name, with "-session" or "-real-time" where the cycle needs that order.
  std::string name() const;
};

}  // namespace namdb::history

// Faults as data: the faults of a simulated run beyond those of its network. A list of faults comes from a
// file, or is drawn from the seed; each can be left out, so that a failure can be shrunk.
//
//   {"faults": [
//     {"fault": "crash-compute", "after_transactions": 20},
//     {"fault": "cut-link", "compute": 0, "memory": 1, "direction": "request", "at_ns": 500000,
//     "duration_ns": 40000},
//     {"fault": "pause-compute", "probability": 0.001, "times": 5, "duration_ns": 2000000},
//     {"fault": "set", "option": "ring_slots", "value": 1}
//   ]}
//
// docs/internals/simulation.md has the table of faults and fields. Durations and times are virtual.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/random.h"

namespace namdb::sim {

struct Fault {
  enum class Kind : std::uint8_t {
    crash_compute,  // SIGKILL; another one takes its place
    pause_compute,  // takes no turn; operations that it has posted go on
    pause_memory,   // answers no call
    crash_memory,   // its data is gone, so the whole cluster starts over, empty
    cut_link,       // both ways: cut, and no connection until it is over; one way: operations hang until then
    delay_link,     // operations take longer by delay_ns
    slow_node,      // every turn of a node starts up to delay_ns later
    clock_rate,     // a node's clock, from the start
    abandon_session,  // a client stops in the middle of a transaction
    set,              // an option of the cluster
    restart_memory,   // of a durable cluster: SIGKILL of a memory server, which opens what its disk has
    lose_power,       // of a durable cluster: every process ends, and disks keep what was durable
    // Of a cluster whose regions have copies:
    lose_host,          // a primary's machine, for good, while a copy is in sync
    split_host,         // from all other hosts, both ways or one, and from the store, or these are
    cut_store,          // the configuration store cannot be reached
    lose_store_answer,  // the next change of the store happens, and its answer is lost
    delay_store,        // the next change of the store has no answer, and happens later
  };
  static constexpr std::size_t kKindCount = 17;
  // The first ones happen to any cluster.
  static constexpr std::size_t kAnyCluster = 10;
  bool needs_disk() const { return kind == Kind::restart_memory || kind == Kind::lose_power; }
  bool needs_copies() const { return kind >= Kind::lose_host || host.has_value(); }
  enum class Direction : std::uint8_t { both, request, reply };
  enum class Host : std::uint8_t { primary, copy };
  enum class Store : std::uint8_t { both, host, rest };  // the side of a split that reaches it

  Kind kind = Kind::crash_compute;
  // When, one of these; with none of them, as soon as the clients run.
  std::optional<std::uint64_t> after_transactions;  // that clients began
  std::optional<std::uint64_t> at_ns;               // after the clients began
  std::optional<double> probability;                // after each event of the run: between any two operations
  std::uint64_t times = 1;                          // with a probability: at most so often
  // Which node, counted from 0, of those that are there (modulo their number); drawn if it is not given.
  std::optional<std::uint64_t> compute;
  std::optional<std::uint64_t> memory;
  // Of that memory server's region. Faults of the store are those of all hosts without it, others the
  // primary's.
  std::optional<Host> host;
  Store store = Store::both;
  std::uint64_t duration_ns = 0;
  std::uint64_t delay_ns = 0;
  Direction direction = Direction::both;
  std::int64_t ppm = 0;
  std::string option;
  std::uint64_t value = 0;

  // As in a file, one line.
  std::string text() const;
  static std::string_view kind_name(Kind kind);
};

using Faults = std::vector<Fault>;
// How often each kind happened, by position in Fault::Kind. Clock rates and options count once.
using FaultCounts = std::array<std::uint64_t, Fault::kKindCount>;
// "crash-compute 2, cut-link 1"; empty if there are none.
std::string to_text(const FaultCounts& counts);

// Error configuration: the file's name, the field and what is wrong with it.
Result<Faults> parse_faults(const std::string& json, const std::string& file);
Result<Faults> read_faults(const std::string& file);
// Half of all seeds have none.
Faults draw_faults(std::uint64_t seed);
// For a durable cluster: the same, but no data is lost, and one to three times memory servers end.
Faults draw_durable_faults(std::uint64_t seed);
// For a cluster whose regions have copies: two to five times hosts end, are lost or cut off, or the store
// fails, seconds apart.
Faults draw_copies_faults(std::uint64_t seed);

}  // namespace namdb::sim

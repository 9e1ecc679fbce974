// The settings of a memory server. Times are nanoseconds of the executor's clock.
//
// Every tunable stands in one table: type, name, default, and a hostile value that the simulator may pick
// instead to make rare branches common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/random.h"
#include "common/layout/stamp.h"
#include "common/layout/vector_parts.h"
#include "common/protocols/protocol.h"
#include "common/protocols/stages.h"

namespace namdb::memory {

// X(type, name, default, hostile)
#define NAMDB_MEMORY_TUNABLES(X)                                                                    \
  /* Unit of the region; smaller blocks share one. A power of two. */                               \
  X(std::uint64_t, extent_bytes, 2U << 20, 64U << 10)                                               \
  /* E: the age at which a transaction aborts itself. */                                            \
  X(std::uint64_t, max_transaction_ns, 60 * kSecond_ns, 20 * kMillisecond_ns)                       \
  /* Added to E before anything is freed; exceeds what two clocks can differ over E. */             \
  X(std::uint64_t, slack_ns, 6 * kSecond_ns, kMillisecond_ns)                                       \
  /* Old versions kept in a record of a new table; at most layout::kMaxRingSlots. */                \
  X(std::uint32_t, ring_slots, 8, 1)                                                                \
  /* Words of the timestamp vector: slots that can be alive at once. */                             \
  X(std::uint32_t, vector_capacity, 4096, 64)                                                       \
  /* Journal ring of one slot; rounded up to a power of two, or whole extents. */                   \
  X(std::uint64_t, journal_bytes, 256U << 10, 128U << 10)                                           \
  /* A worker that is silent for so long is fenced; 0 = never (shm: the pidfd tells of its end). */ \
  X(std::uint64_t, heartbeat_timeout_ns, 0, 500 * kMillisecond_ns)                                  \
  /* Pace of the collector while there is something to collect. */                                  \
  X(std::uint64_t, collect_interval_ns, 200 * kMillisecond_ns, kMillisecond_ns)                     \
  /* Reuse epochs are not raised more often: each is acknowledged by every worker. */               \
  X(std::uint64_t, reuse_interval_ns, kSecond_ns, kMillisecond_ns)                                  \
  /* Slots that one channel may hold at a time. */                                                  \
  X(std::uint32_t, max_slots_per_peer, 32, 2)                                                       \
  /* Collections of the vector in one SNAPSHOT call before it gives up. */                          \
  X(std::uint32_t, snapshot_attempts, 256, 4)                                                       \
  /* Work between two yields: records moved, buckets initialised, units freed. */                   \
  X(std::uint32_t, step_units, 256, 1)                                                              \
  X(std::uint32_t, max_peers, 4096, 64)                                                             \
  /* Main buckets are doubled when more rows hang off them than this part of their entries. */      \
  X(std::uint32_t, growth_percent, 100, 20)                                                         \
  /* Growth that was put off, for want of room for instance, is considered again after this. */     \
  X(std::uint64_t, growth_interval_ns, kSecond_ns, kMillisecond_ns)

// The same for secondary indexes. Drawn by a call of its own, so that runs without indexes keep their seeds.
#define NAMDB_MEMORY_INDEX_TUNABLES(X)                                                    \
  /* Pages of new indexes' trees. A power of two, at most an extent. */                   \
  X(std::uint32_t, index_page_bytes, 4096, 512)                                           \
  /* A commit has so long to give a verdict on its entries before others are asked to. */ \
  X(std::uint64_t, index_grace_ns, 100 * kMillisecond_ns, 0)                              \
  /* An entry that one worker checks is given to no other for so long. */                 \
  X(std::uint64_t, index_lease_ns, 2 * kSecond_ns, kMillisecond_ns)

// When commits become visible: once they are complete in journals in memory, or on disk.
enum class Durability : std::uint8_t { memory, flushed };

struct Options {
#define NAMDB_MEMORY_FIELD(type, name, value, hostile) type name = value;
  NAMDB_MEMORY_TUNABLES(NAMDB_MEMORY_FIELD)
  NAMDB_MEMORY_INDEX_TUNABLES(NAMDB_MEMORY_FIELD)
#undef NAMDB_MEMORY_FIELD

  // Where slot ids and the counters of each slot begin. Only a test that wants them near their end sets
  // others.
  std::uint32_t first_slot = layout::kFirstLeasedSlot;
  std::uint32_t first_counter = 1;
  // Room that one transaction may have for a journal entry which is too long for its slot's ring. Less where
  // the log cannot hold so much (Journals::max_room_bytes()).
  std::uint64_t max_journal_room_bytes = 256U << 20;
  // Of all entries of the catalog together, as they are sent. Compute servers keep a copy for each worker.
  std::uint64_t max_catalog_bytes = 32U << 20;

  // The database's concurrency control (common/protocols/protocol.h), the same on all its servers.
  std::string protocol = std::string(protocol::kDefaultProtocol);
  // Which stages of transactions compute servers run two-sided; the same on all servers.
  protocol::StageCode stages;
  // Records of new tables have reader words, so that readers can share locks
  // (compute/protocol/two_phase_locking). The same on all servers; only where the protocol locks rows.
  bool shared_read_locks = false;
  // How the timestamp vector lies on the memory servers; the same on all of them.
  layout::VectorSpread timestamp_vector = layout::VectorSpread::whole;
  // The preset of protocol and stages (common/protocols/presets.h); empty: none. The same on all servers.
  std::string preset;
  std::uint16_t server_id = 0;
  std::uint16_t server_count = 1;
  Durability durability = Durability::memory;
  // Addresses of all memory servers, server 0's first. For a database on disk: its servers open together,
  // before any worker could tell them the addresses. Empty where workers tell them (JOIN_CLUSTER).
  std::vector<std::string> memory_servers;
  // The database lies on the disks of several memory servers.
  bool opens_together() const { return durability == Durability::flushed && server_count > 1; }
  layout::VectorParts vector_parts() const { return {timestamp_vector, server_count}; }
  // Old versions are freed before E when every live worker says that no transaction can need them.
  bool collect_by_acknowledgement = true;
  // Facts about the process, for STATUS.
  bool huge_pages = false;
  std::string version;
  // One line for people about something unusual (a peer fenced, a slot dead). May be empty.
  std::function<void(const std::string&)> notice;
};

// The defaults, each replaced by its hostile value with the given probability.
inline Options swarm_options(Random& random, double probability) {
  Options options;
#define NAMDB_MEMORY_SWARM(type, name, value, hostile) \
  if (random.chance(probability)) options.name = static_cast<type>(hostile);
  NAMDB_MEMORY_TUNABLES(NAMDB_MEMORY_SWARM)
  return options;
}

inline void swarm_index_options(Options& options, Random& random, double probability) {
  NAMDB_MEMORY_INDEX_TUNABLES(NAMDB_MEMORY_SWARM)
#undef NAMDB_MEMORY_SWARM
}

}  // namespace namdb::memory

// The options of a worker.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/placement/configuration.h"
#include "common/reactor/task.h"
#include "compute/api/engine.h"
#include "compute/cluster/optimisations.h"
#include "compute/txn/execution_slot.h"
#include "compute/txn/snapshot.h"
#include "compute/txn/worker_state.h"
#include "compute/worker/compute_identity.h"
#include "compute/worker/fabric_board.h"

namespace namdb::txn {
struct StageTimes;
}

namespace namdb::compute {

// Receives a line of text, without a line break, whenever something happens to the connection.
using LogLine = std::function<void(const std::string&)>;

struct WorkerOptions {
  std::vector<std::string> memory_servers;
  // Asks the configuration store where their regions are (common/placement). Empty: there is none. The
  // store outlives the worker.
  std::function<reactor::Task<Result<placement::Configuration>>()> ask_store;
  std::string name = "compute";
  std::uint32_t worker = 0;
  txn::SnapshotSource::Mode snapshot_mode = txn::SnapshotSource::Mode::reads;
  txn::SnapshotSharing snapshot_sharing = txn::SnapshotSharing::own;
  txn::CommitWrites commit_writes = txn::CommitWrites::changed;
  txn::IndexReads index_reads = txn::IndexReads::leaves;
  txn::ScanReads scan_reads = txn::ScanReads::buckets;
  txn::ReadLocks read_locks = txn::ReadLocks::automatic;
  txn::Optimisations optimisations;
  std::size_t index_cache_bytes = 16U << 20;  // pages above leaves, for each connection to the cluster
  // An index over at least so many rows gets a part on each memory server. Hostile: a few.
  std::size_t split_index_rows = 256;
  // An index with a part of more bytes than that, and much more than its share (schema/index_split.h), is
  // rebuilt. Checked at intervals. 0: never.
  std::uint64_t balance_bytes = 0;
  std::uint64_t balance_interval_ns = 30 * kSecond_ns;
  std::optional<layout::ServerId> beside;  // the memory server that this compute server stands beside
  txn::SlotOptions slot;
  // Where transactions are ordered (protocol/calvin/sequencer.h).
  std::uint64_t epoch_ns = kMillisecond_ns;
  txn::RetryOptions retry;
  std::uint64_t heartbeat_ns = 200 * kMillisecond_ns;  // hostile: 1 ms
  std::uint64_t first_reconnect_ns = 25 * kMillisecond_ns;
  std::uint64_t max_reconnect_ns = 2 * kSecond_ns;
  // A commit whose connection was lost waits so long for its outcome. Hostile: 0.
  std::uint64_t outcome_patience_ns = 10 * kSecond_ns;
  // A memory server that does not answer for so long is given up; 0 = never.
  std::uint64_t memory_timeout_ns = 0;
  // Counts the waits of the worker's transactions; outlives the worker. Null: they are not counted.
  txn::StageTimes* stage_times = nullptr;
  // Has the reports of all workers of this compute server about their connections; outlives the worker.
  FabricBoard* board = nullptr;
  // The facts that memory server 0 is told about this compute server; empty, or none: nothing.
  std::function<std::optional<ComputeFacts>()> facts;
  // Called when it says that the compute server is to end; may come several times, and may be empty.
  std::function<void()> drain;
};

}  // namespace namdb::compute

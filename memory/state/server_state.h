// The parts of a memory server, which all handlers of its calls share. MemoryServer (memory/server/server.h)
// owns one; each handler gets a reference (memory/calls/call.h). All of it belongs to the executor's thread.
//
// The members stand in the order of construction: each may name those above it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/coordinator/catalog.h"
#include "memory/coordinator/cluster_identity.h"
#include "memory/coordinator/control_changes.h"
#include "memory/coordinator/control_log.h"
#include "memory/coordinator/outcomes.h"
#include "memory/coordinator/slots.h"
#include "memory/index/indexes.h"
#include "memory/journals/entry_check.h"
#include "memory/journals/journals.h"
#include "memory/options.h"
#include "memory/peers/links.h"
#include "memory/peers/peers.h"
#include "memory/peers/version_epoch.h"
#include "memory/reclaim/collector.h"
#include "memory/reclaim/disconnected_peers.h"
#include "memory/reclaim/epoch_reclaimer.h"
#include "memory/reclaim/old_versions.h"
#include "memory/reclaim/server_locks.h"
#include "memory/reclaim/table_growth.h"
#include "memory/reclaim/tombstones.h"
#include "memory/reclaim/version_mover.h"
#include "memory/recovery/index_loads.h"
#include "memory/region/overflow.h"
#include "memory/region/region.h"
#include "memory/region/reservations.h"
#include "memory/region/ring_sampler.h"
#include "memory/region/tables.h"
#include "memory/region/visibility.h"
#include "memory/state/checkpoint_service.h"
#include "memory/state/copies_service.h"
#include "memory/state/departure_service.h"
#include "memory/state/lock_waiters.h"
#include "memory/state/opening_service.h"

namespace namdb::memory {

// The answer to workers meanwhile: cannot_connect_now. They disconnect, and try again.
Status database_opens();

// Where more of the region's memory comes from.
struct RegionGrowth {
  std::uint64_t limit_bytes = 0;  // 0: the region stays as long as it is
  // See Region::Lengthen. The memory server tells the fabric of the new length.
  Region::Lengthen lengthen = nullptr;
};

struct ServerState {
  ServerState(reactor::Executor& server_executor, std::unique_ptr<Region> server_region,
              Options server_options, RegionGrowth growth_of_region);
  ServerState(const ServerState&) = delete;
  ServerState& operator=(const ServerState&) = delete;

  // Server 0 of a cluster whose timestamp vector is not partitioned.
  bool has_whole_vector() const { return slots && options.vector_parts().count() == 1; }
  // This server's clock, in ns, from which workers take timestamps: never behind a timestamp that it knew
  // before a restart.
  std::uint64_t clock_ns() const { return executor.fresh_now_ns() + clock_ahead_ns; }
  void follow_timestamp(std::uint64_t timestamp);
  // Gives `line` to the option `notice`, if one is set.
  void notice(const std::string& line) const;
  // Discards a table with its indexes, or an index. Without effect for another id.
  void discard(std::uint32_t id);
  // Undoes what the channel was creating in the catalog.
  void undo_creations(fabric::PeerId peer);
  // Replaced indexes leave the catalog once every live worker has acknowledged their successors.
  void erase_replaced_indexes();
  // Marks the compute server as fenced for ever, and destroys its channels in a task of its own.
  void start_fence(const std::string& compute_id);
  // True if workers that joined without these servers are admitted.
  bool admits(const std::set<std::uint32_t>& without) const;
  // True if some workers are admitted.
  bool admits_some() const { return admits_workers || !admits_without.empty(); }
  // Refuses workers, except those that joined without all of `restarted`, unless that is empty. Resumes
  // when no other has joined: those that do not leave by themselves within `patience_ns` are fenced. Error
  // admin_shutdown.
  reactor::Task<Status> dismiss_workers(std::uint64_t patience_ns, std::set<std::uint32_t> restarted = {});
  void request_shutdown();

  reactor::Executor& executor;
  Options options;
  std::unique_ptr<Region> region;
  RegionGrowth region_growth;
  std::uint64_t region_refused_ns = 0;  // when the system had no memory for the region to grow; 0: it had
  std::uint64_t started_ns;
  std::uint64_t clock_ahead_ns = 0;  // of the executor's
  bool opening = false;              // after a restart; no worker is there yet
  bool admits_workers = true;        // false while a cluster opens together
  std::set<std::uint32_t>
      admits_without;  // then: those workers that joined without all of these; empty: none
  std::optional<control::OpeningStatus> opened;   // with a data folder
  fabric::ServerFabric* server_fabric = nullptr;  // from MemoryServer::start() on
  bool stopping = false;
  bool shutdown = false;
  reactor::Gate gate;
  reactor::Event fenced;  // a fence has begun or ended, or a peer is gone
  reactor::Event shut_down;
  // A slot was closed, the tables that a peer was creating are undone, or a link has changed.
  reactor::Event settled;

  ClusterIdentity identity;
  Links links;
  LockWaiters lock_waiters;
  Peers peers;
  Journals journals;
  EpochReclaimer reclaimer;
  VersionEpoch version_epoch;
  CopiedVisibility copies;                  // of the words of the timestamp vector that other servers have
  std::unique_ptr<Slots> slots;             // server 0; null on the others
  Outcomes outcomes;                        // of commits in slots that died
  std::unique_ptr<Catalog> catalog;         // server 0; null on the others
  std::unique_ptr<ControlChanges> control;  // of these two
  IndexLoads* index_loads = nullptr;        // while the server opens after a restart
  ControlLog* table_log = nullptr;          // for tables of other servers than 0; null without a data folder
  OpeningService* opening_service = nullptr;  // null unless the database lies on several servers' disks
  CheckpointService* checkpoints = nullptr;   // null without a data folder, and until the server has opened
  DepartureService* departure = nullptr;      // likewise
  CopiesService* copies_service = nullptr;    // likewise; of a cluster with a configuration store
  bool has_store = false;                     // the cluster has one
  std::string departed;  // where the region has gone to, as a sentence; empty: it is here
  bool erasing_replaced = false;
  std::uint64_t peers_gone = 0;  // workers whose channel was destroyed
  Tables tables;
  EntryCheck entry_check;
  Indexes indexes;
  ServerLocks locks;
  TableGrowth growth;
  DisconnectedPeers disconnected_peers;
  Reservations reservations;
  Overflow overflow;
  OldVersions old_versions;
  VersionMover mover;
  Tombstones tombstones;
  RingSampler rings;
  Collector collector;

 private:
  const Visibility& visibility() const;
  reactor::Task<void> fence_peers(std::string compute_id);
  reactor::Task<void> undo_logged_creations(fabric::PeerId peer);
  reactor::Task<void> erase_logged_indexes();
  Result<std::uint64_t> lengthen_region(std::uint64_t length_bytes);
};

}  // namespace namdb::memory

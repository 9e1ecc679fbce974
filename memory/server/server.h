// The memory server without its process: everything that nam-memoryd does with peers, calls and its region.
//
// It runs on any executor and any transport; it knows no operating system. All of it belongs to the
// executor's thread. In a test:
//
//   std::vector<std::uint64_t> memory(8 << 20 >> 3);            // zero; outlives the server
//   const auto region = std::as_writable_bytes(std::span(memory));
//   memory::Options options;                                    // a small region wants small extents:
//   options.extent_bytes = 64 << 10;
//   options.journal_bytes = 128 << 10;
//   auto server = std::move(*memory::MemoryServer::create(node, region, options));
//   fabric::sim::SimServerFabric fabric(node, region, *server);
//   server->start(fabric);
//   world.run(node, fabric.listen("sim:m0"));
//   ...
//   world.run(node, server->stop());                            // background tasks end
//   world.run(node, fabric.close());                            // then peers
//
// Two-sided calls are those of proto/control.proto, common/calls/hot_calls.h and index_calls.h. All request
// bytes are outside input: an error, never a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/calls/lock_waiters.h"
#include "memory/coordinator/catalog.h"
#include "memory/coordinator/cluster_identity.h"
#include "memory/coordinator/slots.h"
#include "memory/index/indexes.h"
#include "memory/options.h"
#include "memory/peers/peers.h"
#include "memory/reclaim/collector.h"
#include "memory/reclaim/departures.h"
#include "memory/reclaim/growth.h"
#include "memory/reclaim/old_versions.h"
#include "memory/reclaim/reuse.h"
#include "memory/reclaim/tombstones.h"
#include "memory/reclaim/version_mover.h"
#include "memory/region/overflow.h"
#include "memory/region/region.h"
#include "memory/region/reservations.h"
#include "memory/region/tables.h"
#include "memory/region/visibility.h"
#include "memory/server/ring_sampler.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// Where the region's bytes are; the parts add up to region_bytes.
struct RegionUse {
  std::uint64_t fixed_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::uint64_t journal_bytes = 0;
  std::uint64_t table_bytes = 0;  // buckets and records, with blocks' unused rests
  std::uint64_t overflow_bytes = 0;
  std::uint64_t index_bytes = 0;  // of pages, with blocks' unused rests
};

// Where more of the region's memory comes from.
struct RegionGrowth {
  std::uint64_t limit_bytes = 0;  // 0: the region stays as long as it is
  // See Region::Lengthen. The fabric hears of it from the memory server.
  Region::Lengthen lengthen = nullptr;
};

class MemoryServer final : public fabric::Service {
 public:
  // `region` is zero and outlives the server. Error configuration when it is too small or an option is bad.
  static Result<std::unique_ptr<MemoryServer>> create(reactor::Executor& executor,
                                                      std::span<std::byte> region, Options options,
                                                      RegionGrowth growth = {});
  ~MemoryServer() override;

  // Before listen(). `fabric` stays until stop() has returned.
  void start(fabric::ServerFabric& fabric);
  // Refuses new peers and ends the background tasks. Before the fabric's close(). Once, after start().
  reactor::Task<void> stop();
  // Resumes when a tool has called SHUTDOWN, or request_shutdown().
  reactor::Task<void> shutdown_requested();
  void request_shutdown();

  Result<std::string> on_connect(fabric::PeerId peer, std::string_view hello) override;
  reactor::Task<Status> on_call(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                std::string& reply) override;
  void on_disconnect(fabric::PeerId peer) override;

  std::uint64_t epoch() const { return region_->map().epoch; }
  control::StatusReply status() const;
  control::FabricReply fabric_facts() const;
  RegionUse use() const;
  // The same in detail.
  control::MemoryReply memory() const;
  const Region& region() const { return *region_; }

  // --- for checkers of a region at rest ---
  const Tables& tables() const { return tables_; }
  const Indexes& indexes() const { return indexes_; }
  const Overflow& overflow() const { return overflow_; }
  const OldVersions& old_versions() const { return old_versions_; }
  const Reuse& reuse() const { return reuse_; }
  const Peers& peers() const { return peers_; }
  const Reservations& reservations() const { return reservations_; }
  // Server 0; null on the others.
  const Slots* slots() const { return slots_.get(); }
  const Catalog* catalog() const { return catalog_.get(); }

 private:
  MemoryServer(reactor::Executor& executor, std::unique_ptr<Region> region, Options options,
               RegionGrowth region_growth);

  bool has_whole_vector() const { return slots_ && options_.vector_parts().count() == 1; }

  // Handlers: requests in, replies out. `peer` is connected when they start.
  reactor::Task<Status> dispatch(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                 std::string& reply);
  static bool takes_extents(std::uint16_t method);
  // After a call found the region full: whether extents came back, so that it is worth another try. Waits
  // while some are on their way, until then.
  reactor::Task<bool> more_extents(fabric::PeerId peer, std::uint64_t deadline_ns);
  Status dispatch_cluster(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                          std::string& reply);
  reactor::Task<void> describe_status(const control::StatusRequest& request, control::StatusReply& reply);
  Status dispatch_indexes(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                          std::string& reply);
  Status dispatch_index_catalog(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                std::string& reply);
  Status heartbeat(Peer& peer, const control::HeartbeatRequest& request, control::HeartbeatReply& reply);
  reactor::Task<Status> fence(fabric::PeerId peer, std::string compute_id);
  Status join_cluster(const Peer& peer, const control::JoinClusterRequest& request);
  Status discard_table(const control::DiscardTableRequest& request);
  Status allocate(fabric::PeerId peer, std::uint32_t table, std::uint32_t count, bool buckets,
                  control::AllocateReply& reply);
  Status return_memory(const control::ReturnMemoryRequest& request);
  Result<std::uint64_t> lengthen_region(std::uint64_t length_bytes);
  Status ended_computes(const control::EndedComputesRequest& request,
                        control::EndedComputesReply& reply) const;
  Status retire_buckets(const control::RetireBucketsRequest& request);
  Status note_deletes(std::string_view request);
  reactor::Task<Status> move_versions(fabric::PeerId peer, std::string_view request);
  // The same of old versions, for who has to move some and finds no room.
  reactor::Task<bool> more_room_for_versions(fabric::PeerId peer, std::uint64_t deadline_ns);
  bool caller_is_gone(fabric::PeerId peer);
  reactor::Task<Status> snapshot(std::string& reply);
  Status place_slot(const Peer& peer, const control::PlaceSlotRequest& request);
  reactor::Task<Status> lease_slot(fabric::PeerId peer, control::LeaseSlotReply& reply);
  // Memory for a journal, not zeroed when `dirty`. Waits, bounded, for the repair of slots whose journals
  // take too much or the last.
  reactor::Task<Result<Block>> take_journal(fabric::PeerId peer);
  Status list_slots(const control::ListSlotsRequest& request, control::ListSlotsReply& reply) const;
  Status claim_repair(fabric::PeerId peer, const control::ClaimRepairRequest& request,
                      control::ClaimRepairReply& reply);
  Status get_catalog(const control::GetCatalogRequest& request, control::GetCatalogReply& reply) const;
  Status finish_create(fabric::PeerId peer, const control::FinishCreateTableRequest& request,
                       control::FinishCreateTableReply& reply);

  // Marks the id as fenced for ever and destroys its channels in a task of its own.
  void start_fence(const std::string& compute_id);
  reactor::Task<void> fence_peers(std::string compute_id);
  void notice(const std::string& line) const;
  // A table, with its indexes, or an index.
  void discard(std::uint32_t id);

  reactor::Executor& executor_;
  Options options_;
  std::unique_ptr<Region> region_;
  RegionGrowth region_growth_;
  std::uint64_t region_refused_ns_ = 0;  // when there was no memory for it to grow; 0 = there was
  std::uint64_t started_ns_;
  fabric::ServerFabric* fabric_ = nullptr;
  bool stopping_ = false;
  bool shutdown_ = false;
  reactor::Gate gate_;
  reactor::Event fenced_;  // a fence has ended, or begun
  reactor::Event closed_;  // a slot was closed
  reactor::Event shut_down_;

  ClusterIdentity identity_;
  LockWaiters lock_waiters_;
  Peers peers_;
  Reuse reuse_;
  VersionEpoch version_epoch_;
  CopiedVisibility copies_;           // of what of the timestamp vector is on other servers
  std::unique_ptr<Slots> slots_;      // server 0
  std::unique_ptr<Catalog> catalog_;  // server 0
  std::uint64_t peers_gone_ = 0;      // workers
  Tables tables_;
  Indexes indexes_;
  ServerLocks locks_;
  Growth growth_;
  Departures departures_;
  Reservations reservations_;
  Overflow overflow_;
  OldVersions old_versions_;
  VersionMover mover_;
  Tombstones tombstones_;
  RingSampler rings_;
  Collector collector_;
};

}  // namespace namdb::memory

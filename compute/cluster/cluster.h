// One worker's connections to all memory servers of the cluster, and typed control-plane calls over them.
// Belongs to the worker's executor. A channel that fails stays failed: the worker then drops everything that
// it knows of the cluster, destroys this object, and connects anew.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/global_address.h"
#include "common/layout/protocol.h"
#include "common/layout/region_map.h"
#include "common/layout/stages.h"
#include "common/layout/timestamp_vector.h"
#include "common/layout/vector_parts.h"
#include "common/reactor/task.h"
#include "compute/cluster/optimisations.h"
#include "compute/cluster/timestamp_clock.h"
#include "proto/control_types.h"

namespace namdb::txn {

struct StageTimes;

using ComputeId = std::array<std::byte, 16>;

struct ClusterOptions {
  std::vector<std::string> memory_servers;  // addresses; server 0 first
  std::string name = "compute";             // for people
  ComputeId compute_id{};                   // random, one a worker and connection
  std::uint32_t worker = 0;
  Optimisations optimisations;
  StageTimes* stage_times = nullptr;  // outlives the cluster; null: times are not counted
};

class Cluster {
 public:
  Cluster(reactor::Executor& executor, fabric::ClientFabric& fabric, ClusterOptions options);

  // Connects to every memory server and checks that they belong together. Once. Error
  // memory_server_restarted when some but not all of them were restarted, or one is another cluster's.
  reactor::Task<Status> connect();

  std::size_t server_count() const { return options_.memory_servers.size(); }
  fabric::Channel& channel(layout::ServerId server) { return *links_[server].channel; }
  const layout::RegionMap& region_map(layout::ServerId server) const { return links_[server].map; }
  // Another number after any memory server has restarted.
  std::uint64_t epochs() const {
    std::uint64_t all = 0;
    for (const Link& link : links_) all ^= link.map.epoch;
    return all;
  }
  // The catalog's version, beside the timestamp vector.
  layout::GlobalAddress catalog_word() const {
    return {0, links_[0].map.vector_offset + layout::kVectorCatalog_offset};
  }
  const layout::VectorParts& vector_parts() const { return vector_parts_; }
  // The word of that position in the timestamp vector.
  layout::GlobalAddress vector_word(std::uint64_t position) const {
    const layout::VectorParts::Place place = vector_parts_.place(position);
    return {place.server,
            links_[place.server].map.vector_offset + layout::kVectorWords_offset + 8 * place.index};
  }
  // The region is at least so long: it was when this connected, or memory that the server has handed out ends
  // there. Addresses from an earlier connection may lie beyond the region of a memory server that was
  // restarted, where nothing but READs may go.
  std::uint64_t known_bytes(layout::ServerId server) const { return links_[server].known_bytes; }
  void saw_memory(layout::GlobalAddress address, std::uint64_t length_bytes) {
    std::uint64_t& known_bytes = links_[address.server()].known_bytes;
    known_bytes = std::max(known_bytes, address.offset() + length_bytes);
  }
  std::uint64_t max_transaction_ns() const { return max_transaction_ns_; }
  // The database's. Once connected.
  const layout::ProtocolTraits& protocol() const { return *protocol_; }
  layout::StageCode stages() const { return stages_; }
  // Records have reader words.
  bool shared_read_locks() const { return shared_read_locks_; }
  // A commit is visible once it is on disk at all its hosts (durability level `flushed`).
  bool flushed() const { return flushed_; }
  // 0: its memory servers keep nothing.
  std::uint64_t database_id() const { return database_id_; }
  // Those of this compute server that the database's preset has, too.
  const Optimisations& optimisations() const { return optimisations_; }
  TimestampClock& timestamps() { return timestamps_; }
  StageTimes* stage_times() const { return options_.stage_times; }
  // True once any channel failed.
  bool failed() const;
  // Every channel fails now, those that transactions still hold, too.
  void give_up(const Status& reason);
  reactor::Executor& executor() { return executor_; }
  fabric::LocalPool& pool() { return fabric_.pool(); }
  const ComputeId& compute_id() const { return options_.compute_id; }

  // `request` and `reply` outlive the task; `reply` may be null. Counts into `counters` if it is given.
  reactor::Task<Status> call(layout::ServerId server, control::Method method,
                             const google::protobuf::MessageLite& request,
                             google::protobuf::MessageLite* reply,
                             fabric::OperationCounters* counters = nullptr);
  // The same with bytes as they are (common/calls/hot_calls.h).
  reactor::Task<Result<std::string>> call_bytes(layout::ServerId server, std::uint16_t method,
                                                std::string request,
                                                fabric::OperationCounters* counters = nullptr);
  // PLACE_SLOT, where the position's word is not on server 0, which does that by itself. `vector_length`:
  // that of the lease, or 0.
  reactor::Task<Status> place_slot(std::uint32_t slot, std::uint64_t position, std::uint32_t counter,
                                   std::uint64_t vector_length);

 private:
  reactor::Task<Status> join(std::vector<std::uint64_t> epochs);
  struct Link {
    std::unique_ptr<fabric::Channel> channel;
    layout::RegionMap map{};
    std::uint64_t known_bytes = 0;
  };
  reactor::Executor& executor_;
  fabric::ClientFabric& fabric_;
  ClusterOptions options_;
  std::vector<Link> links_;
  std::uint64_t max_transaction_ns_ = 0;
  const layout::ProtocolTraits* protocol_ = nullptr;
  std::string preset_;
  bool shared_read_locks_ = false;
  bool flushed_ = false;
  std::uint64_t database_id_ = 0;
  layout::VectorParts vector_parts_;
  Optimisations optimisations_;
  layout::StageCode stages_;
  TimestampClock timestamps_;
};

}  // namespace namdb::txn

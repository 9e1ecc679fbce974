// One worker's connections to all memory servers of the cluster, and typed control-plane calls over them.
// Belongs to the worker's executor. A channel that fails stays failed: the worker then drops everything that
// it knows of the cluster, destroys this object, and connects anew.
//
// A database on the disks of several memory servers, with the timestamp vector on server 0, survives the loss
// of any server but 0: operations and calls to the lost server end in an error, and everything else goes on.
// Such a server may even be *away* from the beginning. Then a channel on which everything ends at once in
// cannot_connect_now takes its place, and this object sends nothing to that server.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/global_address.h"
#include "common/layout/region_map.h"
#include "common/layout/timestamp_vector.h"
#include "common/layout/vector_parts.h"
#include "common/protocols/protocol.h"
#include "common/protocols/stages.h"
#include "common/reactor/task.h"
#include "compute/cluster/optimisations.h"
#include "compute/cluster/soft_time.h"
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
  StageTimes* stage_times = nullptr;     // outlives the cluster; null: times are not counted
  std::function<void()> lost = nullptr;  // called when an operation first finds that a channel has failed
};

class Cluster {
 public:
  Cluster(reactor::Executor& executor, fabric::ClientFabric& fabric, ClusterOptions options);

  // Connects to every memory server, except those that are away, where that is borne, and checks that they
  // belong together. Once. Error memory_server_restarted when some but not all of them were restarted, or one
  // is another cluster's.
  reactor::Task<Status> connect();
  // Some server that was away takes workers now, at its address of these: a new cluster object would lack
  // fewer servers. Connects to it, and no more.
  reactor::Task<bool> away_returns(std::vector<std::string> addresses);

  std::size_t server_count() const { return options_.memory_servers.size(); }
  // Where this reaches it.
  const std::string& address(layout::ServerId server) const { return options_.memory_servers[server]; }
  fabric::Channel& channel(layout::ServerId server) { return *links_[server].channel; }
  const layout::RegionMap& region_map(layout::ServerId server) const { return links_[server].map; }
  // Another number after a memory server with a part of the timestamp vector has restarted.
  std::uint64_t vector_epochs() const {
    std::uint64_t all = 0;
    for (std::size_t server = 0; server < links_.size(); ++server) {
      if (server == 0 || vector_parts_.count() > 1) all ^= links_[server].map.epoch;
    }
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
  // A lower bound of the region's length, in bytes: its length when this connected, or the end of memory that
  // the server has handed out since. Addresses from an earlier connection may lie beyond the region of a
  // memory server that has restarted; only READs may go there.
  std::uint64_t known_bytes(layout::ServerId server) const { return links_[server].known_bytes; }
  void saw_memory(layout::GlobalAddress address, std::uint64_t length_bytes) {
    std::uint64_t& known_bytes = links_[address.server()].known_bytes;
    known_bytes = std::max(known_bytes, address.offset() + length_bytes);
  }
  std::uint64_t max_transaction_ns() const { return max_transaction_ns_; }
  // The database's. Once connected.
  const protocol::ProtocolTraits& protocol() const { return *protocol_; }
  protocol::StageCode stages() const { return stages_; }
  // Records have reader words.
  bool shared_read_locks() const { return shared_read_locks_; }
  // A commit is visible once it is on disk at all its hosts (durability level `flushed`).
  bool flushed() const { return flushed_; }
  // 0: its memory servers keep nothing.
  std::uint64_t database_id() const { return database_id_; }
  // This compute server's optimisations that the database's preset has, too.
  const Optimisations& optimisations() const { return optimisations_; }
  TimestampClock& timestamps() { return timestamps_; }
  SoftTime& soft_time() { return soft_time_; }
  StageTimes* stage_times() const { return options_.stage_times; }
  // The loss of another server than 0 is borne.
  bool bears_loss() const {
    return flushed_ && options_.memory_servers.size() > 1 && vector_parts_.count() == 1;
  }
  // True once this connection is of no use: after give_up(), or once a channel has failed. If bears_loss(),
  // only the channel to server 0 counts.
  bool failed() const;
  // The channel to that server has failed, or the server was away: no operation reaches it.
  bool lacks(layout::ServerId server) const { return links_[server].channel->failed(); }
  // The server was away when this connected.
  bool away(layout::ServerId server) const { return links_[server].away; }
  std::size_t away_count() const;
  // Another host may become that region's primary: leases are needed (primary_leases.h).
  bool leased(layout::ServerId server) const { return links_[server].leased; }
  // The channel to some server failed.
  bool has_lost() const;
  // The error of the first such server; ok if there is none.
  Status loss() const;
  // Ok if no server is lacking; else error cannot_connect_now, with the server. For what needs all of them.
  Status whole() const;
  // The error for what needs a server that is lacking: cannot_connect_now where it was away, else
  // connection_failure.
  Status lost(layout::ServerId server) const;
  // An error that an operation or a call to that server has ended in, with the server's name:
  // connection_failure where the channel was lost, cannot_connect_now where the server was away.
  Status named(layout::ServerId server, const Status& error);
  // Every channel fails, now or soon, those that transactions still hold, too. failed() from now on.
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
  reactor::Task<Status> join();
  // Error where the welcome does not fit server 0's, or cannot be read.
  Status accept(std::size_t server, const control::Welcome& welcome);
  std::string hello(std::size_t server) const;
  struct Link {
    std::unique_ptr<fabric::Channel> channel;
    layout::RegionMap map{};  // with epoch 0 where the server was away
    std::uint64_t known_bytes = 0;
    bool away = false;
    bool leased = false;
    Status reason;      // away: why it could not be reached
    bool told = false;  // that the channel has failed
  };
  reactor::Executor& executor_;
  fabric::ClientFabric& fabric_;
  ClusterOptions options_;
  std::vector<Link> links_;
  std::uint64_t max_transaction_ns_ = 0;
  const protocol::ProtocolTraits* protocol_ = nullptr;
  std::string preset_;
  bool shared_read_locks_ = false;
  bool flushed_ = false;
  bool given_up_ = false;
  std::uint64_t database_id_ = 0;
  layout::VectorParts vector_parts_;
  Optimisations optimisations_;
  protocol::StageCode stages_;
  TimestampClock timestamps_;
  SoftTime soft_time_;
};

}  // namespace namdb::txn

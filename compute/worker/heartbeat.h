// The heartbeats of one connection: at intervals a worker tells each memory server that it lives and what its
// transactions still use, and does what the server asks for in its reply.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "proto/control_types.h"

namespace namdb::compute {

struct Connection;

// Held by shared pointers: tasks in the background hold it, and the connection.
class Heartbeat : public std::enable_shared_from_this<Heartbeat> {
 public:
  // `gate` has the tasks in the background; it outlives this.
  Heartbeat(std::shared_ptr<Connection> connection, reactor::Gate& gate);

  // One heartbeat to each memory server that is not lacking, one after the other; an error ends it, and means
  // a lost connection.
  reactor::Task<Status> beat();
  // The pause before the next one: shorter than `interval_ns` while a memory server waits for an
  // acknowledgement of this worker to free old versions and entries of indexes, which readers pass until
  // then.
  std::uint64_t pause_ns(std::uint64_t interval_ns) const;

 private:
  reactor::Task<Status> beat_one(layout::ServerId server);
  control::HeartbeatRequest request_to(layout::ServerId server);
  // Fills in what memory server 0 is told about the compute server.
  void describe_compute(control::HeartbeatRequest* request) const;
  // Does what the server asks for.
  reactor::Task<Status> follow(layout::ServerId server, const control::HeartbeatReply* reply);
  // Decides on index entries that the memory server has doubts about.
  static reactor::Task<void> resolve_doubts(std::shared_ptr<Heartbeat> self, layout::ServerId server);
  // Takes a snapshot for the servers that do not have the whole timestamp vector, if the last is old enough.
  reactor::Task<void> copy_vector();
  // The same of a partitioned vector: a confirmed copy and the slots that it lacks.
  reactor::Task<void> copy_parts();

  std::shared_ptr<Connection> connection_;
  reactor::Gate& gate_;
  std::string vector_copy_;
  std::uint64_t vector_copied_ns_ = 0;
  std::set<layout::ServerId> resolving_;  // servers whose doubts are being resolved
  bool versions_wait_ = false;            // a memory server waits for an acknowledgement
};

}  // namespace namdb::compute

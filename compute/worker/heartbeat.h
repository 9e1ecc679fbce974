// The heartbeats of one connection: at intervals a worker tells each memory server that it lives and what its
// transactions still use, and does what the server asks for in its reply.
//
// Of several memory servers one may hang. Its answer is awaited for a moment and no longer: the others hear
// of this worker all the same, and it of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "proto/control_types.h"

namespace namdb::compute {

struct Connection;

// Held by shared pointers: tasks in the background hold it, and the connection.
class Heartbeat : public std::enable_shared_from_this<Heartbeat> {
 public:
  // How long one answer of several memory servers is awaited.
  static constexpr std::uint64_t kPatience_ns = 200 * kMillisecond_ns;

  // `gate` has the tasks in the background; `answers` those that wait for answers of memory servers, which
  // end with the connection. Both outlive this.
  Heartbeat(std::shared_ptr<Connection> connection, reactor::Gate& gate, reactor::Gate& answers);

  // One heartbeat to each memory server that is not lacking, one after the other; an error ends it, and means
  // a lost connection. A server whose last answer has not come yet is left out.
  reactor::Task<Status> beat();
  // OrphanTables::discard().
  reactor::Task<Status> discard_orphans();
  // Some server has not answered in time, and not since.
  bool awaits_answer() const;
  // The pause before the next heartbeat, in ns. It is shorter than `interval_ns` while an acknowledgement of
  // this worker is awaited: by a memory server, to free old versions and index entries (readers pass them
  // until then), or by a change of the schema.
  std::uint64_t pause_ns(std::uint64_t interval_ns) const;

 private:
  // Background work that is under way, or that ended after its caller had stopped waiting.
  struct Errand {
    bool under_way = false;
    Status outcome;
  };
  using Work = std::function<reactor::Task<Status>()>;

  // The outcome of `work`; ok if that takes too long, or if the last one of that errand is still under way.
  reactor::Task<Status> in_time(Errand* errand, Work work);
  static reactor::Task<void> carry_out(std::shared_ptr<Heartbeat> self, Errand* errand, Work work);
  // Twice in a row where the first brings a change of the catalog that can be acknowledged at once.
  reactor::Task<Status> beat_one(layout::ServerId server);
  reactor::Task<Status> beat_once(layout::ServerId server);
  control::HeartbeatRequest request_to(layout::ServerId server);
  // Fills in what memory server 0 is told about the compute server.
  void describe_compute(control::HeartbeatRequest* request) const;
  // Does what the server asks for.
  reactor::Task<Status> follow(layout::ServerId server, const control::HeartbeatReply* reply);
  // Decides on index entries that the memory server has doubts about.
  static reactor::Task<void> resolve_doubts(std::shared_ptr<Heartbeat> self, layout::ServerId server);
  // Takes a snapshot for the servers that do not have the whole timestamp vector.
  reactor::Task<Status> copy_vector();
  // The same of a partitioned vector: a confirmed copy and the slots that it lacks.
  reactor::Task<void> copy_parts();

  std::shared_ptr<Connection> connection_;
  reactor::Gate& gate_;
  reactor::Gate& answers_;
  reactor::Event answered_;
  std::map<layout::ServerId, Errand> beats_;
  Errand copy_;
  Errand discard_;
  std::string vector_copy_;
  std::uint64_t vector_copied_ns_ = 0;
  std::set<layout::ServerId> resolving_;  // servers whose doubts are being resolved
  std::set<layout::ServerId> waiting_;    // servers that wait for an acknowledgement
};

}  // namespace namdb::compute

// Memory server 0 opens a database that lies on the disks of several memory servers, and opens it again each
// time that one of them has restarted. While a memory server is away the others stay as they are; when it is
// there again, with its data, all go through a round (host_opening.h):
//
//   gather   each server dismisses its workers, except those that joined without the servers that have
//            restarted, and names the slots with journals that have not ended and have no owner
//   decide   dead slots of this process are decided as always (dead_slots.h); slots of an earlier process,
//            and those whose end a server has not recorded, here
//   derive   each server that opens: redo, buckets, indexes; with keys from all others
//   place    words of closed slots in parts of the timestamp vector elsewhere
//   serve    the others first, this server last: a worker connects to this one first
//
// After the first round this server knows the outcomes of commits that its restart cut off, and tells them to
// the owners (memory/coordinator/outcomes.h).
//
// So nothing is undecided when a server opens, and no worker uses state from before: bucket arrays,
// reservations, snapshots. The server's epochs are new, and workers join with the epochs of all.
//
// Workers that stay have no part in a server that opens: they never reached it, and none of their commits has
// a part there. They change no key of an index's part there either: such a change is a write there, too, and
// fails. So while the keys for these parts are read from the rows of the open servers, these keys do not
// change. Once the round is over these workers connect again, to all servers.
//
// With copies each round begins with a lease of this server's region (memory/state/copies_service.h): a host
// that is deposed, and does not know it yet, must not end the rounds of its successor. A gathered server
// takes the process with the latest link for the successor. So the lease has to be held when the link is up,
// and GATHER is posted in the same turn: then no successor was open when that link was made.
//
// A round that fails is followed by another one, at growing pauses, and at once when a link is made.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/coordinator/decider.h"
#include "memory/deciding/decide.h"
#include "memory/opening/host_opening.h"
#include "memory/state/server_state.h"

namespace namdb::memory {

class ClusterOpening {
 public:
  static constexpr std::uint64_t kFirstPause_ns = kMillisecond_ns;
  static constexpr std::uint64_t kLongestPause_ns = kSecond_ns;

  // Of server 0. Both outlive this.
  ClusterOpening(ServerState& server, HostOpening& host, std::uint64_t database_id)
      : server_(server), host_(host), hosts_(server), database_id_(database_id), changed_(server.executor) {}

  void start() { server_.executor.spawn(gate_, run()); }
  // No other round begins. The server's links are closed, or will be: that ends what is under way.
  void stop();
  // Behind stop(), and behind the end of the server's links.
  reactor::Task<void> close();

 private:
  struct Round {
    std::uint64_t number = 0;
    std::uint64_t sequence = 0;
    std::set<std::uint32_t> restarted;           // since all were open; empty: all workers leave
    std::vector<control::GatherReply> gathered;  // by server, as the next
    std::vector<control::DeriveReply> derived;
    control::DeriveRequest derive;
    control::ServeRequest serve;
    std::uint32_t answers = 0;  // to the calls of one kind
    Status failure;             // of the first that failed
  };
  using RoundPointer = std::shared_ptr<Round>;

  bool ending() const { return stopping_ || server_.stopping || server_.shutdown; }
  // The memory servers whose processes have other epochs than these.
  std::set<std::uint32_t> restarted(const std::vector<std::uint64_t>& epochs) const;
  // The same, as far as the links that are up show it now.
  bool has_restarted(const std::vector<std::uint64_t>& epochs) const;
  reactor::Task<void> run();
  // With copies: ok if no other host can have opened this server's region. Error: another host may have.
  reactor::Task<Status> confirm_region();
  reactor::Task<Status> open_all();
  reactor::Task<void> gather(RoundPointer round, layout::ServerId server);
  reactor::Task<Status> gather_other(const control::GatherRequest* request, layout::ServerId server,
                                     control::GatherReply* reply);
  reactor::Task<void> derive(RoundPointer round, layout::ServerId server);
  reactor::Task<void> serve(RoundPointer round, layout::ServerId server);
  void answered(Round& round, Status status);
  reactor::Task<Status> await_answers(RoundPointer round, std::uint32_t count);
  // Closes slots of this process, and undoes the tables that workers were creating.
  reactor::Task<Status> settle_own(RoundPointer round);
  reactor::Task<Status> decide_others(RoundPointer round);
  // Keeps the outcomes of slots that were open when this server stopped, once all of them are decided.
  void keep_outcomes(const Round& round);
  reactor::Task<void> tell_catalog(RoundPointer round);
  reactor::Task<Status> place_words();
  // Error from a call whose reply cannot be read.
  template <typename Request, typename Reply>
  reactor::Task<Status> call(layout::ServerId server, std::uint16_t method, const Request* request,
                             Reply* reply);
  void report(const Status& why);

  ServerState& server_;
  HostOpening& host_;
  ClusterHosts hosts_;
  std::uint64_t database_id_;
  std::vector<std::uint64_t> epochs_;  // of the servers that last opened together; empty: not yet
  bool failed_ = false;                // the last round
  std::uint64_t rounds_ = 0;
  std::map<std::uint32_t, Verdicts> verdicts_;  // of slots that were decided here, in any round
  bool outcomes_kept_ = false;
  std::string reported_;
  bool stopping_ = false;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory

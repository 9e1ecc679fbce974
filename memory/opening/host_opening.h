// A memory server's side of the opening of a database that lies on the disks of several memory servers. All
// of them open in rounds, which memory server 0 leads (cluster_opening.h):
//
//   gather   workers have left, and none comes; which slots' journals are here and have not ended. Copies in
//            sync have the log
//   (the decider asks for these, and settles them)
//   derive   nothing is undecided. A server that opens finishes redo, and makes buckets and indexes; all of
//            them send keys of indexes to the servers that open
//   serve    workers may come
//
// A server that is open takes part whenever another one opens. Workers that joined without that one may stay
// on it, and change rows all the time. A round that fails somewhere is followed by another one: each step
// may come again, and finds what was done before.
//
// The decider has to know which parts of commits are here. While the server opens, the log says so; later,
// the journals in the region do (OpeningService, memory/deciding/decide.h).
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/opening/log_replay.h"
#include "memory/peers/links.h"
#include "memory/recovery/derived_state.h"
#include "memory/recovery/index_loads.h"
#include "memory/recovery/progress.h"
#include "memory/state/opening_service.h"
#include "memory/state/server_state.h"
#include "proto/control.pb.h"

namespace namdb::memory {

// The part of an opening that ends redo and makes what is derived from rows (durable_database.h).
class UnopenedDatabase {
 public:
  virtual ~UnopenedDatabase() = default;
  // Resumes when copies in sync have all of the log that was found. Others may act on that then, for it
  // outlives this host. Error: the log has failed, or ended.
  virtual reactor::Task<Status> confirm_log() = 0;
  // Every entry of the log is decided. Comes again behind a round that failed. The request and `loads`
  // outlive the task.
  virtual reactor::Task<Status> derive(const control::DeriveRequest* request, IndexLoads* loads) = 0;
  // Whether it opens without a part of its log.
  virtual bool lost_log() const = 0;
  // The largest timestamp of any version here; known once derived.
  virtual std::uint64_t largest_timestamp() const = 0;
};

class HostOpening final : public OpeningService {
 public:
  // Workers leave by themselves: a heartbeat tells them. Then they are fenced.
  static constexpr std::uint64_t kPatience_ns = 5 * kSecond_ns;

  // All outlive this, except `database` and `replay`, which stay until the server serves, or until close().
  HostOpening(ServerState& server, std::uint64_t database_id, UnopenedDatabase& database, LogReplay& replay);

  // Resumes when workers may come. Errors: configuration, corrupt_data, out_of_memory and others, with which
  // the server cannot open; admin_shutdown.
  reactor::Task<Status> await_served();
  // Calls fail from now on, and those under way have ended. May come again.
  reactor::Task<void> close();

  reactor::Task<Status> gather(const control::GatherRequest* request, control::GatherReply* reply) override;
  reactor::Task<Status> derive(const control::DeriveRequest* request, control::DeriveReply* reply) override;
  reactor::Task<Status> serve(const control::ServeRequest* request) override;

  bool restored(std::uint32_t slot) const override;
  reactor::Task<Result<calls::LookReply>> look(std::uint32_t slot) override;
  reactor::Task<Status> record(std::uint32_t slot, std::vector<std::uint32_t> counters,
                               Verdict verdict) override;
  reactor::Task<Status> close(std::uint32_t slot, std::uint32_t final_counter) override;

 private:
  class UnderWay;
  Status check_round(std::uint64_t round) const;
  reactor::Task<Status> gather_here(const control::GatherRequest* request, control::GatherReply* reply);
  reactor::Task<Status> derive_here(const control::DeriveRequest* request, control::DeriveReply* reply);
  // For a server that is open.
  Recovery beside_transactions();
  reactor::Task<Status> send_keys(const control::DeriveRequest* request);
  // The server cannot open, whatever others do.
  Status refuse(Status why);
  const LogReplay::SlotJournal* find(std::uint32_t slot) const;

  ServerState& server_;
  std::uint64_t database_id_;
  UnopenedDatabase* database_;  // null once the server serves
  LogReplay* replay_;           // likewise
  std::uint64_t round_ = 0;
  std::uint64_t coordinator_ = 0;  // the process of memory server 0 that leads it
  std::uint64_t sequence_ = 0;     // among the rounds of that process
  bool derived_ = false;           // in this round
  bool deriving_ = false;          // in this one, or an earlier one
  bool served_ = false;
  bool closing_ = false;
  std::uint32_t calls_ = 0;  // under way
  Status failure_;
  control::DeriveRequest catalog_;  // of this round, as far as it has come
  std::unique_ptr<IndexLoads> loads_;
  RecoveryProgress progress_;  // of an open server's part
  reactor::Event changed_;
};

// Error admin_shutdown.
Status opening_ends();
// INDEX_LOAD over the server's links.
SendIndexLoad send_by_links(Links& links);

}  // namespace namdb::memory

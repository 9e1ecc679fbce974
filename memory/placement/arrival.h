// A region comes to a host that waits for one: while the old host goes on, its database's files are copied,
// and then it gives the region up (region_host.h).
//
//   rounds  the old host makes a checkpoint and holds it (CHECKPOINT); its files are copied, and the log up
//           to its durable end, again and again, until little is left
//   pause   the old host's log is paused; the rest is copied, and all is made durable, with the record
//           `whole` (place_record.h)
//   claim   HAND_OVER, until the old host says yes or no. It may end and start again meanwhile, and so may
//           this process: it goes on here
//   here    the record says so. The process opens the database as one that restarts
//
// Another round, which copies only new files, follows if the pause ends before the claim arrives, or if the
// hold ends because the old host's log is short of room. Until the old host gives the region up, the region
// is unchanged there, and the copy here can be thrown away.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/placement/ask.h"
#include "common/placement/move_calls.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/placement/place_record.h"
#include "proto/control.pb.h"

namespace namdb::memory {

struct ArrivalOptions {
  std::uint16_t server_id = 0;
  std::uint32_t server_count = 1;
  std::uint64_t hold_ns = 60 * kSecond_ns;
  std::uint64_t pause_ns = 5 * kSecond_ns;
  // The log is paused once less of it is left, or after so many looks at it.
  std::uint64_t near_bytes = 1U << 20;
  std::uint32_t looks = 20;
  std::uint32_t rounds = 8;
  std::uint32_t piece_bytes = 256U << 10;  // of a file, in one call
  // Between two claims: at first, while clients wait, and later.
  std::uint64_t ask_again_ns = 10 * kMillisecond_ns;
  std::uint64_t hurry_ns = 5 * kSecond_ns;
  std::uint64_t longest_ask_again_ns = 500 * kMillisecond_ns;
  // Lines for people. May be empty.
  std::function<void(const std::string&)> notice;
};

class Arrival {
 public:
  // All outlive this. `make_hello`: a tool's. The record is vacant, or whole, where the claim goes on.
  Arrival(reactor::Executor& executor, Disk& disk, fabric::ClientFabric& fabric,
          placement::MakeHello make_hello, PlaceKeeper& keeper, ArrivalOptions options);
  Arrival(const Arrival&) = delete;
  Arrival& operator=(const Arrival&) = delete;

  void start();
  // Begins with the move, unless it is the one under way. Error object_not_in_prerequisite_state: there is
  // another.
  Status order(const placement::MoveRequest& request);
  placement::MoveReply progress() const;
  // Resumes when the region is here, or close() was called. Error: the disk's, or that of a region that does
  // not fit; the process is to end.
  reactor::Task<Status> ended();
  // A move is under way.
  bool busy() const { return order_.has_value() || keeper_.record().state == PlaceState::whole; }
  bool here() const { return keeper_.record().state == PlaceState::here; }
  // When the old host's log was paused for the last time; 0: not by this process.
  std::uint64_t paused_ns() const { return paused_ns_; }
  reactor::Task<void> close();

 private:
  struct Segment {
    std::unique_ptr<DiskFile> file;
    std::uint64_t copied_bytes = 0;
  };
  using Files = std::map<std::string, std::uint64_t>;  // length by name

  reactor::Task<void> run();
  reactor::Task<void> move();
  // Until the copy is whole, and its record durable.
  reactor::Task<Status> copy();
  reactor::Task<Status> copy_round();
  reactor::Task<Status> connect();
  reactor::Task<Status> clear();
  // Errors name the old host.
  reactor::Task<Result<std::string>> call(std::uint16_t method, std::string request);
  reactor::Task<Result<control::CheckpointReply>> checkpoint(control::CheckpointRequest request);
  // Error: the hold has ended at some moment.
  reactor::Task<Status> renew();
  reactor::Task<Status> renew_in_time();
  // The old host goes on, without a pause and a hold.
  reactor::Task<void> go_on();
  reactor::Task<Result<Files>> list(placement::Part part, placement::FilesReply* end);
  reactor::Task<Status> copy_checkpoint();
  // Up to the log's durable end at the old host.
  reactor::Task<Status> copy_log(placement::FilesReply* end);
  reactor::Task<Status> copy_bytes(placement::Part part, std::string name, DiskFile* file, std::uint64_t from,
                                   std::uint64_t to);
  reactor::Task<Status> sync_log();
  // Files that the old host has no more.
  reactor::Task<Status> remove_others(placement::Part part, Files kept);
  // Ok: the region is here. Error: it is not, and will not be by this claim, and the record says so.
  reactor::Task<Status> claim();
  reactor::Task<Status> store(PlaceState state);
  std::string folder(placement::Part part) const {
    return keeper_.folder() + "/" + std::string(placement::name_of(part));
  }
  void notice(const std::string& line) const;
  Status stopped() const;

  reactor::Executor& executor_;
  Disk& disk_;
  fabric::ClientFabric& fabric_;
  placement::MakeHello make_hello_;
  PlaceKeeper& keeper_;
  ArrivalOptions options_;

  std::optional<placement::MoveRequest> order_;
  std::unique_ptr<fabric::Channel> channel_;
  std::uint64_t hold_ = 0;  // its number; 0: none
  std::uint64_t renewed_ns_ = 0;
  std::uint64_t database_id_ = 0;
  placement::Configuration known_places_;   // by the old host
  std::set<std::string> checkpoint_files_;  // that are here, whole and synced
  std::map<std::uint64_t, Segment> segments_;
  std::uint64_t log_position_ = 0;  // all before it is here

  std::uint64_t began_ns_ = 0;
  std::uint64_t ended_ns_ = 0;  // 0: it goes on
  std::uint64_t copied_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t rounds_ = 0;
  std::uint64_t paused_ns_ = 0;
  Status error_;    // of the last move
  Status failure_;  // the process is to end
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory

// A host that has a copy of a region: it follows the primary's log all the time, and takes over when the
// primary does not answer any more (copies.h has the primary's end).
//
//   join     the log of the primary, from where its newest checkpoint needs it, then that checkpoint's files
//   follow   FOLLOW, one after the other: each has the next blocks, and says that those before are durable
//            here. New generations of checkpoints come beside (generation_copy.h). Beside that, too, the
//            region of the folder is kept in memory (copy_applier.h)
//   take over  the configuration store lists this host as a copy in sync of a primary that has been silent:
//            the store is changed, so that this host is the primary, and no other copy is in sync. Then it
//            waits until all leases are over that the old primary can have (copies.h). The record says
//            `here`, and the process opens the region in memory, or the folder as one that restarts
//
// A store with an older value than this host knows (it was restored, say), or with a successor of such a
// value, counts as a store that does not answer. If the primary cannot be reached, and the store does not
// list this host or another host was faster, this host follows the primary that the store names.
//
// The ends of this log and of the primary's may differ, by blocks whose commits were never answered. These
// blocks are cut off here; if that is not enough, the copy begins anew.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/placement/ask.h"
#include "common/placement/configuration_store.h"
#include "common/placement/follow_calls.h"
#include "common/placement/move_calls.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/placement/copy_applier.h"
#include "memory/placement/copy_folder.h"
#include "memory/placement/generation_copy.h"
#include "memory/placement/log_feed.h"
#include "memory/placement/place_record.h"

namespace namdb::memory {

struct FollowerOptions {
  std::uint16_t server_id = 0;  // of the region
  std::uint32_t server_count = 1;
  std::string address;  // of this host, as others reach it
  // A primary that does not answer for so long is taken for gone.
  std::uint64_t silence_ns = kSecond_ns;
  // The same of one that has not answered this process yet: it may be starting, too.
  std::uint64_t first_silence_ns = 10 * kSecond_ns;
  std::uint64_t retry_ns = 50 * kMillisecond_ns;
  // The store gets so long to say what became of a change whose answer is not known.
  std::uint64_t unknown_ns = 10 * kSecond_ns;
  std::uint32_t piece_bytes = 256U << 10;  // of a file, in one call
  // Makes the region in memory. May be empty: then the region is not kept in memory.
  CopyApplier::MakeImage make_image;
  std::uint64_t settle_bytes = CopyApplier::kSettle_bytes;
  // Lines for people. May be empty.
  std::function<void(const std::string&)> notice;
};

class Follower {
 public:
  // All outlive this. `make_hello`: a tool's. The record is vacant, joins, or follows.
  Follower(reactor::Executor& executor, Disk& disk, fabric::ClientFabric& fabric,
           placement::MakeHello make_hello, PlaceKeeper& keeper, placement::ConfigurationStore& store,
           FollowerOptions options);
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  void start();
  // Resumes when the region is here, or close() was called. Error: the process is to end.
  reactor::Task<Status> ended();
  bool here() const { return keeper_.record().state == PlaceState::here; }
  // Ends to follow for good, and to take over: the next process does that then, since the store says so.
  reactor::Task<void> close();

  // Resumes when this copy is no longer in sync: the store says so, or the primary does in an answer that it
  // gave after it knew that the copy leaves. Error object_not_in_prerequisite_state: no other copy is in sync
  // and `force` is not set, or the region has come here. To be followed by close().
  reactor::Task<Status> leave(bool force);
  placement::MoveReply progress() const;
  bool in_sync() const { return in_sync_; }
  // Bytes by which the primary's log is ahead, by its last answer.
  std::uint64_t lag_bytes() const;
  // Bytes of the log here that are not in the region in memory yet; without such a region, all that a restart
  // would read.
  std::uint64_t unapplied_bytes() const;
  // Once the region is here, behind close(): its image in memory, or null.
  std::unique_ptr<CopyImage> take_image() { return std::move(image_); }

 private:
  std::string region_name() const;
  // The region's place in the newest configuration that this host has received.
  const placement::Place& place_of_region() const;
  bool listed() const;
  void know();
  bool whole() const { return keeper_.record().state == PlaceState::follows; }
  reactor::Task<void> run();
  reactor::Task<Status> work();
  reactor::Task<Status> load();
  reactor::Task<Status> start_over(std::string why);
  // Error connection_failure also while it has an older value than this host knows, or one of another
  // history.
  reactor::Task<Result<placement::ConfigurationStore::Stored>> read_store();
  // Asks the store for the primary to follow. Error: the process is to end.
  reactor::Task<Status> look();
  // Until the connection is lost, or there is none: why. `fatal_` is set after errors of this host.
  reactor::Task<Status> follow();
  reactor::Task<Status> connect();
  reactor::Task<Status> follow_once(bool* differs);
  reactor::Task<Status> take(placement::FollowReply reply, bool* differs);
  placement::FollowRequest request(bool differs) const;
  reactor::Task<Status> cut(placement::BlockMark mark);
  reactor::Task<Result<std::string>> call(std::uint16_t method, std::string request);
  reactor::Task<void> watch();
  // A process that was stopped cannot tell whether the primary was silent meanwhile.
  void note_pause();
  reactor::Task<Status> begin_generation(std::uint64_t generation);
  reactor::Task<Status> become_whole();
  reactor::Task<Status> take_over();
  // The store says that this host is the primary.
  reactor::Task<Status> come_here(placement::Configuration configuration);
  reactor::Task<void> finish_image();
  reactor::Task<Status> store(PlaceState state);
  reactor::Task<void> leave_primary();
  void told(const std::string& line);
  void notice(const std::string& line) const;

  reactor::Executor& executor_;
  fabric::ClientFabric& fabric_;
  placement::MakeHello make_hello_;
  PlaceKeeper& keeper_;
  placement::ConfigurationStore& store_;
  FollowerOptions options_;
  CopyFolder folder_;
  GenerationCopy generations_;
  CopyApplier applier_;
  std::unique_ptr<CopyImage> image_;  // once the region is here

  std::string primary_;  // its address; empty: none is known
  std::unique_ptr<fabric::Channel> channel_;
  std::uint64_t calls_ = 0;       // that wait for the primary
  std::uint64_t call_ns_ = 0;     // since when no call was answered though one waits; 0: none does
  std::uint64_t posted_ns_ = 0;   // when the last FOLLOW was, or this process began
  std::uint64_t heard_ns_ = 0;    // the primary's last answer, or since when it has been that
  bool heard_ = false;            // it has answered
  std::uint64_t watched_ns_ = 0;  // when watch() has looked last; 0: not yet
  bool in_sync_ = false;          // by its last answer
  bool leaves_ = false;
  bool knows_ = false;                    // since then the store or the primary has said whether this copy is
                                          // in sync
  std::uint64_t next_generation_ns_ = 0;  // no try before
  std::uint64_t database_id_ = 0;
  std::uint64_t end_position_ = 0;  // of the primary's log
  std::uint64_t began_ns_ = 0;
  std::uint64_t copied_bytes_ = 0;
  std::string told_;
  std::string generation_error_;  // told; of the last try to copy a checkpoint
  Status fatal_;                  // an error of this host
  Status failure_;                // the process is to end
  bool over_ = false;
  reactor::Event changed_;
  reactor::Gate gate_;
};

}  // namespace namdb::memory

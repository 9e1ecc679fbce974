// The primary's end of a region's copies: hosts that follow its log (follower.h).
//
//   follows   asks for blocks, and acknowledges those that are on its disk
//   counts    no commit is answered before it is on that disk (Log::set_confirmed)
//   in sync   the configuration store lists it: it may take over. It counts, too
//
//   follows -> counts      it is near the log's end, and its folder is whole
//   counts -> in sync      it has all that was answered before it counted; then the store is changed
//   in sync -> follows     it was silent, or has to begin anew: first the store is changed, then it stops
//                          counting
//
// So at each moment every answered commit is on the disks of all listed copies.
//
// A change of the store whose answer was lost may take effect later. Until the store's revision changes,
// every copy that may be listed counts, and the change is tried again.
//
// Deposed: the store names another primary. The log ends for good, so the owners of waiting commits ask
// elsewhere. The record says that this folder is a copy now (place_record.h), and the server ends as by a
// shutdown. The process goes on as a copy.
//
// A switch (LEAVE) is the same with a copy that has all: the log is paused, the copy acknowledges its end,
// and this host itself names it in the store.
//
// Lease: a copy that posts FOLLOW promises to open nothing for kLease_ns, plus the time that workers' leases
// take after it. The copy posts a FOLLOW only after the reply to the one before. So the primary counts this
// time from its last reply on the same channel. The primary holds the lease while no promise of a copy that
// counts has run out, and once these copies have all that was in the log when it opened. Without copies it
// always holds the lease, since no host can take over.
//
// The place is durable in this host's record before anything follows from it, such as an answer without a
// copy. So a host that starts can detect that the store was reset to an older value.
//
// While the store is unreachable everything goes on, but no copy comes or goes. The same holds while the
// store has an older value than this host knows (it was restored, say), or a successor of such a value. The
// store is read every second, also without copies, so that such a state is reported.
//
// One executor's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/placement/configuration_store.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/log/checkpoint_store.h"
#include "memory/log/disk.h"
#include "memory/log/log.h"
#include "memory/placement/log_feed.h"
#include "memory/placement/place_record.h"
#include "memory/state/copies_service.h"
#include "memory/state/server_state.h"

namespace namdb::memory {

struct CopiesOptions {
  std::string address;  // of this host, as the store has it
  // A copy counts once it lacks less than that.
  std::uint64_t near_bytes = 1U << 20;
  std::uint64_t silence_ns = kSecond_ns;
  // FOLLOW is answered after this time although there is no new block.
  std::uint64_t poll_ns = 150 * kMillisecond_ns;
  std::uint64_t look_ns = 50 * kMillisecond_ns;
  // The store is read so often though nothing calls for it.
  std::uint64_t ask_ns = kSecond_ns;
  // A copy that is to get the region has so long to come to the log's end, and the store to say so.
  std::uint64_t switch_ns = 2 * kSecond_ns;
  // Behind close() the log waits so long for copies, at most.
  std::uint64_t farewell_ns = 2 * kSecond_ns;
  // As LogOptions' one.
  std::function<void(const Status&)> on_failure;
};

class Copies final : public CopiesService {
 public:
  using Stored = placement::ConfigurationStore::Stored;

  // All outlive this. `stored`: as it was read when this host was the primary already. From now on
  // generations of checkpoints bear that place's number.
  Copies(ServerState& server, Disk& disk, Log& log, CheckpointStore& checkpoints, PlaceKeeper& keeper,
         placement::ConfigurationStore& store, Stored stored, CopiesOptions options);
  ~Copies() override;
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // Behind it calls are answered, and the log waits for copies in sync. First the place is durable in the
  // record. Error: the disk's, of which on_failure is told, too; then only close() may follow.
  reactor::Task<Status> start();
  // The server ends: copies are served on, and the log waits for them, but not for ever.
  void stop_soon();
  // Behind the end of all that flushes the log, before the fabric's close(). With copies, the log ends.
  reactor::Task<void> close();

  reactor::Task<Status> follow(fabric::PeerId peer, placement::FollowRequest request,
                               std::string* reply) override;
  reactor::Task<Status> lease(Gone gone) override;
  bool holds_lease() const override;
  reactor::Task<Status> leave(placement::LeaveRequest request, Gone gone) override;

  bool deposed() const { return deposed_; }
  // For metrics. Copies that are listed, and have not been silent.
  std::size_t in_sync() const;
  // Bytes of the log that the slowest following copy has not acknowledged.
  std::uint64_t lag_bytes() const;

 private:
  struct Copy {
    fabric::PeerId peer = 0;
    std::uint64_t heard_ns = 0;    // its last FOLLOW came
    std::uint64_t replied_ns = 0;  // the last one of this channel was answered; 0: none was
    std::uint64_t lease_ns = 0;    // until when it opens nothing
    std::uint64_t waiting = 0;     // calls of it that run
    LogPosition acknowledged = 0;
    bool fits = false;     // its log is a part of this one
    bool settles = false;  // its end differs, and is to be cut
    bool whole = false;    // its folder
    bool counts = false;
    LogPosition needed = 0;  // counts, and is not in sync yet: the position that it must have
  };

  // A waiting call looks this often whether its caller is gone.
  static constexpr std::uint64_t kCallerLook_ns = 50 * kMillisecond_ns;
  // After so many periods of silence, a line for people names the copies for which a new primary waits.
  static constexpr std::uint64_t kOpeningPatience = 5;
  static Status region_ends();

  const placement::Place& place() const { return stored_.configuration.place(server_.options.server_id); }
  bool listed(const std::string& address) const { return place().has_copy(address); }
  bool silent(const Copy& copy) const;
  // Whether the copy may be in sync.
  bool fit(const Copy& copy) const;
  // The copy has the log up to the acknowledged position, or its log differs.
  void acknowledge(Copy& copy, const placement::FollowRequest& request);
  void confirm();
  placement::FollowReply reply_now() const;
  Status check(const placement::FollowRequest& request, fabric::PeerId peer) const;
  reactor::Task<Status> answer_follow(Copy* copy, const placement::FollowRequest* request,
                                      placement::FollowReply* answer);
  reactor::Task<Status> start_over(std::string address, placement::FollowReply* answer);
  // Resumes when that copy does not count any more. Error: it takes too long, or the server ends.
  reactor::Task<Status> dismiss(std::string address);

  void wake_all();
  reactor::Task<void> run();
  bool must_ask() const;
  // Copies that are not listed count no more once they are gone.
  void forget_gone();
  // Tells people once for which copies commits wait, where that does not end by itself.
  void tell_waiting();
  void end_log();
  reactor::Task<void> end_late(std::uint64_t deadline_ns);
  std::vector<std::string> wanted();
  reactor::Task<void> change(std::vector<std::string> copies);
  reactor::Task<void> look_at_store();
  // Durable in the record. `found` outlives the task.
  reactor::Task<Status> keep_place(const placement::Configuration* found);
  reactor::Task<void> take(Stored stored);
  // The region is elsewhere, and the record has that state.
  reactor::Task<void> depose(placement::Configuration configuration, PlaceState state);
  // The copy in sync that gets the region.
  Result<std::string> heir(const std::string& to) const;
  reactor::Task<Status> give_to(std::string address, Gone gone);
  // Whether that is the value behind this revision. `next` outlives the task.
  reactor::Task<Result<bool>> replace_until_known(std::uint64_t revision,
                                                  const placement::Configuration* next, Gone gone);

  ServerState& server_;
  reactor::Executor& executor_;
  Log& log_;
  const CheckpointStore& checkpoints_;
  PlaceKeeper& keeper_;
  placement::ConfigurationStore& store_;
  CopiesOptions options_;
  LogFeed feed_;
  Stored stored_;
  std::map<std::string, Copy> copies_;
  const LogPosition opened_;

  std::optional<std::uint64_t> open_change_;  // the revision at which a change may still happen
  std::optional<placement::Place> given_;     // the last order's that gives the region away
  bool unreachable_ = false;
  // About a store that has no value, or one of another database or history. Nothing is changed there
  // meanwhile: a revision of this history may come again in that one.
  std::string told_;
  bool deposed_ = false;
  bool was_stopped_ = false;
  bool revision_is_old_ = false;
  bool switching_ = false;      // a copy gets the region
  std::uint64_t awake_ns_ = 0;  // since when this process has not been stopped
  std::uint64_t began_ns_ = 0;  // start() has
  std::uint64_t asked_ns_ = 0;  // when the store was asked last
  std::string waiting_told_;    // of copies for which commits wait
  reactor::Event blocks_;       // there is one more
  reactor::Event leases_;       // one was given, or a copy has acknowledged
  reactor::Event look_;         // at the copies
  reactor::Event dismissed_;    // perhaps
  reactor::Gate gate_;
};

}  // namespace namdb::memory

// The collector frees memory that no transaction can need any more, in one task of the server:
//   old versions in the overflow region   old_versions.h
//   deleted records                       tombstones.h
//   dead entries of indexes               index/doubts.h
//   memory given back for reuse           epoch_reclaimer.h
//   closed slots (server 0)               slots.h
//   remains of departed workers           disconnected_peers.h, reservations.h; tombstones without a note
//   workers that fell silent              fenced, where a heartbeat timeout is set
// It runs a few times a second while there is such work, and sleeps otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/coordinator/slots.h"
#include "memory/index/indexes.h"
#include "memory/options.h"
#include "memory/peers/peers.h"
#include "memory/reclaim/disconnected_peers.h"
#include "memory/reclaim/epoch_reclaimer.h"
#include "memory/reclaim/old_versions.h"
#include "memory/reclaim/tombstones.h"
#include "memory/region/reservations.h"
#include "memory/region/tables.h"

namespace namdb::memory {

class Collector {
 public:
  struct Duties {
    OldVersions& old_versions;
    Tombstones& tombstones;
    EpochReclaimer& reclaimer;
    Tables& tables;
    Indexes& indexes;
    Peers& peers;
    DisconnectedPeers& disconnected_peers;
    Reservations& reservations;
    Slots* slots;  // server 0
    // Ends what is kept elsewhere of compute servers that have ended.
    std::function<void(const std::set<std::string>& ended)> forget;
    // Fences a compute server whose worker fell silent.
    std::function<void(const std::string& compute_id)> fence;
  };
  Collector(reactor::Executor& executor, const Options& options, Duties duties)
      : executor_(executor),
        options_(options),
        duties_(std::move(duties)),
        wake_(executor),
        returned_more_(executor) {}

  // Runs until stop().
  reactor::Task<void> run(fabric::Channel& loopback);
  // There may be something to do.
  void wake() { wake_.notify_all(); }
  // Extents are on their way back: a call that finds none may wait for them (wait_for_return).
  bool returns_extents() const { return returning_ || duties_.reclaimer.has_extents(); }
  // How often tables, indexes and arrays of buckets were given back.
  std::uint64_t returned() const { return returned_; }
  // Waits until the deadline, or until more were given back, or old versions freed.
  reactor::Task<void> wait_for_return(std::uint64_t deadline_ns);
  // While one of these lives a call waits for memory: the collector's pace is faster.
  class Haste {
   public:
    explicit Haste(Collector& collector) : collector_(collector) {
      ++collector_.hasty_;
      collector_.wake();
    }
    ~Haste() { --collector_.hasty_; }
    Haste(const Haste&) = delete;
    Haste& operator=(const Haste&) = delete;

   private:
    Collector& collector_;
  };
  // These compute servers have ended, and not cleanly.
  void settle(const std::set<std::string>& ended);
  void stop() {
    stopping_ = true;
    wake();
    returned_more_.notify_all();
  }

 private:
  bool nothing_to_free() const;
  bool scan_is_wanted() const;
  bool idle() const;
  std::uint64_t pause_ns() const;
  void fence_silent();
  reactor::Task<void> free_reusable();
  bool scan_is_due();

  reactor::Executor& executor_;
  const Options& options_;
  Duties duties_;
  reactor::Event wake_;
  reactor::Event returned_more_;
  std::uint64_t returned_ = 0;
  bool returning_ = false;
  std::uint32_t hasty_ = 0;
  bool stopping_ = false;
  std::uint64_t seen_refusals_ = 0;
  std::uint64_t scanned_ns_ = 0;
  bool scanned_ = false;
  bool unnoted_ = false;  // there may be deleted records without a note
};

}  // namespace namdb::memory

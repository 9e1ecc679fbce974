// The journals of an execution slot: a ring on each memory server that it has logged to, its *hosts*
// (common/layout/journal.h, memory/journals/journals.h). A ring is opened at first use, and closed with the
// slot.
//
// The host frees places, not the owner: only the host knows that it has read them. It learns of finished
// counters from entries and FLUSHes, and tells in the reply to a FLUSH what is free. So rings are read
// lazily. A FLUSH is posted when a ring is half full and much of it is finished, and when a commit waits for
// room. No commit waits for the answer as long as there is room.
//
// Where the database is `flushed`, an entry is durable once a FLUSH up to its end was answered. One FLUSH is
// under way to a host, for all commits of the slot: a commit that logs meanwhile is in the next one.
//
// Errors: a memory server that refuses a FLUSH for another reason than a full log, or does not get on with
// one for E, is given up (Channel::give_up), and the slot is lost with it.
//
// Belongs to the worker's executor. drain() must have ended before destruction.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"
#include "compute/txn/journal_streams.h"

namespace namdb::txn {

class SlotJournals {
 public:
  // Every counter up to `through` is finished. `changed` is notified when there may be room, or an entry is
  // durable. All outlive this.
  SlotJournals(Cluster& cluster, const std::uint32_t& through, reactor::Event& changed)
      : cluster_(cluster), through_(through), changed_(changed) {}
  SlotJournals(const SlotJournals&) = delete;
  SlotJournals& operator=(const SlotJournals&) = delete;

  // Once, before all others.
  void begin(std::uint32_t slot) { slot_ = slot; }

  // --- rings ---
  bool open_at(layout::ServerId host) const { return streams_.has(host); }
  // Opens those that are not open, side by side. Several may ask at once. Errors of OPEN_JOURNAL, and
  // connection_failure.
  reactor::Task<Status> open(std::vector<layout::ServerId> hosts);
  // On a host where the ring is open.
  bool fits_ring(layout::ServerId host, std::uint64_t entry_bytes) const {
    return layout::journal_stream_bytes(entry_bytes) <= streams_.at(host).longest_bytes();
  }
  // False, and nothing is taken, where a host has no room now; then, and where the ring is half full, asks
  // hosts to free what is finished. Each part fits its host's ring, which is open, and is of another host.
  bool take_credit(std::span<const HostBytes> parts);
  void give_back(std::span<const HostBytes> parts) { streams_.give_back(parts); }
  // journal_streams.h
  JournalPlace place(std::uint32_t counter, HostBytes part, std::uint32_t length_bytes) {
    return streams_.place(counter, part, length_bytes);
  }

  // --- FLUSH ---
  // Asks for entries up to that position to be durable. Posts the call now, unless one is under way. Counts
  // what it posts.
  void flush(layout::ServerId host, std::uint64_t position, fabric::OperationCounters& counters);
  // Waits until it is so. Error connection_failure: it is not known whether it is.
  reactor::Task<Status> await_durable(JournalEnd entry);
  // Waits until the host has been told of all counters that are finished now. Then the rooms of entries up to
  // there are free.
  reactor::Task<void> tell_finished(layout::ServerId host);
  // Tells all hosts that can free places, in the background.
  void tell_all_finished();
  // The host's log had no room for more when it last answered.
  bool log_full(layout::ServerId host) const { return flushes_.at(host).log_full; }
  // Waits for a fresh answer to that.
  reactor::Task<void> ask_again(layout::ServerId host);

  // --- the end ---
  // What is under way is answered.
  reactor::Task<void> drain();
  // Closes all rings, side by side. Everything is finished, and drained.
  reactor::Task<Status> close();

 private:
  struct Flush {
    fabric::Call call;
    bool under_way = false;
    bool log_full = false;
    std::uint32_t asked_through = 0;    // by the call
    std::uint32_t told_through = 0;     // and answered
    std::uint32_t wanted_through = 0;   // to be told
    std::uint64_t wanted_position = 0;  // to be durable
    std::uint64_t durable = 0;
    std::uint64_t answers = 0;
    bool satisfied() const { return durable >= wanted_position && told_through >= wanted_through; }
  };
  void reclaim(layout::ServerId host, bool urgent);
  void want_freed(layout::ServerId host);
  void start(layout::ServerId host);
  void post(layout::ServerId host);
  reactor::Task<void> run(layout::ServerId host);
  // From the answer to a FLUSH; `answered`: its error.
  Status learn(layout::ServerId host, Status answered);
  reactor::Task<Status> open_here(std::vector<layout::ServerId> hosts);
  Status open_stream(layout::ServerId host, std::string_view reply);

  Cluster& cluster_;
  const std::uint32_t& through_;
  reactor::Event& changed_;
  std::uint32_t slot_ = 0;
  JournalStreams streams_;
  std::map<layout::ServerId, Flush> flushes_;
  std::set<layout::ServerId> opening_;
  reactor::Gate gate_;
};

}  // namespace namdb::txn

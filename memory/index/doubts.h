// Index entries that are in doubt: a worker must check whether a record still has that key.
//
// An index holds no versions. An entry that a commit adds or leaves behind is in doubt until there is a
// verdict, by the commit itself or by any worker that checks the record. Every raise of a doubt has a
// sequence of its own, and a verdict counts only under the sequence that it was given for. So a check from
// before a later commit never undoes that commit's effect on the entry.
//
// A dead entry is removed once no running transaction can have a snapshot that still needs it. The verdict
// was that the record's newest version is published and has another key, so every snapshot taken from then on
// sees that version or a later one. A later version with this key has raised the doubt anew after the check.
// (Or its commit raised the doubt ahead of its locks, shortly before; but then no worker would have been
// asked for a check.) For snapshots from before, the rule of old versions holds (old_versions.h): E + slack
// from the verdict, or acknowledged version epochs.
//
// Private memory; belongs to the memory server's thread.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/calls/index_calls.h"
#include "memory/options.h"
#include "memory/peers/peers.h"
#include "memory/peers/version_epoch.h"

namespace namdb::memory {

struct IndexEntry {
  std::uint32_t index = 0;
  std::string key;
  friend auto operator<=>(const IndexEntry&, const IndexEntry&) = default;
};

class Doubts {
 public:
  Doubts(const Options& options, VersionEpoch& epoch) : options_(options), epoch_(epoch) {}
  Doubts(const Doubts&) = delete;
  Doubts& operator=(const Doubts&) = delete;

  struct Raise {
    bool held = false;  // given to no worker until release()
    bool ahead =
        false;  // of its record's lock (IndexChange::ahead): given to no worker before that is surely taken
  };
  // Puts the entry in doubt, again if it was. Workers get it to check unless its commit gives a verdict soon.
  // `now_ns` is not from before the request came. Returns the sequence, never 0.
  std::uint64_t raise(IndexEntry entry, Raise how, std::uint64_t now_ns);
  bool contains(const IndexEntry& entry) const { return doubts_.contains(entry); }
  void settle(const calls::IndexVerdict& verdict, std::uint64_t now_ns);
  // Appends doubts for one worker to check, which others do not get for a while (calls::IndexDoubt items).
  void take(std::uint32_t limit, std::size_t max_bytes, std::uint64_t now_ns, std::string& items);
  // True if take() would give a doubt.
  bool due(std::uint64_t now_ns) const;
  // Dead entries, at most `limit`, that no snapshot needs any more. They are no longer in doubt.
  std::vector<IndexEntry> expired(const Peers& peers, std::uint64_t now_ns, std::size_t limit);
  // The held doubts of the index become due, those that may be ahead of their locks later.
  void release(std::uint32_t index, std::uint64_t now_ns);
  // Forgets all doubts of an index that is dropped.
  void forget(std::uint32_t index);

  std::size_t count() const { return doubts_.size(); }
  std::size_t count(std::uint32_t index) const;
  // Some are dead, and wait for snapshots to end.
  bool aging() const { return !condemned_.empty() || !aging_.empty(); }

 private:
  struct Doubt {
    std::uint64_t sequence = 0;
    std::uint64_t due_ns = 0;
    std::uint64_t locked_ns = 0;  // until then commits that raised it may be ahead of their locks
    bool dead = false;
  };
  struct Condemned {
    IndexEntry entry;
    std::uint64_t sequence;
  };
  struct Aging {
    std::uint64_t since_ns;
    std::uint64_t epoch;
    std::deque<Condemned> entries;
  };
  using Map = std::map<IndexEntry, Doubt>;
  // Finds the entry. Tries the place behind the last verdict first: verdicts often come in the order of keys.
  Map::iterator find(std::uint32_t index, std::string_view key);
  // Gives the next one.
  Map::iterator erase(Map::iterator doubt);
  // Dead doubts are not in the queue, held ones at its far end.
  void enqueue(Map::iterator doubt, std::uint64_t due_ns);
  void dequeue(const Doubt& doubt);

  const Options& options_;
  VersionEpoch& epoch_;
  std::uint64_t sequence_ = 0;
  Map doubts_;
  // Behind those that were last raised and settled: a commit raises many, and settles them in the same order.
  Map::iterator behind_raised_ = doubts_.end();
  Map::iterator behind_settled_ = doubts_.end();
  std::map<std::pair<std::uint64_t, std::uint64_t>, Map::iterator> queue_;  // by when due, sequence
  std::size_t held_ = 0;                                                    // of the queue
  std::deque<Condemned> condemned_;                                         // since the last expired()
  std::deque<Aging> aging_;
};

}  // namespace namdb::memory

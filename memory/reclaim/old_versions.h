// When a displaced version in the overflow region is freed (the first duty of the collector).
//
// A version waits until this server has seen the commit that displaced it published. From then on every new
// snapshot sees the successor. Then the version ages for E + slack by this server's clock: after that time
// every transaction with an older snapshot has aborted itself. It ages for less if every live worker has
// acknowledged a version epoch that was raised since: then no running transaction has an older snapshot. Then
// the entry, which is the last of its record's chain, is unlinked and freed.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "common/layout/stamp.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"
#include "memory/options.h"
#include "memory/peers/peers.h"
#include "memory/peers/version_epoch.h"
#include "memory/region/overflow.h"
#include "memory/region/region.h"
#include "memory/region/tables.h"
#include "memory/region/visibility.h"

namespace namdb::memory {

struct OldVersion {
  std::uint64_t record = 0;
  layout::OverflowLink entry;
  std::uint32_t entry_bytes = 0;
  std::uint32_t table = 0;
};

class OldVersions {
 public:
  OldVersions(reactor::Executor& executor, Region& region, const Options& options, Tables& tables,
              Overflow& overflow, const Visibility& visibility, VersionEpoch& epoch)
      : executor_(executor),
        region_(region),
        options_(options),
        tables_(tables),
        overflow_(overflow),
        visibility_(visibility),
        epoch_(epoch) {}

  // `successor`: the commit whose install displaced the version. Entries of one record come oldest first.
  void add(OldVersion version, layout::Stamp successor) {
    waiting_.push_back({version, successor});
    live_.add(version.entry_bytes);
  }
  // Frees what can be freed, yielding now and then.
  reactor::Task<void> tick(const Peers& peers);

  bool empty() const { return waiting_.empty() && aging_.empty(); }
  // The versions that are not freed yet.
  std::vector<OldVersion> pending() const;
  std::uint64_t collected() const { return collected_; }

  struct Amount {
    std::uint64_t versions = 0;
    std::uint64_t bytes = 0;
    void add(std::uint32_t entry_bytes) {
      ++versions;
      bytes += entry_bytes;
    }
    void remove(std::uint32_t entry_bytes) {
      --versions;
      bytes -= entry_bytes;
    }
  };
  // Versions that age, and those whose successor was not seen published.
  const Amount& live() const { return live_; }
  const Amount& aging() const { return aged_; }
  // Since when the oldest of those ages; `now_ns` when there is none.
  std::uint64_t aging_since_ns(std::uint64_t now_ns) const {
    return aging_.empty() ? now_ns : aging_.front().seen_ns;
  }

 private:
  struct Waiting {
    OldVersion version;
    layout::Stamp successor;
  };
  struct Aging {
    std::uint64_t seen_ns;
    std::uint64_t epoch;
    std::deque<OldVersion> versions;
  };
  void unlink_and_free(const OldVersion& version);

  reactor::Executor& executor_;
  Region& region_;
  const Options& options_;
  Tables& tables_;
  Overflow& overflow_;
  const Visibility& visibility_;
  VersionEpoch& epoch_;
  std::deque<Waiting> waiting_;
  std::deque<Aging> aging_;
  Amount live_;
  Amount aged_;
  std::uint64_t collected_ = 0;
};

}  // namespace namdb::memory

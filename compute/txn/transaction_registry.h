// Which transactions of a worker are running, so that heartbeats can acknowledge: "every transaction that
// still runs here began after this worker learned of reuse epoch n and catalog version v". Memory that was
// freed in epoch n is not reused before that. The same goes for version epochs, since a transaction takes its
// snapshot itself, after it began: an old version is not freed while a transaction may need it.
#pragma once

#include <cstdint>
#include <deque>

#include "common/base/check.h"

namespace namdb::txn {

class TransactionRegistry {
 public:
  // A generation: give it back to end().
  std::uint64_t begin() {
    ++generations_.back().running;
    ++active_;
    return first_ + generations_.size() - 1;
  }
  void end(std::uint64_t generation) {
    NAMDB_CHECK(generation >= first_ && generations_[generation - first_].running > 0);
    --generations_[generation - first_].running;
    --active_;
    settle();
  }
  // A heartbeat's reply of one memory server brought these. `server` counts from 0.
  void learn(std::size_t server, std::uint64_t reuse_epoch, std::uint64_t catalog_version,
             std::uint64_t version_epoch) {
    if (learned_.size() <= server) learned_.resize(server + 1);
    Learned& learned = learned_[server];
    if (learned.epoch == reuse_epoch && learned.catalog == catalog_version &&
        learned.versions == version_epoch) {
      return;
    }
    // One step at a time: were the aim moved while older transactions still run, overlapping ones could keep
    // it out of reach for ever. A later heartbeat brings the newest again.
    if (first_ < learned.generation) return;
    if (learned.epoch != reuse_epoch) ++reuse_epochs_;
    learned.epoch = reuse_epoch;
    learned.catalog = catalog_version;
    learned.versions = version_epoch;
    generations_.push_back({0, now_ns_});
    learned.generation = first_ + generations_.size() - 1;
    settle();
  }
  // Called with every heartbeat: transactions that begin from now on are known to be younger.
  void pass_time(std::uint64_t now_ns) {
    now_ns_ = now_ns;
    if (generations_.back().running != 0) generations_.push_back({0, now_ns});
    settle();
  }
  // For how long at least the oldest running transaction has run, as of the last pass_time(); 0: none has run
  // since the pass_time() before that.
  std::uint64_t oldest_ns() const { return generations_.size() > 1 ? now_ns_ - generations_[1].began_ns : 0; }
  // The epochs and the version that may be acknowledged to that server now.
  std::uint64_t acknowledged_epoch(std::size_t server) const { return at(server).acknowledged_epoch; }
  std::uint64_t acknowledged_catalog(std::size_t server) const { return at(server).acknowledged_catalog; }
  std::uint64_t acknowledged_versions(std::size_t server) const { return at(server).acknowledged_versions; }
  std::uint64_t active() const { return active_; }
  // How many reuse epochs were learned, of all memory servers together.
  std::uint64_t learned() const { return reuse_epochs_; }

 private:
  struct Generation {
    std::uint64_t running = 0;
    std::uint64_t began_ns = 0;
  };
  struct Learned {
    std::uint64_t epoch = 0;
    std::uint64_t catalog = 0;
    std::uint64_t versions = 0;
    std::uint64_t generation = 0;  // transactions of this generation and later began after it was learned
    std::uint64_t acknowledged_epoch = 0;
    std::uint64_t acknowledged_catalog = 0;
    std::uint64_t acknowledged_versions = 0;
  };
  const Learned& at(std::size_t server) const {
    static const Learned kNothing{};
    return server < learned_.size() ? learned_[server] : kNothing;
  }
  void settle() {
    while (generations_.size() > 1 && generations_.front().running == 0) {
      generations_.pop_front();
      ++first_;
    }
    for (Learned& learned : learned_) {
      if (first_ < learned.generation) continue;
      learned.acknowledged_epoch = learned.epoch;
      learned.acknowledged_catalog = learned.catalog;
      learned.acknowledged_versions = learned.versions;
    }
  }

  std::deque<Generation> generations_ = {{}};
  std::uint64_t first_ = 1;  // the number of the first generation; the last is the one that new ones join
  std::uint64_t now_ns_ = 0;
  std::uint64_t active_ = 0;
  std::uint64_t reuse_epochs_ = 0;
  std::deque<Learned> learned_;
};

}  // namespace namdb::txn

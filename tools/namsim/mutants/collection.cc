// Collection: an old version goes only when no transaction can need it any more.
#include <algorithm>
#include <map>
#include <set>

#include "common/calls/hot_calls.h"
#include "compute/txn/snapshot_fetcher.h"
#include "proto/control.pb.h"
#include "tools/namsim/mutants/heartbeat.h"
#include "tools/namsim/mutants/look.h"
#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kHour_ns = 3600 * kSecond_ns;

// Workers say that no older transaction runs, whatever runs.
class VersionsAcknowledgedAtOnce final : public HeartbeatMutant {
 protected:
  void alter(control::HeartbeatRequest& heartbeat, const control::HeartbeatReply& known) override {
    heartbeat.set_acknowledged_versions(known.version_epoch());
  }
};

// Sound: before each heartbeat the memory server is asked to move what it can of all known registers.
class ManyHints : public HeartbeatMutant {
 public:
  void after(Posting& posting) override {
    const Look look(cluster());
    for (std::size_t i = 0; i < posting.asked.size(); ++i) {
      if (!look.record_lock(posting, i)) continue;
      const std::uint64_t record = posting.asked[i].remote_offset;
      const auto& words = cluster().memory(posting.server).words;
      table_ = layout::decode_body_header(reinterpret_cast<const std::byte*>(&words[record / 8 + 1])).table;
      records_[posting.server].insert(record);
    }
  }

 protected:
  void alter(control::HeartbeatRequest& heartbeat, const control::HeartbeatReply& known) override {
    static_cast<void>(heartbeat);
    static_cast<void>(known);
  }
  std::string hint(std::size_t server) override {
    if (records_[server].empty()) return {};
    std::string words(reinterpret_cast<const char*>(&table_), sizeof table_);
    for (const std::uint64_t record : records_[server])
      words.append(reinterpret_cast<const char*>(&record), sizeof record);
    return words;
  }

 private:
  std::uint64_t table_ = 0;
  std::map<std::size_t, std::set<std::uint64_t>> records_;
};

// A displaced version's age counts from the install of its successor, not from when that was seen published:
// every heartbeat brings a copy of the vector that says that everything is published. (Server 0 looks into
// the vector itself.)
class CollectedFromInstall final : public ManyHints {
 protected:
  void alter(control::HeartbeatRequest& heartbeat, const control::HeartbeatReply& known) override {
    static_cast<void>(known);
    const Look look(cluster());
    std::string copy;
    for (const std::uint32_t slot : look.slots(cluster())) {
      const std::uint64_t word = layout::HeaderWord({slot, layout::kMaxCounter}).value();
      copy.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    heartbeat.set_vector_copy(copy);
  }
};

// Compute servers believe that E is an hour: their transactions outlive the memory server's E.
class AgeIgnored final : public Mutant {
 public:
  Result<std::string> on_connect(fabric::Service& inner, std::size_t server, fabric::PeerId peer,
                                 std::string_view hello) override {
    static_cast<void>(server);
    auto answer = inner.on_connect(peer, hello);
    control::Welcome welcome;
    if (!answer.ok() || !welcome.ParseFromString(*answer)) return answer;
    welcome.set_max_transaction_ns(kHour_ns);
    return welcome.SerializeAsString();
  }
};

// Workers say that no older transaction runs so long after they learned of an epoch, whatever runs; and
// copies of the vector that were taken ahead are old: SNAPSHOT is answered late.
class AcknowledgedAfter : public HeartbeatMutant {
 public:
  explicit AcknowledgedAfter(std::uint64_t delay_ns) : delay_ns_(delay_ns) {}
  reactor::Task<Status> on_call(fabric::Service* inner, std::size_t server, fabric::PeerId peer,
                                std::uint16_t method, std::string_view request, std::string* reply) override {
    Status status = co_await HeartbeatMutant::on_call(inner, server, peer, method, request, reply);
    if (method == calls::kSnapshotMethod) co_await cluster().memory(server).node->sleep_for(kLate_ns);
    co_return status;
  }

 protected:
  void alter(control::HeartbeatRequest& heartbeat, const control::HeartbeatReply& known) override {
    const std::uint64_t now_ns = cluster().world().now_ns();
    learned_.try_emplace(known.version_epoch(), now_ns);
    std::uint64_t acknowledged = heartbeat.acknowledged_versions();
    for (const auto& [epoch, learned_ns] : learned_) {
      if (learned_ns + delay_ns_ <= now_ns) acknowledged = std::max(acknowledged, epoch);
    }
    heartbeat.set_acknowledged_versions(acknowledged);
  }

 private:
  static constexpr std::uint64_t kLate_ns = 2 * kMillisecond_ns;
  std::uint64_t delay_ns_;
  std::map<std::uint64_t, std::uint64_t> learned_;  // when, by epoch
};

// Longer than any transaction runs here, shorter than a copy that it shares may be used.
std::unique_ptr<Mutant> copies_do_not_count() {
  return std::make_unique<AcknowledgedAfter>(kMillisecond_ns);
}
std::unique_ptr<Mutant> copies_count() {
  return std::make_unique<AcknowledgedAfter>(2 * txn::kMaxPrefetchedAge_ns);
}

void short_transactions_with_old_copies(Scenario& scenario) {
  scenario.cluster.worker.snapshot_sharing = txn::SnapshotSharing::prefetched;
  scenario.cluster.worker.snapshot_mode = txn::SnapshotSource::Mode::call;
  scenario.network.request = scenario.network.reply;
  scenario.workload_options.long_reader_probability = 0;
  scenario.memory_pauses = 0;
  scenario.resize({.memory_servers = 1, .transactions = 200});
}

}  // namespace

std::vector<MutantCase> collection_mutants() {
  return {
      {"old versions are acknowledged while older transactions run", "compute/txn/transaction_registry.h",
       Emphasis::old_versions, 2, "a version was lost", make_mutant<VersionsAcknowledgedAtOnce>},
      {"a shared copy does not count among the running transactions", "compute/txn/snapshot_fetcher.h",
       Emphasis::old_versions, 31, "a version was lost", copies_do_not_count, copies_count,
       short_transactions_with_old_copies},
      {"collection counts from install", "memory/reclaim/old_versions.cc", Emphasis::old_versions, 453,
       "a version was lost", make_mutant<CollectedFromInstall>, make_mutant<ManyHints>},
      {"a transaction outlives E", "compute/txn/transaction_state.cc", Emphasis::short_age, 3,
       "a version was lost", make_mutant<AgeIgnored>},
  };
}

}  // namespace namdb::sim

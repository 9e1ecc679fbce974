// A new protocol needs its class and a line of the registry, and nothing else: this one is here, is
// registered here, and runs whole clusters.
#include <catch2/catch.hpp>

#include "common/protocols/protocol.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/commit/read_set.h"
#include "compute/protocol/registry.h"
#include "compute/txn/concurrency_control.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/validation.h"
#include "compute/txn/visibility.h"
#include "tools/namsim/scenario/index_run.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;
using protocol::ReadDecision;
using reactor::Task;

// A transaction that meets a lock aborts. At commit, under its locks, it validates that all its reads are
// unchanged.
class ToyControl final : public protocol::ConcurrencyControl,
                         public protocol::Visibility,
                         public protocol::Validation {
 public:
  explicit ToyControl(protocol::TransactionState& transaction)
      : transaction_(transaction), worker_(transaction.worker()) {
    decide_by({.visibility = this, .validation = this});
  }

  bool ready() const override { return started_ns_ != 0; }
  Task<Status> prepare() override {
    Status status = co_await worker_.catalog.refresh();
    catalog_version_ = worker_.catalog.version();
    started_ns_ = worker_.executor.fresh_now_ns();
    co_return status;
  }
  void piggyback(txn::BatchSet& /*batches*/) override {}
  Task<Result<protocol::SnapshotCheck>> confirm_snapshot() override {
    co_return protocol::SnapshotCheck::confirmed;
  }
  std::uint64_t started_ns() const override { return started_ns_; }
  std::uint64_t catalog_version() const override { return catalog_version_; }
  ReadDecision check_visibility(const protocol::RecordRead& read) override {
    if (ignores_locks_) return ReadDecision::visible;
    if (read.header.locked()) return read.header == lock_ ? ReadDecision::visible : ReadDecision::conflict;
    return read.header == read.body.header_word() ? ReadDecision::visible : ReadDecision::torn;
  }
  bool absence_is_certain(HeaderWord lock) override { return ignores_locks_ || !lock.locked(); }
  void ignore_locks(bool on) override { ignores_locks_ = on; }

  void saw_record(const protocol::Lookup& lookup) override { reads_.add(lookup); }
  void saw_bucket(const storage::Table& /*table*/, layout::GlobalAddress address,
                  const layout::Bucket& bucket, bool main) override {
    reads_.add(address, bucket, main);
  }
  void saw_range(protocol::SeenRange range) override { reads_.add_range(std::move(range)); }
  Task<Status> validate(const Locked& locked) override {
    for (const protocol::Access& access : transaction_.accesses()) {
      if (access.fetched() && access.write == protocol::WriteKind::none) reads_.add(access.lookup);
    }
    co_return co_await reads_.validate(&transaction_, lock_, &locked.chains);
  }
  Task<Status> confirm_reads(bool /*commits*/) override {
    protocol::ReadSet all = reads_;
    for (const protocol::Access& access : transaction_.accesses()) {
      if (access.fetched()) all.add(access.lookup);
    }
    co_return co_await all.validate(&transaction_, lock_, nullptr);
  }

  Status may_write(const protocol::Access& /*access*/) const override { return {}; }
  layout::Stamp lock_stamp(layout::Stamp stamp) override {
    lock_ = HeaderWord(stamp, false, true);
    return stamp;
  }
  protocol::GenerationEnd end(std::uint64_t /*generation*/, const Status& /*outcome*/,
                              bool /*wrote*/) override {
    return protocol::GenerationEnd::by_caller;
  }

 private:
  protocol::TransactionState& transaction_;
  txn::WorkerState& worker_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t catalog_version_ = 0;
  bool ignores_locks_ = false;
  HeaderWord lock_;
  protocol::ReadSet reads_;
};

std::unique_ptr<protocol::WorkerProtocol> make_toy(txn::WorkerState& /*worker*/) {
  return std::make_unique<protocol::UnsharedProtocol<ToyControl>>();
}

constexpr protocol::ProtocolTraits kToy = {
    .name = "toy", .description = "a test's own", .serializable = true, .single_version = true};

}  // namespace

TEST_CASE("a protocol of a test's own is strictly serializable while compute servers die", "[protocols]") {
  const protocol::ExtraProtocol registered(kToy, &make_toy);
  const char* const workload = GENERATE("register", "write-skew", "bank", "churn", "ring", "tpcc", "schema");
  const auto [first, count] = Seeds(40);
  CAPTURE(workload);
  std::uint64_t committed = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, workload);
    scenario.cluster.memory.protocol = kToy.name;
    scenario.cluster.memory.stages = draw_stages(seed);
    REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    CAPTURE(seed);
    const Verdict verdict = run_and_compare(scenario, promised_level(kToy.name));
    REQUIRE(verdict.anomaly == "");
    committed += verdict.committed;
  }
  CHECK(committed > count * 5);
}

TEST_CASE("secondary indexes agree with their tables under a protocol of a test's own", "[protocols]") {
  const protocol::ExtraProtocol registered(kToy, &make_toy);
  IndexVerdict sum;
  const auto [first, count] = Seeds(40);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const IndexVerdict verdict =
        run_indexes(seed, IndexTrouble::kills, nullptr, kToy.name, draw_stages(seed));
    CAPTURE(seed);
    REQUIRE(verdict.anomaly == "");
    sum.committed += verdict.committed;
    sum.compared += verdict.compared;
    sum.built += verdict.built;
  }
  CHECK(sum.committed > count * 5);
  CHECK(sum.compared > count * 5);
  CHECK(sum.built > 0);
}

}  // namespace namdb::sim

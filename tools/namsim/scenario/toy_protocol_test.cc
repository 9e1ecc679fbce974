// A new protocol needs its rules and a line of the registry, and nothing else: this one is here, is
// registered here, and runs whole clusters.
#include <catch2/catch.hpp>

#include "common/layout/protocol.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/commit/read_set.h"
#include "compute/protocol/registry.h"
#include "compute/txn/rules.h"
#include "compute/txn/slot_keeper.h"
#include "compute/txn/staged_transaction.h"
#include "tools/namsim/scenario/index_run.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/testing/seeds.h"

namespace namdb::sim {
namespace {

using layout::HeaderWord;
using protocol::Judgement;
using reactor::Task;

// A transaction that meets a lock aborts. At commit, under its locks, it validates that all its reads are
// unchanged.
class ToyRules final : public protocol::Rules {
 public:
  explicit ToyRules(protocol::StagedTransaction& transaction)
      : Rules({.validates_reads = true}), transaction_(transaction), worker_(transaction.worker()) {}
  bool ready() const override { return started_ns_ != 0; }
  Task<Status> prepare() override {
    Status status = co_await worker_.catalog.refresh();
    catalog_version_ = worker_.catalog.version();
    started_ns_ = worker_.executor.fresh_now_ns();
    co_return status;
  }
  void ride(txn::BatchSet& /*batches*/) override {}
  Task<Result<bool>> settle() override { co_return true; }
  std::uint64_t started_ns() const override { return started_ns_; }
  std::uint64_t catalog_version() const override { return catalog_version_; }
  Judgement judge(const protocol::SeenRecord& seen) override {
    if (looks_through_) return Judgement::visible;
    if (seen.header.locked()) return seen.header == lock_ ? Judgement::visible : Judgement::conflict;
    return seen.header == seen.body.header_word() ? Judgement::visible : Judgement::torn;
  }
  bool believes_absence(HeaderWord lock) override { return looks_through_ || !lock.locked(); }
  void look_through_locks(bool on) override { looks_through_ = on; }
  void saw_record(const protocol::Lookup& lookup) override { reads_.add(lookup); }
  void saw_bucket(const storage::Table& /*table*/, layout::GlobalAddress address,
                  const layout::Bucket& bucket, bool main) override {
    reads_.add(address, bucket, main);
  }
  void saw_range(protocol::SeenRange range) override { reads_.add_range(std::move(range)); }
  Status may_write(const protocol::Access& /*access*/) const override { return {}; }
  Task<Result<std::shared_ptr<txn::ExecutionSlot>>> slot() override { return worker_.slot_keeper.acquire(); }
  layout::Stamp lock_stamp(layout::Stamp stamp) override {
    lock_ = HeaderWord(stamp, false, true);
    return stamp;
  }
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
  bool waits_for_publish() const override { return false; }
  bool give_up(std::uint64_t /*generation*/, const Status& /*outcome*/, bool /*wrote*/) override {
    return false;
  }

 private:
  protocol::StagedTransaction& transaction_;
  txn::WorkerState& worker_;
  std::uint64_t started_ns_ = 0;
  std::uint64_t catalog_version_ = 0;
  bool looks_through_ = false;
  HeaderWord lock_;
  protocol::ReadSet reads_;
};

std::unique_ptr<protocol::Rules> make_toy(protocol::StagedTransaction& transaction) {
  return std::make_unique<ToyRules>(transaction);
}

constexpr layout::ProtocolTraits kToy = {
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

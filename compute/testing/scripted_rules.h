// Rules whose decisions the test gives, for parts of a transaction that use them and do not decide
// themselves.
#pragma once

#include <functional>
#include <vector>

#include "compute/txn/rules.h"

namespace namdb::protocol::testing {

class ScriptedRules final : public Rules {
 public:
  using Judge = std::function<Judgement(const SeenRecord&)>;
  explicit ScriptedRules(Judge judge_record = always(Judgement::visible))
      : Rules({}), judge_(std::move(judge_record)) {}
  static Judge always(Judgement judgement) {
    return [judgement](const SeenRecord&) { return judgement; };
  }
  // Counters up to that are visible.
  static Judge up_to(std::uint32_t counter) {
    return [counter](const SeenRecord& seen) {
      return seen.body.stamp.counter <= counter ? Judgement::visible : Judgement::invisible;
    };
  }

  bool ready() const override { return true; }
  reactor::Task<Status> prepare() override { co_return Status(); }
  void ride(txn::BatchSet& /*batches*/) override {}
  reactor::Task<Result<bool>> settle() override { co_return true; }
  std::uint64_t started_ns() const override { return 0; }
  std::uint64_t catalog_version() const override { return 1; }
  Judgement judge(const SeenRecord& seen) override { return judge_(seen); }
  bool believes_absence(layout::HeaderWord chain_lock) override {
    return believes_locked_chains || !chain_lock.locked();
  }
  bool holds(layout::GlobalAddress record) override { return record == held; }
  Status may_write(const Access& /*access*/) const override { return {}; }
  reactor::Task<Result<std::shared_ptr<txn::ExecutionSlot>>> slot() override {
    co_return Status(ErrorCode::internal, "no slot");
  }
  bool waits_for_publish() const override { return false; }
  bool give_up(std::uint64_t /*generation*/, const Status& /*outcome*/, bool /*wrote*/) override {
    return false;
  }

  bool believes_locked_chains = true;
  layout::GlobalAddress held;  // null: none

 private:
  Judge judge_;
};

}  // namespace namdb::protocol::testing

// Visibility that the test decides: for pieces of a transaction that ask for it and decide nothing of it
// themselves.
#pragma once

#include <functional>
#include <utility>

#include "compute/txn/visibility.h"

namespace namdb::protocol::testing {

class ScriptedVisibility final : public Visibility {
 public:
  using Decide = std::function<ReadDecision(const RecordRead&)>;
  explicit ScriptedVisibility(Decide decide = always(ReadDecision::visible)) : decide_(std::move(decide)) {}
  static Decide always(ReadDecision decision) {
    return [decision](const RecordRead&) { return decision; };
  }
  // Counters up to that are visible.
  static Decide up_to(std::uint32_t counter) {
    return [counter](const RecordRead& read) {
      return read.body.stamp.counter <= counter ? ReadDecision::visible : ReadDecision::invisible;
    };
  }

  bool ready() const override { return true; }
  reactor::Task<Status> prepare() override { co_return Status(); }
  void piggyback(txn::BatchSet& /*batches*/) override {}
  reactor::Task<Result<SnapshotCheck>> confirm_snapshot() override { co_return SnapshotCheck::confirmed; }
  std::uint64_t started_ns() const override { return 0; }
  std::uint64_t catalog_version() const override { return 1; }
  ReadDecision check_visibility(const RecordRead& read) override { return decide_(read); }
  bool absence_is_certain(layout::HeaderWord chain_lock) override {
    return absence_in_locked_chains || !chain_lock.locked();
  }
  bool holds(layout::GlobalAddress record) const override { return record == held; }

  bool absence_in_locked_chains = true;
  layout::GlobalAddress held;  // null: none

 private:
  Decide decide_;
};

}  // namespace namdb::protocol::testing

// A configuration store in memory, for tests on any executor. Each host has a MemoryStore of its own, by
// which faults are its own; they share one SharedConfiguration, which outlives them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "common/placement/configuration_store.h"
#include "common/reactor/executor.h"

namespace namdb::placement::testing {

struct SharedConfiguration {
  ConfigurationStore::Stored stored;
  std::uint64_t reads = 0;
  std::uint64_t changes = 0;
};

class MemoryStore final : public ConfigurationStore {
 public:
  MemoryStore(reactor::Executor& executor, SharedConfiguration& shared)
      : executor_(executor), shared_(shared) {}

  // --- faults ---
  // Calls fail, also those that are under way and have not come there yet.
  void set_reachable(bool reachable) { reachable_ = reachable; }
  // The next replace() happens, and the caller is told connection_failure.
  void lose_answer() { lose_answer_ = true; }
  // The next replace() is told connection_failure at once, and happens that much later if it still can.
  void come_late(std::uint64_t late_ns) { late_ns_ = late_ns; }
  // Of each call: half of it before the value is read.
  void set_latency(std::uint64_t latency_ns) { latency_ns_ = latency_ns; }
  // Called once, just before the next replace() reads the value: another host is faster.
  void before_replace(std::function<void()> function) { before_replace_ = std::move(function); }

  std::string name() const override { return "memory"; }

  reactor::Task<Result<Stored>> read() override {
    co_await executor_.sleep_for(latency_ns_ / 2);
    if (!reachable_) co_return unreachable();
    Stored stored = shared_.stored;
    ++shared_.reads;
    co_await executor_.sleep_for(latency_ns_ - latency_ns_ / 2);
    co_return std::move(stored);
  }

  reactor::Task<Result<bool>> replace(std::uint64_t revision, Configuration next) override {
    co_await executor_.sleep_for(latency_ns_ / 2);
    if (!reachable_) co_return unreachable();
    if (before_replace_) std::exchange(before_replace_, nullptr)();
    const std::uint64_t late_ns = std::exchange(late_ns_, 0);
    if (late_ns != 0) {
      executor_.spawn(gate_, change_late(late_ns, revision, std::move(next)));
      co_return unreachable();
    }
    const bool changed = change(revision, std::move(next));
    co_await executor_.sleep_for(latency_ns_ - latency_ns_ / 2);
    if (std::exchange(lose_answer_, false)) co_return unreachable();
    co_return changed;
  }

  reactor::Task<void> close() override { co_await gate_.close(); }

 private:
  static Status unreachable() {
    return Status(ErrorCode::connection_failure, "the configuration store does not answer");
  }

  bool change(std::uint64_t revision, Configuration next) {
    if (shared_.stored.revision != revision) return false;
    shared_.stored = {revision + 1, std::move(next)};
    ++shared_.changes;
    return true;
  }

  reactor::Task<void> change_late(std::uint64_t late_ns, std::uint64_t revision, Configuration next) {
    co_await executor_.sleep_for(late_ns);
    change(revision, std::move(next));
  }

  reactor::Executor& executor_;
  SharedConfiguration& shared_;
  bool reachable_ = true;
  bool lose_answer_ = false;
  std::uint64_t late_ns_ = 0;
  std::uint64_t latency_ns_ = 0;
  std::function<void()> before_replace_;
  reactor::Gate gate_;
};

}  // namespace namdb::placement::testing

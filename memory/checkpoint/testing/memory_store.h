// Checkpoints in memory, which tests copy at any moment as a crash would leave them.
#pragma once

#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "common/reactor/executor.h"
#include "memory/checkpoint/chunk_store.h"

namespace namdb::memory::testing {

class MemoryStore final : public ChunkStore {
 public:
  struct Generation {
    std::uint64_t redo_from = 0;
    std::vector<std::byte> state;
    std::map<std::uint64_t, std::vector<std::byte>> chunks;  // by extent
  };
  // Its operations take two turns each.
  explicit MemoryStore(reactor::Executor& executor) : executor_(executor) {}

  void begin() override {
    next_ = {};
    if (!kept.empty()) next_.chunks = kept.back().chunks;
    written.clear();
  }
  reactor::Task<Status> put(std::uint64_t extent, std::span<const std::byte> bytes) override {
    co_await executor_.yield();
    if (fail_puts > 0 && --fail_puts == 0) co_return Status(ErrorCode::disk_full, "the disk is full");
    next_.chunks[extent] = {bytes.begin(), bytes.end()};
    written.push_back(extent);
    co_await executor_.yield();
    co_return Status();
  }
  void drop(std::uint64_t extent) override { next_.chunks.erase(extent); }
  reactor::Task<Status> commit(std::uint64_t redo_from, std::vector<std::byte> state) override {
    co_await executor_.yield();
    next_.redo_from = redo_from;
    next_.state = std::move(state);
    kept.push_back(std::move(next_));
    if (kept.size() > 2) kept.pop_front();
    co_await executor_.yield();
    co_return Status();
  }
  reactor::Task<Status> abandon() override {
    ++abandoned;
    co_return Status();
  }
  std::optional<std::uint64_t> newest_redo_from() const override {
    return kept.empty() ? std::nullopt : std::optional(kept.back().redo_from);
  }
  std::uint64_t oldest_redo() const override { return kept.empty() ? 0 : kept.front().redo_from; }

  std::deque<Generation> kept;
  std::vector<std::uint64_t> written;  // since the last begin()
  int abandoned = 0;
  int fail_puts = 0;  // the so manieth put() fails; 0: none

 private:
  reactor::Executor& executor_;
  Generation next_;
};

}  // namespace namdb::memory::testing

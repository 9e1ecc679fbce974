// The checkpoints on disk (memory/log/checkpoint_store.h) as the sweep sees them: a chunk's key is its
// extent.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "memory/checkpoint/chunk_store.h"
#include "memory/log/checkpoint_store.h"

namespace namdb::memory {

class DiskChunkStore final : public ChunkStore {
 public:
  // The store outlives this.
  explicit DiskChunkStore(CheckpointStore& store) : store_(store) {}

  void begin() override { store_.begin(); }
  reactor::Task<Status> put(std::uint64_t extent, std::span<const std::byte> bytes) override {
    return store_.put(extent, bytes);
  }
  void drop(std::uint64_t extent) override { store_.drop(extent); }
  reactor::Task<Status> commit(std::uint64_t redo_from, std::vector<std::byte> state) override {
    return store_.commit(redo_from, std::move(state));
  }
  reactor::Task<Status> abandon() override { return store_.abandon(); }
  std::optional<std::uint64_t> newest_redo_from() const override {
    const Manifest* const newest = store_.newest();
    return newest == nullptr ? std::nullopt : std::optional<std::uint64_t>(newest->redo_from);
  }
  std::uint64_t oldest_redo() const override { return store_.oldest_redo(); }

 private:
  CheckpointStore& store_;
};

}  // namespace namdb::memory

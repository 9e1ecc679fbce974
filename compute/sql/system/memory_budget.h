// A bound on the memory that the clients of one compute server may make it keep, together: prepared
// statements, parameters, messages that have not arrived whole, and the rows that statements gather. A share
// is one holder's part of it. Holders ask before they allocate; a share that is destroyed gives everything
// back.
//
// The budget: any thread, and it outlives its shares. A share has one owner.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "common/base/error.h"

namespace namdb::sql {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  std::uint64_t limit_bytes() const { return limit_bytes_; }
  std::uint64_t used_bytes() const { return used_bytes_.load(std::memory_order_relaxed); }
  // The number of requests that were refused.
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
  friend class MemoryShare;
  bool take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { used_bytes_.fetch_sub(bytes, std::memory_order_relaxed); }

  const std::uint64_t limit_bytes_;
  std::atomic<std::uint64_t> used_bytes_{0};
  std::atomic<std::uint64_t> refusals_{0};
};

class MemoryShare {
 public:
  // A share of no budget: every request is granted.
  MemoryShare() = default;
  explicit MemoryShare(MemoryBudget* budget) : budget_(budget) {}
  ~MemoryShare() { release(); }
  MemoryShare(MemoryShare&& other) noexcept
      : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryShare& operator=(MemoryShare&& other) noexcept {
    if (this == &other) return *this;
    release();
    budget_ = other.budget_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  std::uint64_t bytes() const { return bytes_; }
  // out_of_memory: the share is unchanged. A request for less is always granted.
  Status resize(std::uint64_t bytes);
  void release() {
    if (budget_ != nullptr && bytes_ != 0) budget_->give_back(bytes_);
    bytes_ = 0;
  }

 private:
  MemoryBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace namdb::sql

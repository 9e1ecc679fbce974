// Registered memory in small pieces, cut one behind the other from blocks of the worker's pool. A transaction
// takes a few blocks instead of a buffer for each row, and its rows lie side by side in the processor's
// caches.
//
//   RowBuffers   cuts the pieces
//   RowBuffer    a piece, or a buffer of its own; gives itself back
//
// A block returns to the pool once none of its pieces is in use and nothing more is cut from it. Pieces may
// outlive the RowBuffers, but not the pool. They are 64-byte aligned and are not zeroed. All of it belongs to
// the pool's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/fabric/local_pool.h"

namespace namdb::txn {

// Not in registered memory: the simulator forgets that of a process that was killed.
struct RowBufferBlock {
  fabric::LocalPool& pool;
  std::byte* const data;
  const std::size_t length_bytes;
  std::size_t users;  // pieces, and the RowBuffers that cuts them

  static RowBufferBlock* create(fabric::LocalPool& pool, std::size_t length_bytes);
  void drop_user() {
    if (--users == 0) destroy();
  }

 private:
  void destroy();
};

class RowBuffer {
 public:
  RowBuffer() = default;
  // A buffer of its own.
  RowBuffer(fabric::LocalPool& pool, std::size_t length_bytes)
      : pool_(&pool), data_(pool.allocate(length_bytes)), length_bytes_(length_bytes) {}
  RowBuffer(RowBuffer&& other) noexcept
      : pool_(other.pool_),
        block_(other.block_),
        data_(std::exchange(other.data_, nullptr)),
        length_bytes_(other.length_bytes_) {}
  RowBuffer& operator=(RowBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = other.pool_;
      block_ = other.block_;
      data_ = std::exchange(other.data_, nullptr);
      length_bytes_ = other.length_bytes_;
    }
    return *this;
  }
  ~RowBuffer() { reset(); }
  void reset() {
    if (data_ != nullptr) give_back();
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return length_bytes_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  friend class RowBuffers;
  RowBuffer(RowBufferBlock& block, std::byte* data, std::size_t length_bytes)
      : block_(&block), data_(data), length_bytes_(length_bytes) {}
  void give_back();

  fabric::LocalPool* pool_ = nullptr;  // of a buffer of its own
  RowBufferBlock* block_ = nullptr;    // of a piece
  std::byte* data_ = nullptr;
  std::size_t length_bytes_ = 0;
};

class RowBuffers {
 public:
  explicit RowBuffers(fabric::LocalPool& pool) : pool_(pool) {}
  RowBuffers(const RowBuffers&) = delete;
  RowBuffers& operator=(const RowBuffers&) = delete;
  ~RowBuffers() { leave_block(); }

  // A long one gets a buffer of its own.
  RowBuffer take(std::size_t length_bytes);
  // The pieces that are taken next have so many bytes together, counted by piece_bytes(): only the number of
  // blocks depends on it.
  void expect(std::size_t pieces_bytes);
  static constexpr std::size_t piece_bytes(std::size_t length_bytes) {
    return (length_bytes + kAlign_bytes - 1) / kAlign_bytes * kAlign_bytes;
  }

 private:
  static constexpr std::size_t kAlign_bytes = 64;
  static constexpr std::size_t kFirst_bytes = 2U << 10;
  static constexpr std::size_t kMost_bytes = 16U << 10;
  static constexpr std::size_t kLongest_bytes = kMost_bytes / 4;  // of a piece

  void leave_block() {
    if (block_ != nullptr) std::exchange(block_, nullptr)->drop_user();
  }

  fabric::LocalPool& pool_;
  RowBufferBlock* block_ = nullptr;
  std::size_t used_bytes_ = 0;  // of the block
  std::size_t next_bytes_ = kFirst_bytes;
};

}  // namespace namdb::txn

#include "compute/txn/row_buffers.h"

#include <algorithm>
#include <bit>
#include <new>

#include "common/base/address_sanitizer.h"
#include "common/reactor/frame_pool.h"

namespace namdb::txn {

RowBufferBlock* RowBufferBlock::create(fabric::LocalPool& pool, std::size_t length_bytes) {
  std::byte* const data = pool.allocate(length_bytes);
  poison(data, length_bytes);
  return ::new (reactor::allocate_frame(sizeof(RowBufferBlock)))
      RowBufferBlock{.pool = pool, .data = data, .length_bytes = length_bytes, .users = 1};
}

void RowBufferBlock::destroy() {
  pool.free(data, length_bytes);
  reactor::free_frame(this, sizeof(RowBufferBlock));
}

void RowBuffer::give_back() {
  std::byte* const data = std::exchange(data_, nullptr);
  if (block_ == nullptr) return pool_->free(data, length_bytes_);
  poison(data, RowBuffers::piece_bytes(length_bytes_));
  block_->drop_user();
}

RowBuffer RowBuffers::take(std::size_t length_bytes) {
  const std::size_t needed_bytes = piece_bytes(length_bytes);
  if (needed_bytes > kLongest_bytes) return {pool_, length_bytes};
  if (block_ == nullptr || used_bytes_ + needed_bytes > block_->length_bytes) {
    leave_block();
    block_ = RowBufferBlock::create(pool_, std::max(next_bytes_, std::bit_ceil(needed_bytes)));
    used_bytes_ = 0;
    next_bytes_ = std::min(2 * block_->length_bytes, kMost_bytes);
  }
  std::byte* const data = block_->data + std::exchange(used_bytes_, used_bytes_ + needed_bytes);
  unpoison(data, length_bytes);
  ++block_->users;
  return {*block_, data, length_bytes};
}

void RowBuffers::expect(std::size_t pieces_bytes) {
  if (block_ != nullptr && used_bytes_ + pieces_bytes <= block_->length_bytes) return;
  next_bytes_ = std::min(std::max(next_bytes_, std::bit_ceil(pieces_bytes)), kMost_bytes);
}

}  // namespace namdb::txn

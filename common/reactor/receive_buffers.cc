#include "common/reactor/receive_buffers.h"

#include <liburing.h>
#include <sys/mman.h>

#include <bit>

#include "common/base/check.h"

namespace namdb::reactor {
namespace {

void* map(std::size_t length_bytes) {
  void* memory = ::mmap(nullptr, length_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NAMDB_CHECK(memory != MAP_FAILED);
  return memory;
}

}  // namespace

std::unique_ptr<ReceiveBuffers> ReceiveBuffers::create(io_uring& ring, std::uint32_t count,
                                                       std::uint32_t buffer_bytes) {
  NAMDB_CHECK(std::has_single_bit(count) && count <= 32768);
  std::unique_ptr<ReceiveBuffers> result(new ReceiveBuffers);
  result->count_ = count;
  result->buffer_bytes_ = buffer_bytes;
  result->ring_bytes_ = count * sizeof(io_uring_buf);
  result->ring_ = static_cast<io_uring_buf_ring*>(map(result->ring_bytes_));
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uint64_t>(result->ring_);
  registration.ring_entries = count;
  registration.bgid = kGroup;
  if (io_uring_register_buf_ring(&ring, &registration, 0) != 0) return nullptr;
  result->buffers_bytes_ = std::size_t{count} * buffer_bytes;
  result->buffers_ = static_cast<std::byte*>(map(result->buffers_bytes_));
  io_uring_buf_ring_init(result->ring_);
  for (std::uint32_t i = 0; i < count; ++i) result->recycle(static_cast<std::uint16_t>(i));
  return result;
}

ReceiveBuffers::~ReceiveBuffers() {
  ::munmap(ring_, ring_bytes_);
  if (buffers_ != nullptr) ::munmap(buffers_, buffers_bytes_);
}

void ReceiveBuffers::recycle(std::uint16_t buffer) {
  io_uring_buf_ring_add(ring_, data(buffer), buffer_bytes_, buffer, io_uring_buf_ring_mask(count_), 0);
  io_uring_buf_ring_advance(ring_, 1);
}

}  // namespace namdb::reactor

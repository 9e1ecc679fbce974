// The buffers that a reactor's sockets receive into: a ring that is shared with the kernel. The kernel takes
// a buffer only when data has arrived, so idle connections hold none. Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

struct io_uring;
struct io_uring_buf_ring;

namespace namdb::reactor {

class ReceiveBuffers {
 public:
  static constexpr std::uint16_t kGroup = 0;

  // `count` is a power of two. Null where the kernel has no buffer rings.
  static std::unique_ptr<ReceiveBuffers> create(io_uring& ring, std::uint32_t count,
                                                std::uint32_t buffer_bytes);
  ReceiveBuffers(const ReceiveBuffers&) = delete;
  ReceiveBuffers& operator=(const ReceiveBuffers&) = delete;
  // After the ring has been closed, or nothing receives any more.
  ~ReceiveBuffers();

  // The buffer that a completion named; the caller's until recycle().
  std::byte* data(std::uint16_t buffer) const { return buffers_ + std::size_t{buffer} * buffer_bytes_; }
  void recycle(std::uint16_t buffer);

 private:
  ReceiveBuffers() = default;

  io_uring_buf_ring* ring_ = nullptr;
  std::size_t ring_bytes_ = 0;
  std::byte* buffers_ = nullptr;
  std::size_t buffers_bytes_ = 0;
  std::uint32_t count_ = 0;
  std::uint32_t buffer_bytes_ = 0;
};

}  // namespace namdb::reactor

// ReceiveQueue: a shared receive queue and the buffers that all peers' messages arrive in. A buffer is
// posted, completes with a message, is read, and is posted again.
//
// Buffers get lost: a device may take one for a queue pair that is destroyed before the message has arrived,
// and some drop the completion then. So the device is asked to tell when few are posted; when fewer are than
// can be explained by messages, others take the place of the lost ones. Reactor's thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/verbs/device_handle.h"
#include "common/fabric/verbs/wire.h"

namespace namdb::fabric::verbs {

class ReceiveQueue {
 public:
  // Set in the identity of receives, which all queue pairs of the device share.
  static constexpr std::uint64_t kReceive = std::uint64_t{1} << 63;

  explicit ReceiveQueue(const DeviceHandle& device) : device_(device) {}
  ReceiveQueue(const ReceiveQueue&) = delete;
  ReceiveQueue& operator=(const ReceiveQueue&) = delete;
  // No queue pair uses it any more, and nothing posts.
  ~ReceiveQueue();

  // With so many buffers, or what the device has. Errors (configuration).
  Status create(std::uint32_t count);
  ibv_srq* queue() const { return queue_; }
  std::uint32_t count() const { return count_; }
  std::uint64_t replaced() const { return replaced_; }

  // `id`: without kReceive.
  std::span<const std::byte> bytes(std::uint64_t id, std::uint32_t length_bytes) const {
    return {place(id), length_bytes};
  }
  // The buffer has been read.
  void give_back(std::uint64_t id) {
    free_.push_back(id);
    ++received_;
  }
  // Posts the buffers that were given back. Buffers that the device refuses are tried again the next time.
  void post();
  // The device says that few buffers are posted. All completions that there are have been taken, and at most
  // `arriving` messages are on their way into buffers.
  void on_limit(std::size_t arriving);

 private:
  struct Chunk {
    std::byte* memory;
    std::size_t length_bytes;
    ibv_mr* region;
  };
  std::byte* place(std::uint64_t id) const {
    return chunks_[id >> 32].memory + (id & 0xffff'ffff) * kFragment_bytes;
  }
  Status add_buffers(std::uint32_t count);
  void arm();

  const DeviceHandle& device_;
  ibv_srq* queue_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t limit_ = 0;     // fewer than these posted are reported; 0: never
  std::uint64_t received_ = 0;  // since it was armed
  std::uint64_t replaced_ = 0;
  std::vector<Chunk> chunks_;
  std::vector<std::uint64_t> free_;
  std::vector<ibv_recv_wr> requests_;  // being posted
  std::vector<ibv_sge> places_;        // theirs
};

}  // namespace namdb::fabric::verbs

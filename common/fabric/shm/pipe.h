// One direction of a channel's calls: frames through a ring of bytes in shared memory. A side owns its end;
// frames that do not fit wait in the sender. The receiver copies bytes out before it checks them, and checks
// everything that the other side wrote: a violation breaks the channel, never the process.
//
// Waking: each side may sleep only after it announced so and looked once more (prepare_sleep). After send()
// or receive() the owner asks wake_needed() once per turn and signals the other side's eventfd if it says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/shm/wire.h"

namespace namdb::fabric::shm {

class PipeSender {
 public:
  PipeSender(PipeControl& control, std::byte* data, std::size_t capacity_bytes)
      : control_(control), data_(data), capacity_bytes_(capacity_bytes) {}

  void send(const FrameHeader& header, std::string_view payload);
  // Moves what waits into the ring, as far as it fits. True if anything moved.
  bool flush();
  bool waiting() const { return waiting_offset_ < waiting_.size(); }
  // The other side wrote a malformed frame or position.
  bool broken() const { return broken_; }
  // Something was written and wake_needed() not yet asked.
  bool unannounced() const { return unannounced_; }
  // True once after something was written while the receiver slept.
  bool wake_needed();
  // Announces that this side will sleep: true unless there is work (room for what waits).
  bool prepare_sleep();
  void cancel_sleep() { control_.writer_waits.store(0, std::memory_order_relaxed); }

 private:
  std::size_t room();
  void put(const char* bytes, std::size_t length_bytes);

  PipeControl& control_;
  std::byte* data_;
  std::size_t capacity_bytes_;
  std::uint64_t written_ = 0;
  bool unannounced_ = false;
  bool broken_ = false;
  std::string waiting_;
  std::size_t waiting_offset_ = 0;
};

class PipeReceiver {
 public:
  PipeReceiver(PipeControl& control, const std::byte* data, std::size_t capacity_bytes)
      : control_(control), data_(data), capacity_bytes_(capacity_bytes) {}

  // The next whole frame, if there is one; its payload is moved out. Sets broken() on a malformed one.
  bool receive(FrameHeader& header, std::string& payload);
  bool broken() const { return broken_; }
  bool unannounced() const { return unannounced_; }
  bool wake_needed();
  // True unless there are bytes to receive.
  bool prepare_sleep();
  void cancel_sleep() { control_.reader_sleeps.store(0, std::memory_order_relaxed); }

 private:
  std::size_t available();
  // Copies what is there, at most so much, to the end of buffer_.
  void take(std::size_t at_most_bytes);

  PipeControl& control_;
  const std::byte* data_;
  std::size_t capacity_bytes_;
  std::uint64_t read_ = 0;
  bool unannounced_ = false;
  bool broken_ = false;
  FrameHeader header_{};
  bool have_header_ = false;
  std::string buffer_;  // of the header, or of the payload, as far as it has arrived
};

// A handler's error as the payload of a frame, and back. Malformed bytes give an internal error.
std::string encode_error(const Status& status);
Status decode_error(std::string_view bytes);

}  // namespace namdb::fabric::shm

#include "common/fabric/shm/pipe.h"

#include <algorithm>
#include <cstring>

#include "common/fabric/fabric.h"

namespace namdb::fabric::shm {

std::size_t PipeSender::room() {
  const std::uint64_t used = written_ - control_.read.load(std::memory_order_acquire);
  if (used > capacity_bytes_) {
    broken_ = true;
    return 0;
  }
  return capacity_bytes_ - static_cast<std::size_t>(used);
}

void PipeSender::put(const char* bytes, std::size_t length_bytes) {
  const std::size_t offset = static_cast<std::size_t>(written_) & (capacity_bytes_ - 1);
  const std::size_t first = std::min(length_bytes, capacity_bytes_ - offset);
  std::memcpy(data_ + offset, bytes, first);
  std::memcpy(data_, bytes + first, length_bytes - first);
  written_ += length_bytes;
}

void PipeSender::send(const FrameHeader& header, std::string_view payload) {
  if (broken_) return;
  char encoded[sizeof header];
  std::memcpy(encoded, &header, sizeof header);
  if (!waiting() && room() >= sizeof header + payload.size()) {
    put(encoded, sizeof header);
    put(payload.data(), payload.size());
    control_.written.store(written_, std::memory_order_release);
    unannounced_ = true;
    return;
  }
  waiting_.append(encoded, sizeof header);
  waiting_.append(payload);
  flush();
}

bool PipeSender::flush() {
  if (!waiting() || broken_) return false;
  const std::size_t length_bytes = std::min(room(), waiting_.size() - waiting_offset_);
  if (length_bytes == 0) return false;
  put(waiting_.data() + waiting_offset_, length_bytes);
  control_.written.store(written_, std::memory_order_release);
  unannounced_ = true;
  waiting_offset_ += length_bytes;
  if (!waiting()) {
    std::string().swap(waiting_);
    waiting_offset_ = 0;
  }
  return true;
}

bool PipeSender::wake_needed() {
  if (!unannounced_) return false;
  unannounced_ = false;
  // Against prepare_sleep() of the receiver: either it sees what was written, or this sees that it sleeps.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return control_.reader_sleeps.load(std::memory_order_relaxed) != 0 &&
         control_.reader_sleeps.exchange(0, std::memory_order_relaxed) != 0;
}

bool PipeSender::prepare_sleep() {
  if (!waiting() || broken_) return true;
  control_.writer_waits.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return room() == 0 && !broken_;
}

std::size_t PipeReceiver::available() {
  const std::uint64_t length = control_.written.load(std::memory_order_acquire) - read_;
  if (length > capacity_bytes_) {
    broken_ = true;
    return 0;
  }
  return static_cast<std::size_t>(length);
}

void PipeReceiver::take(std::size_t at_most_bytes) {
  const std::size_t length_bytes = std::min(available(), at_most_bytes);
  if (length_bytes == 0) return;
  const std::size_t offset = static_cast<std::size_t>(read_) & (capacity_bytes_ - 1);
  const std::size_t first = std::min(length_bytes, capacity_bytes_ - offset);
  buffer_.append(reinterpret_cast<const char*>(data_) + offset, first);
  buffer_.append(reinterpret_cast<const char*>(data_), length_bytes - first);
  read_ += length_bytes;
  control_.read.store(read_, std::memory_order_release);
  unannounced_ = true;
}

bool PipeReceiver::receive(FrameHeader& header, std::string& payload) {
  if (broken_) return false;
  if (!have_header_) {
    take(sizeof header_ - buffer_.size());
    if (buffer_.size() < sizeof header_) return false;
    std::memcpy(&header_, buffer_.data(), sizeof header_);
    buffer_.clear();
    have_header_ = true;
    if (header_.length_bytes > kMaxCall_bytes) {
      broken_ = true;
      return false;
    }
  }
  // Not reserved in full at once: a liar would have it for nothing.
  take(header_.length_bytes - buffer_.size());
  if (buffer_.size() < header_.length_bytes) return false;
  header = header_;
  payload = std::move(buffer_);
  buffer_.clear();
  have_header_ = false;
  return true;
}

bool PipeReceiver::wake_needed() {
  if (!unannounced_) return false;
  unannounced_ = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return control_.writer_waits.load(std::memory_order_relaxed) != 0 &&
         control_.writer_waits.exchange(0, std::memory_order_relaxed) != 0;
}

bool PipeReceiver::prepare_sleep() {
  if (broken_) return true;
  control_.reader_sleeps.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return available() == 0 && !broken_;
}

std::string encode_error(const Status& status) {
  std::string bytes(status.info().name);
  bytes += '\0';
  bytes += status.message();
  bytes += '\0';
  bytes += status.hint();
  if (bytes.size() > kMaxCall_bytes) bytes.resize(kMaxCall_bytes);
  return bytes;
}

Status decode_error(std::string_view bytes) {
  const std::size_t name_end = std::min(bytes.find('\0'), bytes.size());
  const auto code = error_code_from_name(bytes.substr(0, name_end));
  if (!code || name_end == bytes.size()) return {ErrorCode::internal, "the peer sent an unknown error"};
  bytes.remove_prefix(name_end + 1);
  const std::size_t message_end = std::min(bytes.find('\0'), bytes.size());
  const std::string_view hint = message_end == bytes.size() ? "" : bytes.substr(message_end + 1);
  return {*code, std::string(bytes.substr(0, message_end)), std::string(hint)};
}

}  // namespace namdb::fabric::shm

// Bytes on their way out, contiguous so that they leave in one send. Grows as needed, without zeroing.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace namdb::reactor {

class OutputBuffer {
 public:
  // Room for `length_bytes` more at the end, which the caller fills. Valid until the next call.
  std::byte* extend(std::size_t length_bytes) {
    if (capacity_bytes_ - size_bytes_ < length_bytes) grow(length_bytes);
    std::byte* end = data_.get() + size_bytes_;
    size_bytes_ += length_bytes;
    return end;
  }
  void append(const void* bytes, std::size_t length_bytes) {
    if (length_bytes != 0) std::memcpy(extend(length_bytes), bytes, length_bytes);
  }

  const std::byte* data() const { return data_.get(); }
  // To fill in values that were not known when the bytes were appended. Valid until the next extend().
  std::byte* at(std::size_t offset) { return data_.get() + offset; }
  std::size_t size() const { return size_bytes_; }
  bool empty() const { return size_bytes_ == 0; }
  // Keeps the memory, unless a burst made it large.
  void clear() {
    size_bytes_ = 0;
    if (capacity_bytes_ > kKept_bytes) {
      data_.reset();
      capacity_bytes_ = 0;
    }
  }

 private:
  static constexpr std::size_t kFirst_bytes = 4U << 10;
  static constexpr std::size_t kKept_bytes = 4U << 20;

  void grow(std::size_t length_bytes) {
    std::size_t capacity = capacity_bytes_ == 0 ? kFirst_bytes : 2 * capacity_bytes_;
    while (capacity - size_bytes_ < length_bytes) capacity *= 2;
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_bytes_ != 0) std::memcpy(larger.get(), data_.get(), size_bytes_);
    data_ = std::move(larger);
    capacity_bytes_ = capacity;
  }

  std::unique_ptr<std::byte[]> data_;
  std::size_t size_bytes_ = 0;
  std::size_t capacity_bytes_ = 0;
};

}  // namespace namdb::reactor

// Registered local buffers of one worker: the destinations of READs and the sources of WRITEs. Size classes
// of powers of two from 64 bytes, carved from chunks that are registered when they are added. Not
// thread-safe: it belongs to its worker's thread. Buffers are 64-byte aligned and are not zeroed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace namdb::fabric {

class LocalPool {
 public:
  // Called with each new chunk before its first use; verbs registers it. May be empty.
  using RegisterChunk = std::function<void(std::byte* base, std::size_t length_bytes)>;
  explicit LocalPool(RegisterChunk register_chunk = {});
  LocalPool(const LocalPool&) = delete;
  LocalPool& operator=(const LocalPool&) = delete;
  ~LocalPool();

  std::byte* allocate(std::size_t length_bytes);
  void free(std::byte* buffer, std::size_t length_bytes);
  // True if the bytes lie in registered memory.
  bool contains(const std::byte* buffer, std::size_t length_bytes) const;
  // Gives the memory behind all buffers back to the system and forgets what was in them. For the simulator,
  // when the process that owned the pool was killed.
  void discard();
  // Bytes handed out and not yet freed; 0 at rest.
  std::size_t used_bytes() const { return used_bytes_; }

 private:
  static constexpr std::size_t kClasses = 20;  // 64 bytes ... 32 MiB
  struct FreeBuffer {
    FreeBuffer* next;
  };
  struct Chunk {
    std::byte* base;
    std::size_t length_bytes;
  };
  void add_chunk(std::size_t length_bytes);

  RegisterChunk register_chunk_;
  std::array<FreeBuffer*, kClasses> free_{};
  std::vector<Chunk> chunks_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  std::size_t used_bytes_ = 0;
};

// A buffer that returns to its pool.
class LocalBuffer {
 public:
  LocalBuffer() = default;
  LocalBuffer(LocalPool& pool, std::size_t length_bytes)
      : pool_(&pool), data_(pool.allocate(length_bytes)), length_bytes_(length_bytes) {}
  LocalBuffer(LocalBuffer&& other) noexcept
      : pool_(other.pool_), data_(std::exchange(other.data_, nullptr)), length_bytes_(other.length_bytes_) {}
  LocalBuffer& operator=(LocalBuffer&& other) noexcept {
    if (this != &other) {
      reset();
      pool_ = other.pool_;
      data_ = std::exchange(other.data_, nullptr);
      length_bytes_ = other.length_bytes_;
    }
    return *this;
  }
  ~LocalBuffer() { reset(); }
  void reset() {
    if (data_ != nullptr) pool_->free(std::exchange(data_, nullptr), length_bytes_);
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return length_bytes_; }
  explicit operator bool() const { return data_ != nullptr; }
  std::uint64_t& word(std::size_t index = 0) const { return reinterpret_cast<std::uint64_t*>(data_)[index]; }

 private:
  LocalPool* pool_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t length_bytes_ = 0;
};

}  // namespace namdb::fabric

// Mappings of memory that several processes share. The region is mapped once per process, however many
// channels the process has to its memory server; a mapping is not inherited by a forked child.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "common/base/error.h"
#include "common/fabric/shm/descriptor.h"
#include "common/fabric/shm/page_mapper.h"
#include "common/fabric/shm/wire.h"

namespace namdb::fabric::shm {

class RegionMapping {
 public:
  // Maps the memory behind the descriptor, or gives the process's mapping of it. Address space of
  // `capacity_bytes` is reserved, so that it can grow where it is. Any thread.
  static Result<std::shared_ptr<RegionMapping>> map(Descriptor descriptor, std::uint64_t length_bytes,
                                                    std::uint64_t capacity_bytes);
  RegionMapping(const RegionMapping&) = delete;
  RegionMapping& operator=(const RegionMapping&) = delete;
  ~RegionMapping();

  std::byte* base() const { return base_; }
  std::uint64_t capacity_bytes() const { return capacity_bytes_; }
  // Maps at least so much, if the memory is there and within the capacity; gives what is mapped. Any thread.
  std::uint64_t grow(std::uint64_t length_bytes);
  // Operations reach up to there: pages behind that are mapped ahead of their use. Any thread.
  void reach(std::uint64_t reached_bytes);

 private:
  RegionMapping(Descriptor descriptor, std::byte* base, std::uint64_t capacity_bytes)
      : descriptor_(std::move(descriptor)), base_(base), capacity_bytes_(capacity_bytes) {}

  Descriptor descriptor_;
  std::byte* base_;
  std::uint64_t capacity_bytes_;
  std::mutex mutex_;
  std::uint64_t mapped_bytes_ = 0;
  PageMapper pages_;
};

// The memory behind one channel's pipes.
class PipesMapping {
 public:
  // New memory, sealed: its size cannot change under either side.
  static Result<PipesMapping> create();
  // Maps the pipes that a server passed.
  static Result<PipesMapping> map(Descriptor descriptor);
  PipesMapping(PipesMapping&& other) noexcept;
  PipesMapping& operator=(PipesMapping&& other) = delete;
  ~PipesMapping();

  int descriptor() const { return descriptor_.get(); }
  PipesHeader& header() const { return *reinterpret_cast<PipesHeader*>(base_); }
  std::byte* request_bytes() const { return base_ + kPipesData_offset; }
  std::byte* reply_bytes() const { return base_ + kPipesData_offset + kPipe_bytes; }

 private:
  PipesMapping(Descriptor descriptor, std::byte* base) : descriptor_(std::move(descriptor)), base_(base) {}
  Descriptor descriptor_;
  std::byte* base_;
};

}  // namespace namdb::fabric::shm

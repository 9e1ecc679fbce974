// The region's memory: a memfd that is mapped shared, allocated to the last byte before anybody uses it.
//
// 2 MiB huge pages when the machine has enough of them reserved, otherwise ordinary pages; warning() then
// says what to set. A region that does not fit into the machine's (or the container's) free memory is
// refused: no page of it is ever missing later. Nobody can change the memfd's length, peers that got its
// descriptor included. Zero at first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/base/error.h"

namespace namdb::memory {

enum class HugePages : std::uint8_t { automatic, never, always };

class RegionMemory {
 public:
  static constexpr std::uint64_t kUnit_bytes = 2U << 20;

  // `length_bytes` is rounded up to whole units. Error configuration when it does not fit.
  static Result<std::unique_ptr<RegionMemory>> create(std::uint64_t length_bytes, HugePages huge_pages);
  // The smaller of a quarter of the memory (of the machine or the container) and 4 GiB.
  static std::uint64_t default_bytes();

  RegionMemory(const RegionMemory&) = delete;
  RegionMemory& operator=(const RegionMemory&) = delete;
  ~RegionMemory();

  std::span<std::byte> bytes() const { return {base_, length_bytes_}; }
  int descriptor() const { return descriptor_; }
  bool huge_pages() const { return huge_pages_; }
  // One line for the operator, or empty.
  const std::string& warning() const { return warning_; }

 private:
  RegionMemory() = default;
  // Creates, maps and allocates with one kind of pages.
  Status allocate(std::uint64_t length_bytes, bool huge);
  void release();

  std::byte* base_ = nullptr;
  std::uint64_t length_bytes_ = 0;
  int descriptor_ = -1;
  bool huge_pages_ = false;
  std::string warning_;
};

}  // namespace namdb::memory

// The region's memory: a memfd that is mapped shared, allocated to the last byte before any use. With
// a limit the rest up to that is address space, which is allocated piece by piece as the region grows.
//
// 2 MiB huge pages when the machine has enough of them reserved, otherwise ordinary pages; warning() then
// says what to set. A region that does not fit into the machine's (or the container's) free memory is
// refused: no page of it is ever missing later. No process can change the memfd's length, peers that got
// its descriptor included. Zero at first.
//
// Pages are allocated at about 1 GiB a second. A server that opens its data after a restart does not wait for
// them: a thread allocates those that have not been used yet, while the others are used (Missing).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "common/base/error.h"
#include "memory/process/memory_limits.h"

namespace namdb::memory {

enum class HugePages : std::uint8_t { automatic, never, always };

// Called on the thread that allocates, if the machine turns out to have too little memory: the process cannot
// go on.
using Missing = std::function<void(const Status&)>;

class RegionMemory {
 public:
  static constexpr std::uint64_t kUnit_bytes = 2U << 20;

  // The lengths are rounded up to whole units; a limit below the length is the length. Error configuration
  // when it does not fit. Huge pages are used when there are enough for the limit; on ordinary ones the limit
  // is at most what the machine and the control groups allow, and warning() says so.
  // `limits` says what those allow whenever it is asked. With `missing` ordinary pages are allocated by a
  // thread.
  static Result<std::unique_ptr<RegionMemory>> create(
      std::uint64_t length_bytes, std::uint64_t limit_bytes, HugePages huge_pages,
      std::function<MemoryLimits()> limits = [] { return memory_limits(); }, Missing missing = nullptr);
  // The smaller of a quarter of the memory (of the machine or the container) and 4 GiB.
  static std::uint64_t default_bytes();

  RegionMemory(const RegionMemory&) = delete;
  RegionMemory& operator=(const RegionMemory&) = delete;
  ~RegionMemory();

  // Allocates up to that, at most up to the limit, rounded up to a unit; gives the length then. Error
  // out_of_memory: the machine (or the container) has not so much free memory.
  Result<std::uint64_t> grow(std::uint64_t length_bytes);

  std::span<std::byte> bytes() const { return {base_, length_bytes_}; }
  std::uint64_t limit_bytes() const { return limit_bytes_; }
  int descriptor() const { return descriptor_; }
  bool huge_pages() const { return huge_pages_; }
  // One line for the operator, or empty.
  const std::string& warning() const { return warning_; }
  // Returns once the thread, if there is one, has ended.
  void await_allocation();

 private:
  RegionMemory() = default;
  // Creates, maps and allocates with one kind of pages.
  Status allocate(std::uint64_t length_bytes, std::uint64_t limit_bytes, bool huge, Missing missing);
  // True if all pages from there up to that are there, and stay; otherwise errno says why not.
  bool populate(std::uint64_t from_bytes, std::uint64_t to_bytes) const;
  void start_thread(Missing missing);
  // The thread's.
  void populate_piece_by_piece(const Missing& missing);
  void release();

  std::byte* base_ = nullptr;
  std::uint64_t length_bytes_ = 0;
  std::uint64_t limit_bytes_ = 0;  // mapped
  int descriptor_ = -1;
  bool huge_pages_ = false;
  std::string warning_;
  std::function<MemoryLimits()> limits_;
  std::atomic<std::uint64_t> to_allocate_bytes_{0};  // by the thread
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace namdb::memory

// Maps the pages of a region before they are used: a thread of its own makes the page-table entries of the
// pages behind the last one that was reached. Otherwise a worker faults at each page that it is the first to
// touch, and records are handed out from the region's beginning on. The thread makes no pages: it leaves
// alone those that the memory server has not made yet, since a page counts in the control group of the
// process that makes it.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>

namespace namdb::fabric::shm {

class PageMapper {
 public:
  // How far it is ahead: so many bytes of page tables, by 512, may be there for nothing.
  static constexpr std::uint64_t kAhead_bytes = 256U << 20;

  PageMapper() = default;
  PageMapper(const PageMapper&) = delete;
  PageMapper& operator=(const PageMapper&) = delete;
  ~PageMapper() { stop(); }

  // Operations use the region's bytes up to `reached_bytes`, of `mapped_bytes`. Any thread.
  void reach(std::byte* region, std::uint64_t reached_bytes, std::uint64_t mapped_bytes);
  // Before the region is unmapped.
  void stop();

 private:
  void run(std::byte* region);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::uint64_t wanted_bytes_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // once it is needed
};

}  // namespace namdb::fabric::shm

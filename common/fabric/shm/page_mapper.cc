#include "common/fabric/shm/page_mapper.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <system_error>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace namdb::fabric::shm {
namespace {

constexpr std::uint64_t kPage_bytes = 4096;
// At once: those that map or unmap other memory wait that long.
constexpr std::uint64_t kPiece_bytes = 512U << 10;
constexpr int kNice = 10;

// Whether the memory server has made all pages there.
bool is_there(std::byte* piece, std::uint64_t length_bytes) {
  std::array<unsigned char, kPiece_bytes / kPage_bytes> pages{};
  if (::mincore(piece, length_bytes, pages.data()) != 0) return false;
  const std::uint64_t count = (length_bytes + kPage_bytes - 1) / kPage_bytes;
  return std::all_of(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(count),
                     [](unsigned char page) { return (page & 1) != 0; });
}

}  // namespace

void PageMapper::reach(std::byte* region, std::uint64_t reached_bytes, std::uint64_t mapped_bytes) {
  const std::uint64_t wanted_bytes = std::min(reached_bytes + kAhead_bytes, mapped_bytes);
  const std::lock_guard lock(mutex_);
  if (stopping_ || wanted_bytes <= wanted_bytes_) return;
  wanted_bytes_ = wanted_bytes;
  if (thread_.joinable()) return wake_.notify_one();
  // The process's signals are for its other threads.
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&blocked, crash);
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  try {
    thread_ = std::thread([this, region] { run(region); });
  } catch (const std::system_error&) {
    stopping_ = true;  // the machine allows no more threads: pages are mapped when they are used
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void PageMapper::run(std::byte* region) {
  ::setpriority(PRIO_PROCESS, 0, kNice);  // of this thread
  std::uint64_t done_bytes = 0;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (done_bytes >= wanted_bytes_) {
      wake_.wait(lock);
      continue;
    }
    const std::uint64_t length_bytes = std::min(kPiece_bytes, wanted_bytes_ - done_bytes);
    lock.unlock();
    // An error does no harm: the pages are mapped when they are used.
    if (is_there(region + done_bytes, length_bytes))
      ::madvise(region + done_bytes, length_bytes, MADV_POPULATE_READ);
    done_bytes += length_bytes;
    lock.lock();
  }
}

void PageMapper::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

}  // namespace namdb::fabric::shm

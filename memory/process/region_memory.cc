#include "memory/process/region_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "memory/process/memory_limits.h"

#ifndef MFD_HUGE_2MB
#define MFD_HUGE_2MB (21U << 26)
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

namespace namdb::memory {
namespace {

constexpr std::uint64_t kLargestDefault_bytes = 4ULL << 30;
// The thread allocates so much at once: others that map memory wait that long.
constexpr std::uint64_t kPiece_bytes = RegionMemory::kUnit_bytes;
constexpr const char* kHugePagesFolder = "/sys/kernel/mm/hugepages/hugepages-2048kB/";

Status cannot(const std::string& what) {
  return Status(ErrorCode::configuration, "the region's memory: " + what + ": " + std::strerror(errno));
}

std::uint64_t round_up(std::uint64_t bytes) {
  return (bytes + RegionMemory::kUnit_bytes - 1) / RegionMemory::kUnit_bytes * RegionMemory::kUnit_bytes;
}

std::string mebibytes(std::uint64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

std::uint64_t RegionMemory::default_bytes() {
  const std::uint64_t bytes = std::min(memory_limits().total_bytes / 4, kLargestDefault_bytes);
  return bytes / kUnit_bytes * kUnit_bytes;
}

Result<std::unique_ptr<RegionMemory>> RegionMemory::create(std::uint64_t length_bytes,
                                                           std::uint64_t limit_bytes, HugePages huge_pages,
                                                           std::function<MemoryLimits()> limits,
                                                           Missing missing) {
  limit_bytes = std::max(length_bytes, limit_bytes);
  if (limit_bytes > 1ULL << 47) {
    return Status(ErrorCode::configuration,
                  "a region of " + std::to_string(limit_bytes) + " bytes is larger than an address can name");
  }
  const std::uint64_t rounded = round_up(length_bytes);
  const std::uint64_t limit = round_up(limit_bytes);
  const std::uint64_t units = limit / kUnit_bytes;
  auto memory = std::unique_ptr<RegionMemory>(new RegionMemory());
  memory->limits_ = std::move(limits);
  const std::uint64_t reserved = read_number(std::string(kHugePagesFolder) + "free_hugepages");
  if (huge_pages != HugePages::never) {
    if (reserved != kUnlimited && reserved >= units && memory->allocate(rounded, limit, true, nullptr).ok())
      return memory;
    const std::string cure = "sysctl vm.nr_hugepages=" + std::to_string(units);
    if (huge_pages == HugePages::always) {
      return Status(ErrorCode::configuration,
                    "a region of " + mebibytes(limit) + " needs " + std::to_string(units) +
                        " huge pages, of which " + (reserved == kUnlimited ? "0" : std::to_string(reserved)) +
                        " are free",
                    cure);
    }
    memory->warning_ = "ordinary pages are used, which is slower: fewer than " + std::to_string(units) +
                       " huge pages of 2 MiB are free (" + cure + ")";
  }
  const MemoryLimits allowed = memory->limits_();
  if (rounded > allowed.free_bytes) {
    return Status(ErrorCode::configuration,
                  "a region of " + mebibytes(rounded) + " does not fit: " + mebibytes(allowed.free_bytes) +
                      " of memory are free",
                  "choose a smaller --region-bytes");
  }
  // Memory that no group grants cannot be grown to, and must not be counted on. Huge pages are not theirs.
  const std::uint64_t granted = std::max(rounded, allowed.total_bytes / kUnit_bytes * kUnit_bytes);
  if (limit > granted) {
    memory->warning_ += std::string(memory->warning_.empty() ? "" : "; ") + "the region's limit is " +
                        mebibytes(granted) + ", which is what the machine and the control group allow";
  }
  Status status = memory->allocate(rounded, std::min(limit, granted), false, std::move(missing));
  if (!status.ok()) return status;
  return memory;
}

Status RegionMemory::allocate(std::uint64_t length_bytes, std::uint64_t limit_bytes, bool huge,
                              Missing missing) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING | (huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0U);
  descriptor_ = ::memfd_create("namdb-region", flags);
  if (descriptor_ < 0) return cannot("memfd_create");
  const auto fail = [this](const char* what) {
    Status status = cannot(what);
    release();
    return status;
  };
  if (::ftruncate(descriptor_, static_cast<off_t>(limit_bytes)) != 0) return fail("ftruncate");
  // A peer that shortened it would make the server fault.
  if (::fcntl(descriptor_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) return fail("seal");
  // MAP_POPULATE would hide an error; allocate() does not. Huge pages are reserved for the whole mapping.
  void* base = ::mmap(nullptr, limit_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (base == MAP_FAILED) return fail("mmap");
  base_ = static_cast<std::byte*>(base);
  limit_bytes_ = limit_bytes;
  // Children have no business here; dumps of gigabytes are of no use. Refusals of these do no harm.
  ::madvise(base_, limit_bytes, MADV_DONTFORK);
  ::madvise(base_, limit_bytes, MADV_DONTDUMP);
  if (!huge) ::madvise(base_, limit_bytes, MADV_HUGEPAGE);
  if (missing) {
    to_allocate_bytes_ = length_bytes;
  } else if (!populate(0, length_bytes)) {
    return fail("there is not enough");
  }
  length_bytes_ = length_bytes;
  huge_pages_ = huge;
  if (missing) start_thread(std::move(missing));
  return Status();
}

bool RegionMemory::populate(std::uint64_t from_bytes, std::uint64_t to_bytes) const {
  const std::uint64_t more_bytes = to_bytes - from_bytes;
  if (::madvise(base_ + from_bytes, more_bytes, MADV_POPULATE_WRITE) == 0) return true;
  return errno == EINVAL &&
         ::fallocate(descriptor_, 0, static_cast<off_t>(from_bytes), static_cast<off_t>(more_bytes)) == 0;
}

// The process's signals are for its other threads.
void RegionMemory::start_thread(Missing missing) {
  sigset_t blocked;
  sigset_t before;
  ::sigfillset(&blocked);
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) ::sigdelset(&blocked, crash);
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  thread_ = std::thread([this, missing = std::move(missing)] { populate_piece_by_piece(missing); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// The lowest first: that is where records are.
void RegionMemory::populate_piece_by_piece(const Missing& missing) {
  const std::uint64_t length_bytes = to_allocate_bytes_;
  for (std::uint64_t from_bytes = 0; from_bytes < length_bytes && !stopping_; from_bytes += kPiece_bytes) {
    const std::uint64_t to_bytes = std::min(from_bytes + kPiece_bytes, length_bytes);
    if (!populate(from_bytes, to_bytes)) {
      missing(cannot("there is not enough"));
      return;
    }
    to_allocate_bytes_ = length_bytes - to_bytes;
  }
}

void RegionMemory::await_allocation() {
  if (thread_.joinable()) thread_.join();
}

Result<std::uint64_t> RegionMemory::grow(std::uint64_t length_bytes) {
  const std::uint64_t rounded = std::min(round_up(length_bytes), limit_bytes_);
  if (rounded <= length_bytes_) return length_bytes_;
  const auto no_memory = [&](const std::string& why) {
    return Status(ErrorCode::out_of_memory,
                  "there is no memory for a region of " + mebibytes(rounded) + ": " + why);
  };
  // A page that a control group does not grant ends the process; so it is not asked for.
  std::uint64_t free_bytes = limits_().free_bytes;
  free_bytes -= std::min(free_bytes, to_allocate_bytes_.load());
  if (!huge_pages_ && rounded - length_bytes_ > free_bytes)
    return no_memory(mebibytes(free_bytes) + " are free");
  if (!populate(length_bytes_, rounded)) return no_memory(std::strerror(errno));
  length_bytes_ = rounded;
  return length_bytes_;
}

void RegionMemory::release() {
  if (base_ != nullptr) ::munmap(base_, limit_bytes_);
  base_ = nullptr;
  length_bytes_ = limit_bytes_ = 0;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

RegionMemory::~RegionMemory() {
  stopping_ = true;
  await_allocation();
  release();
}

}  // namespace namdb::memory

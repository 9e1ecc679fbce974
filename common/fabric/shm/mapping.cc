#include "common/fabric/shm/mapping.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "common/reactor/system_error.h"

namespace namdb::fabric::shm {
namespace {

using reactor::system_error;

constexpr std::size_t kPipesMapping_bytes = kPipesData_offset + 2 * kPipe_bytes;

using FileIdentity = std::pair<dev_t, ino_t>;

struct KnownMappings {
  std::mutex mutex;
  std::map<FileIdentity, std::weak_ptr<RegionMapping>> mappings;
};

KnownMappings& known_mappings() {
  static KnownMappings instance;
  return instance;
}

}  // namespace

Result<std::shared_ptr<RegionMapping>> RegionMapping::map(Descriptor descriptor, std::uint64_t length_bytes,
                                                          std::uint64_t capacity_bytes) {
  struct stat file{};
  if (::fstat(descriptor.get(), &file) != 0 || length_bytes > static_cast<std::uint64_t>(file.st_size) ||
      length_bytes > capacity_bytes) {
    return Status(ErrorCode::connection_failure, "the memory server passed a region of the wrong size");
  }
  KnownMappings& known = known_mappings();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.mappings, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<RegionMapping>& slot = known.mappings[{file.st_dev, file.st_ino}];
  std::shared_ptr<RegionMapping> mapping = slot.lock();
  if (mapping == nullptr) {
    void* base =
        ::mmap(nullptr, capacity_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
      return system_error(ErrorCode::out_of_memory, "cannot reserve the region's addresses", errno);
    mapping.reset(new RegionMapping(std::move(descriptor), static_cast<std::byte*>(base), capacity_bytes));
    slot = mapping;
  }
  if (mapping->grow(length_bytes) < length_bytes) {
    return system_error(ErrorCode::out_of_memory, "cannot map the region", errno);
  }
  return mapping;
}

void RegionMapping::reach(std::uint64_t reached_bytes) {
  const std::lock_guard lock(mutex_);
  pages_.reach(base_, reached_bytes, mapped_bytes_);
}

RegionMapping::~RegionMapping() {
  pages_.stop();
  ::munmap(base_, capacity_bytes_);
}

std::uint64_t RegionMapping::grow(std::uint64_t length_bytes) {
  const std::lock_guard lock(mutex_);
  if (length_bytes <= mapped_bytes_) return mapped_bytes_;
  struct stat file{};
  if (length_bytes > capacity_bytes_ || ::fstat(descriptor_.get(), &file) != 0 ||
      length_bytes > static_cast<std::uint64_t>(file.st_size)) {
    return mapped_bytes_;
  }
  // The mapped part is left alone: others work in it.
  void* wanted = base_ + mapped_bytes_;
  const std::uint64_t more_bytes = length_bytes - mapped_bytes_;
  void* mapped = ::mmap(wanted, more_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor_.get(),
                        static_cast<off_t>(mapped_bytes_));
  if (mapped == MAP_FAILED) return mapped_bytes_;
  // A child that does not exec must not hold on to the region of a memory server that fenced its parent.
  ::madvise(wanted, more_bytes, MADV_DONTFORK);
  mapped_bytes_ = length_bytes;
  return mapped_bytes_;
}

Result<PipesMapping> PipesMapping::create() {
  Descriptor descriptor(::memfd_create("namdb-pipes", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor || ::ftruncate(descriptor.get(), kPipesMapping_bytes) != 0 ||
      ::fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return system_error(ErrorCode::out_of_memory, "cannot create shared memory for a channel", errno);
  }
  return map(std::move(descriptor));
}

Result<PipesMapping> PipesMapping::map(Descriptor descriptor) {
  struct stat file{};
  if (::fstat(descriptor.get(), &file) != 0 || file.st_size != static_cast<off_t>(kPipesMapping_bytes)) {
    return Status(ErrorCode::connection_failure, "the memory server passed pipes of the wrong size");
  }
  void* base = ::mmap(nullptr, kPipesMapping_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (base == MAP_FAILED)
    return system_error(ErrorCode::out_of_memory, "cannot map a channel's pipes", errno);
  ::madvise(base, kPipesMapping_bytes, MADV_DONTFORK);
  return PipesMapping(std::move(descriptor), static_cast<std::byte*>(base));
}

PipesMapping::PipesMapping(PipesMapping&& other) noexcept
    : descriptor_(std::move(other.descriptor_)), base_(std::exchange(other.base_, nullptr)) {}

PipesMapping::~PipesMapping() {
  if (base_ != nullptr) ::munmap(base_, kPipesMapping_bytes);
}

}  // namespace namdb::fabric::shm

#include "common/fabric/shm/page_mapper.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "common/fabric/shm/descriptor.h"

namespace namdb::fabric::shm {
namespace page_mapper_test {

constexpr std::uint64_t kPage_bytes = 4096;
constexpr std::uint64_t kRegion_bytes = 8U << 20;

// A region, as the memory server has it and as a compute server maps it.
struct Subject {
  Subject() : descriptor(::memfd_create("test-region", MFD_CLOEXEC)) {
    REQUIRE(::ftruncate(descriptor.get(), kRegion_bytes) == 0);
    memory = map();
    mapped = map();
  }
  ~Subject() {
    mapper.stop();
    ::munmap(memory, kRegion_bytes);
    ::munmap(mapped, kRegion_bytes);
  }
  std::byte* map() const {
    void* base = ::mmap(nullptr, kRegion_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
    REQUIRE(base != MAP_FAILED);
    return static_cast<std::byte*>(base);
  }
  // Whether the mapping has the page in its page table (/proc/self/pagemap, bit 63).
  bool has(std::uint64_t offset) const {
    const Descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    std::uint64_t entry = 0;
    const std::uint64_t page = (reinterpret_cast<std::uintptr_t>(mapped) + offset) / kPage_bytes;
    const auto place = static_cast<off_t>(page * sizeof entry);
    REQUIRE(::pread(pagemap.get(), &entry, sizeof entry, place) == ssize_t{sizeof entry});
    return entry >> 63 != 0;
  }
  // Whether the page exists.
  bool exists(std::uint64_t offset) const {
    unsigned char page = 0;
    REQUIRE(::mincore(memory + offset, kPage_bytes, &page) == 0);
    return (page & 1) != 0;
  }
  // The mapper goes from the front to the back.
  void await(std::uint64_t offset) const {
    while (!has(offset)) std::this_thread::yield();
  }

  Descriptor descriptor;
  std::byte* memory = nullptr;
  std::byte* mapped = nullptr;
  PageMapper mapper;
};

TEST_CASE("pages behind what was reached are mapped, and stay as they are", "[page-mapper]") {
  Subject subject;
  for (std::uint64_t i = 0; i < kRegion_bytes; i += kPage_bytes) subject.memory[i] = std::byte{7};
  subject.mapper.reach(subject.mapped, kPage_bytes, kRegion_bytes / 2);
  subject.await(kRegion_bytes / 2 - kPage_bytes);
  CHECK_FALSE(subject.has(kRegion_bytes / 2 + (1U << 20)));  // not before it belongs to the region
  subject.mapper.reach(subject.mapped, kRegion_bytes, kRegion_bytes);
  subject.await(kRegion_bytes - kPage_bytes);
  for (std::uint64_t i = 0; i < kRegion_bytes; i += kPage_bytes) {
    REQUIRE(subject.mapped[i] == std::byte{7});
    subject.mapped[i] = std::byte{8};
    REQUIRE(subject.memory[i] == std::byte{8});
  }
}

TEST_CASE("pages that the memory server has not made are not made", "[page-mapper]") {
  Subject subject;
  std::memset(subject.memory + kRegion_bytes / 2, 7, kRegion_bytes / 2);
  subject.mapper.reach(subject.mapped, kRegion_bytes, kRegion_bytes);
  subject.await(kRegion_bytes - kPage_bytes);
  CHECK_FALSE(subject.exists(0));
  CHECK_FALSE(subject.exists(kRegion_bytes / 2 - kPage_bytes));
}

}  // namespace page_mapper_test
}  // namespace namdb::fabric::shm

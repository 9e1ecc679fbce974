// Control groups bound the memory server's memory; the folders here look like theirs.
#include "memory/process/memory_limits.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace namdb::memory {
namespace {

constexpr std::uint64_t kMebibyte = 1U << 20;

// A machine with 1000 MiB of memory, 800 of them free, and the files that a test adds.
class FakeRoot {
 public:
  FakeRoot() {
    char folder[] = "/tmp/namdb-limits-XXXXXX";
    REQUIRE(::mkdtemp(folder) != nullptr);
    path_ = folder;
    write("proc/meminfo", "MemTotal:        1024000 kB\nMemFree:   1 kB\nMemAvailable:     819200 kB\n");
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }

  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(path_) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  void group(const std::string& folder, std::uint64_t limit_mib, std::uint64_t used_mib,
             bool first_version) const {
    write(folder + (first_version ? "/memory.limit_in_bytes" : "/memory.max"),
          std::to_string(limit_mib * kMebibyte) + "\n");
    write(folder + (first_version ? "/memory.usage_in_bytes" : "/memory.current"),
          std::to_string(used_mib * kMebibyte) + "\n");
  }
  std::uint64_t total_mib() const { return memory_limits(path_).total_bytes / kMebibyte; }
  std::uint64_t free_mib() const { return memory_limits(path_).free_bytes / kMebibyte; }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("without a control group the machine is the limit") {
  const FakeRoot root;
  CHECK(root.total_mib() == 1000);
  CHECK(root.free_mib() == 800);
  root.write("proc/self/cgroup", "0::/\n");
  root.write("sys/fs/cgroup/memory.max", "max\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(root.total_mib() == 1000);
}

TEST_CASE("the least limit on the path of a control group counts, and the least room, in both versions") {
  const bool first_version = GENERATE(false, true);
  const std::string mount = first_version ? "sys/fs/cgroup/memory" : "sys/fs/cgroup";
  const FakeRoot root;
  root.write("proc/self/cgroup", first_version
                                     ? "12:cpu:/\n4:hugetlb,memory:/a.slice/b.slice/c.service\n0::/\n"
                                     : "0::/a.slice/b.slice/c.service\n");
  root.group(mount + "/a.slice/b.slice/c.service", 700, 10, first_version);
  CHECK(root.total_mib() == 700);
  CHECK(root.free_mib() == 690);
  root.group(mount + "/a.slice/b.slice", 300, 50, first_version);
  CHECK(root.total_mib() == 300);
  CHECK(root.free_mib() == 250);
  // Has more in all, and less room.
  root.group(mount + "/a.slice", 400, 350, first_version);
  CHECK(root.total_mib() == 300);
  CHECK(root.free_mib() == 50);
  root.group(mount + "/other.slice", 1, 1, first_version);
  CHECK(root.total_mib() == 300);
}

TEST_CASE("in a container that is told the host's path, the limit at the mount's root counts") {
  const bool first_version = GENERATE(false, true);
  const FakeRoot root;
  root.write("proc/self/cgroup", first_version ? "4:memory:/docker/0123\n" : "0::/docker/0123\n");
  root.group(first_version ? "sys/fs/cgroup/memory" : "sys/fs/cgroup", 64, 70, first_version);
  CHECK(root.total_mib() == 64);
  CHECK(root.free_mib() == 0);
}

}  // namespace namdb::memory

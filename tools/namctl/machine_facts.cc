#include "tools/namctl/machine_facts.h"

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/timex.h>
#include <sys/utsname.h>

#include <fstream>

#include "common/fabric/cluster_key.h"
#include "common/reactor/reactor.h"

namespace namdb::namctl {
namespace {

constexpr std::uint64_t kKibibyte = 1024;

void read_memory(MachineFacts& facts) {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = line.substr(0, colon);
    const std::uint64_t value = std::strtoull(line.c_str() + colon + 1, nullptr, 10);
    if (name == "MemTotal") facts.memory_bytes = value * kKibibyte;
    if (name == "MemAvailable") facts.available_bytes = value * kKibibyte;
  }
  std::ifstream pages("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  pages >> facts.free_huge_pages;
}

std::uint64_t limit_of(__rlimit_resource resource) {
  rlimit limit{};
  return ::getrlimit(resource, &limit) == 0 ? limit.rlim_max : 0;
}

void read_disk(MachineFacts& facts, std::filesystem::path folder) {
  std::error_code ignored;
  while (!std::filesystem::exists(folder, ignored) && folder.has_relative_path())
    folder = folder.parent_path();
  facts.disk = folder.string();
  struct statfs system{};
  if (::statfs(facts.disk.c_str(), &system) != 0) return;
  facts.disk_free_bytes =
      static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
  facts.disk_is_memory = system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC;
}

std::size_t count_entries(const char* folder) {
  std::error_code missing;
  std::size_t count = 0;
  for (std::filesystem::directory_iterator entry(folder, missing), end; !missing && entry != end; ++entry)
    ++count;
  return count;
}

}  // namespace

MachineFacts read_machine(const std::filesystem::path& data, const std::filesystem::path& key_file) {
  MachineFacts facts;
  utsname system{};
  if (::uname(&system) == 0) facts.kernel = system.release;
  facts.io_uring = reactor::Reactor::create({}).status();
  read_memory(facts);
  facts.locked_limit_bytes = limit_of(RLIMIT_MEMLOCK);
  facts.descriptors = limit_of(RLIMIT_NOFILE);
  timex clock{};
  const int state = ::adjtimex(&clock);
  if (state >= 0) facts.clock_is_synchronised = state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0;
  facts.rdma_devices = count_entries("/sys/class/infiniband");
  read_disk(facts, data);
  if (!key_file.empty()) {
    facts.key_file = key_file.string();
    const auto key = fabric::read_cluster_key(facts.key_file);
    facts.key = key.status();
    if (key.ok()) facts.key_fingerprint = fabric::fingerprint(*key);
  }
  return facts;
}

}  // namespace namdb::namctl

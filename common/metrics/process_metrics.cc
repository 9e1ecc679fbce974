#include "common/metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <string>

namespace namdb::metrics {
namespace {

double in_seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::optional<double> resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  if (!(file >> total >> resident)) return std::nullopt;
  return amount(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::optional<double> open_descriptors() {
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return std::nullopt;
  std::uint64_t entries = 0;
  while (::readdir(folder) != nullptr) ++entries;
  ::closedir(folder);
  constexpr std::uint64_t kOthers = 3;  // ".", ".." and the folder's own
  return amount(entries - kOthers);
}

// Since 1970: the boot, and the process's start in ticks after it.
std::optional<double> start_time() {
  std::ifstream own("/proc/self/stat");
  std::string line;
  std::getline(own, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::size_t begin = name_end + 1;
  constexpr int kFieldsBefore = 19;  // from field 3, behind the name, to field 22
  for (int i = 0; i < kFieldsBefore && begin != std::string::npos; ++i) begin = line.find(' ', begin + 1);
  if (begin == std::string::npos) return std::nullopt;
  const double ticks = std::strtod(line.c_str() + begin, nullptr);
  std::ifstream system("/proc/stat");
  for (std::string word; system >> word;) {
    double boot = 0;
    if (word == "btime" && system >> boot) return boot + ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return std::nullopt;
}

}  // namespace

void add_process(MetricPage& page) {
  rusage use{};
  if (::getrusage(RUSAGE_SELF, &use) == 0) {
    page.counter("process_cpu_seconds_total", "User and system time.",
                 in_seconds(use.ru_utime) + in_seconds(use.ru_stime));
  }
  if (const auto bytes = resident_bytes())
    page.gauge("process_resident_memory_bytes", "Resident memory.", *bytes);
  if (const auto count = open_descriptors()) page.gauge("process_open_fds", "Open descriptors.", *count);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
    page.gauge("process_max_fds", "Descriptors that may be open.", amount(limit.rlim_cur));
  if (const auto time = start_time())
    page.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.", *time);
}

}  // namespace namdb::metrics

#include "tools/nambench/micro/disk_bench.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <span>
#include <utility>

#include "common/fabric/shm/descriptor.h"
#include "common/reactor/reactor.h"
#include "common/reactor/system_error.h"
#include "memory/log/file_disk.h"
#include "memory/log/log.h"
#include "memory/log/log_reader.h"
#include "tools/nambench/report/median.h"
#include "tools/support/report/histogram.h"

namespace namdb::nambench {
namespace {

using fabric::shm::Descriptor;

using memory::kDiskPage_bytes;
using memory::Log;
using memory::PageBuffer;

constexpr memory::LogIdentity kIdentity{1, {1, 0}};
constexpr double kMebibyte = 1U << 20;

Status failed(const std::string& what) {
  return reactor::system_error(memory::kDiskFailed, "cannot " + what, errno);
}

// A folder of the benchmark's own, removed at the end.
class Workplace {
 public:
  Workplace() = default;
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  ~Workplace() {
    std::error_code ignored;  // what is left behind bears the benchmark's name
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Status make(const std::string& folder) {
    std::string path = folder + "/nambench-disk-XXXXXX";
    if (::mkdtemp(path.data()) == nullptr) return failed("make a folder in " + folder);
    path_ = path;
    return Status();
  }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Descriptor open_direct(const std::string& path, int flags) {
  return Descriptor(::open(path.c_str(), flags | O_DIRECT | O_CLOEXEC, 0600));
}

// As the log writes: each page of space that was written before, one after the other.
Status measure_synced_writes(const std::string& path, std::uint64_t writes, DiskReport& report) {
  constexpr std::uint64_t kFile_bytes = 16U << 20;
  const Descriptor file = open_direct(path, O_RDWR | O_CREAT);
  if (!file) return failed("create " + path + " for direct I/O");
  const PageBuffer zeros(kFile_bytes);
  if (::pwrite(file.get(), zeros.data(), kFile_bytes, 0) != static_cast<ssize_t>(kFile_bytes) ||
      ::fsync(file.get()) != 0)
    return failed("fill " + path);
  support::Histogram latencies;
  for (std::uint64_t i = 0; i < writes; ++i) {
    zeros.data()[0] = static_cast<std::byte>(i);
    const iovec piece{zeros.data(), kDiskPage_bytes};
    const std::uint64_t offset = i * kDiskPage_bytes % kFile_bytes;
    const std::uint64_t begin_ns = support::steady_now_ns();
    if (::pwritev2(file.get(), &piece, 1, static_cast<off_t>(offset), RWF_DSYNC) !=
        static_cast<ssize_t>(kDiskPage_bytes))
      return failed("write " + path);
    latencies.record(support::steady_now_ns() - begin_ns);
  }
  report.synced_write_median_us = static_cast<double>(latencies.percentile_ns(0.5)) / 1e3;
  report.synced_write_p90_us = static_cast<double>(latencies.percentile_ns(0.9)) / 1e3;
  return Status();
}

// --- appends ---

struct Appending {
  Log* log = nullptr;
  std::vector<std::byte> record;
  std::uint64_t until_ns = 0;
  support::Histogram latencies;
  Status status;
};

reactor::Task<void> append_until(Appending* appending) {
  while (support::steady_now_ns() < appending->until_ns && appending->status.ok()) {
    const std::uint64_t begin_ns = support::steady_now_ns();
    const auto appended = co_await appending->log->append(1, appending->record);
    Status status = appended.status();
    if (appended.ok()) status = co_await appending->log->flush(appended.value().end);
    if (!status.ok()) {
      appending->status = status;
      co_return;
    }
    appending->latencies.record(support::steady_now_ns() - begin_ns);
  }
}

reactor::Task<Result<AppendReport>> measure_appends(reactor::Reactor* reactor, memory::Disk* disk,
                                                    std::string folder, std::uint64_t waiters,
                                                    DiskBenchOptions options) {
  constexpr std::uint64_t kSegment_bytes = 16U << 20;
  memory::LogOptions log_options;
  log_options.segment_bytes = kSegment_bytes;
  auto log = co_await Log::create(*reactor, *disk, folder, kIdentity, log_options);
  if (!log.ok()) co_return log.status();
  // The next segment is there before the measurement begins.
  while ((*log)->counters().segments_made < 2 && (*log)->failure().ok())
    co_await reactor->sleep_for(kMillisecond_ns);
  Appending appending;
  appending.log = log->get();
  appending.record.assign(options.record_bytes, std::byte{0x6e});
  const memory::LogCounters before = (*log)->counters();
  const std::uint64_t begin_ns = support::steady_now_ns();
  appending.until_ns = begin_ns + options.milliseconds * kMillisecond_ns;
  reactor::Gate gate;
  for (std::uint64_t i = 0; i < waiters; ++i) reactor->spawn(gate, append_until(&appending));
  co_await gate.close();
  const double seconds = static_cast<double>(support::steady_now_ns() - begin_ns) / 1e9;
  const std::uint64_t writes = (*log)->counters().writes - before.writes;
  co_await (*log)->close();
  if (!appending.status.ok()) co_return appending.status;
  AppendReport report;
  report.waiters = waiters;
  report.per_second = static_cast<double>(appending.latencies.count()) / seconds;
  report.writes_per_second = static_cast<double>(writes) / seconds;
  report.median_us = static_cast<double>(appending.latencies.percentile_ns(0.5)) / 1e3;
  report.p90_us = static_cast<double>(appending.latencies.percentile_ns(0.9)) / 1e3;
  co_return report;
}

// --- reading back ---

reactor::Task<Result<std::uint64_t>> write_log(reactor::Reactor* reactor, memory::Disk* disk,
                                               std::string folder, DiskBenchOptions options) {
  const std::uint64_t wanted_bytes = options.log_mib << 20;
  memory::LogOptions log_options;
  log_options.max_bytes = 2 * wanted_bytes + 4 * log_options.segment_bytes;
  auto log = co_await Log::create(*reactor, *disk, folder, kIdentity, log_options);
  if (!log.ok()) co_return log.status();
  const std::vector<std::byte> record(options.record_bytes, std::byte{0x72});
  Status status;
  memory::LogPosition flushed = 0;
  while (status.ok() && (*log)->appended() < wanted_bytes) {
    const auto appended = co_await (*log)->append(1, record);
    status = appended.status();
    if (!status.ok() || appended.value().end - flushed < log_options.max_block_bytes) continue;
    flushed = appended.value().end;
    status = co_await (*log)->flush(flushed);
  }
  const memory::LogPosition end = (*log)->appended();
  if (status.ok()) status = co_await (*log)->flush(end);
  const std::uint64_t log_bytes = (*log)->counters().written_bytes;
  co_await (*log)->close();
  if (!status.ok()) co_return status;
  co_return log_bytes;
}

reactor::Task<Result<std::uint64_t>> read_log(memory::Disk* disk, std::string folder) {
  memory::LogReader reader(*disk, folder);
  const Status status = co_await reader.open(0, std::nullopt);
  if (!status.ok()) co_return status;
  std::uint64_t records = 0;
  while (true) {
    const auto next = co_await reader.next();
    if (!next.ok()) co_return next.status();
    if (!next.value()) co_return records;
    ++records;
  }
}

// All files of the folder, one after the other; their bytes.
Result<std::uint64_t> read_plainly(const std::string& folder, const PageBuffer& buffer) {
  std::uint64_t total_bytes = 0;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  for (const std::string& path : paths) {
    const Descriptor file = open_direct(path, O_RDONLY);
    if (!file) return failed("open " + path);
    while (true) {
      const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
      if (got < 0) return failed("read " + path);
      if (got == 0) break;
      total_bytes += static_cast<std::uint64_t>(got);
    }
  }
  return total_bytes;
}

double rate(std::uint64_t bytes, std::uint64_t begin_ns) {
  return static_cast<double>(bytes) / kMebibyte /
         (static_cast<double>(support::steady_now_ns() - begin_ns) / 1e9);
}

Status measure_reading(reactor::Reactor& reactor, memory::Disk& disk, const std::string& folder,
                       const DiskBenchOptions& options, DiskReport& report) {
  const Result<std::uint64_t> log_bytes = reactor.run_until(write_log(&reactor, &disk, folder, options));
  if (!log_bytes.ok()) return log_bytes.status();
  report.log_bytes = log_bytes.value();
  const PageBuffer buffer(memory::LogReader::kWindow_bytes);
  std::vector<double> log_rates;
  std::vector<double> plain_rates;
  for (int i = 0; i < options.repetitions; ++i) {
    std::uint64_t begin_ns = support::steady_now_ns();
    const Result<std::uint64_t> plain = read_plainly(folder, buffer);
    if (!plain.ok()) return plain.status();
    plain_rates.push_back(rate(plain.value(), begin_ns));
    begin_ns = support::steady_now_ns();
    const Result<std::uint64_t> records = reactor.run_until(read_log(&disk, folder));
    if (!records.ok()) return records.status();
    log_rates.push_back(rate(report.log_bytes, begin_ns));
    report.records = records.value();
  }
  report.plain_mib_per_second = upper_median(std::move(plain_rates));
  report.log_mib_per_second = upper_median(std::move(log_rates));
  return Status();
}

}  // namespace

Result<DiskReport> disk_bench(const DiskBenchOptions& options, support::Progress& progress) {
  Workplace workplace;
  Status status = workplace.make(options.folder);
  if (!status.ok()) return status;
  auto reactor = reactor::Reactor::create();
  if (!reactor.ok()) return reactor.status();
  memory::FileDisk disk(**reactor);
  DiskReport report;
  progress.note("synced writes of 4 KiB");
  status = measure_synced_writes(workplace.path("synced"), options.synced_writes, report);
  if (!status.ok()) return status;
  for (const std::uint64_t waiters : options.waiters) {
    progress.note("appends of " + std::to_string(waiters) + " waiters");
    const std::string folder = workplace.path("log-of-" + std::to_string(waiters));
    Result<AppendReport> appends =
        (*reactor)->run_until(measure_appends(reactor->get(), &disk, folder, waiters, options));
    if (!appends.ok()) return appends.status();
    appends->share =
        appends->per_second * 1.5 * report.synced_write_median_us / 1e6 / static_cast<double>(waiters);
    report.appends.push_back(*appends);
    std::filesystem::remove_all(folder);
  }
  progress.note("reading back " + std::to_string(options.log_mib) + " MiB");
  status = measure_reading(**reactor, disk, workplace.path("log"), options, report);
  if (!status.ok()) return status;
  return report;
}

}  // namespace namdb::nambench

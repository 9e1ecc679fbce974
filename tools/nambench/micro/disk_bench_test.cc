#include "tools/nambench/micro/disk_bench.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

namespace namdb::nambench {

TEST_CASE("the disk's benchmark gives a rate for each of its parts, and leaves nothing in the folder") {
  std::string folder = (std::filesystem::temp_directory_path() / "disk-bench-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  DiskBenchOptions options;
  options.folder = folder;
  options.synced_writes = 10;
  options.waiters = {1, 4};
  options.milliseconds = 20;
  options.log_mib = 5;
  options.repetitions = 1;
  support::Progress progress(true);
  const auto report = disk_bench(options, progress);
  INFO((report.ok() ? "" : report.status().to_string()));
  REQUIRE(report.ok());
  CHECK(report->synced_write_median_us > 0);
  CHECK(report->synced_write_p90_us >= report->synced_write_median_us);
  REQUIRE(report->appends.size() == 2);
  for (const AppendReport& appends : report->appends) {
    CHECK(appends.per_second >= appends.writes_per_second);
    CHECK(appends.writes_per_second > 0);
  }
  CHECK(report->records == (5U << 20) / (256 + 8) + 1);
  CHECK(report->log_bytes > 5U << 20);
  CHECK(report->log_mib_per_second > 0);
  CHECK(report->plain_mib_per_second > 0);
  CHECK(std::filesystem::is_empty(folder));
  options.folder = folder + "/nowhere";
  CHECK_FALSE(disk_bench(options, progress).ok());
  std::filesystem::remove_all(folder);
}

}  // namespace namdb::nambench

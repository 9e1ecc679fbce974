// A copy of a log takes the blocks of another one as they are sealed, and goes on with it; and the log waits
// for its copies.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory/log/log.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/testing/small_log.h"

namespace namdb::memory {
namespace log_copy_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::kIdentity;
using testing::run_task;
using testing::small_log_options;

const std::string kFirstFolder = "first/log";
const std::string kCopyFolder = "copy/log";

struct Kept {
  LogTail before;
  LogTail behind;
  PageBuffer bytes;
};

// A log whose blocks are kept.
struct Source {
  ManualExecutor executor;
  FaultDisk disk{executor, 3};
  std::unique_ptr<Log> log;
  std::vector<Kept> blocks;

  Source() {
    auto made = run_task(executor, Log::create(executor, disk, kFirstFolder, kIdentity, small_log_options()));
    REQUIRE(made.ok());
    log = std::move(*made);
    log->watch_blocks([this](const Log::SealedBlock& block) {
      Kept kept{block.before, block.behind, PageBuffer(block.bytes.size())};
      std::ranges::copy(block.bytes, kept.bytes.data());
      blocks.push_back(std::move(kept));
    });
  }
  ~Source() { run_task(executor, log->close()); }

  LogPosition append(std::size_t length) {
    const std::vector<std::byte> bytes(length, static_cast<std::byte>(blocks.size() + 1));
    const auto appended = run_task(executor, log->append(3, bytes));
    REQUIRE(appended.ok());
    REQUIRE(run_task(executor, log->flush(appended->end)).ok());
    return appended->end;
  }
};

std::vector<LogPosition> records_in(ManualExecutor& executor, FaultDisk& disk, const std::string& folder,
                                    LogEnd* end) {
  LogReader reader(disk, folder);
  REQUIRE(run_task(executor, reader.open(0, kIdentity.owner)).ok());
  std::vector<LogPosition> ends;
  while (true) {
    const auto record = run_task(executor, reader.next());
    REQUIRE(record.ok());
    if (!*record) break;
    ends.push_back((*record)->end);
  }
  *end = reader.take_end();
  return ends;
}

}  // namespace log_copy_test

using namespace log_copy_test;

TEST_CASE("a log waits until its copies have what is flushed", "[log]") {
  Source source;
  const std::vector<std::byte> bytes(10);
  const auto appended = run_task(source.executor, source.log->append(3, bytes));
  REQUIRE(appended.ok());
  source.log->set_confirmed(0);
  std::optional<Status> flushed;
  reactor::Gate gate;
  source.executor.spawn(gate, testing::keep_result(source.log->flush(appended->end), &flushed));
  source.executor.run_until([&] { return source.log->durable() == appended->end; });
  source.executor.run_ready();
  CHECK_FALSE(flushed.has_value());
  source.log->set_confirmed(appended->end - 8);
  source.executor.run_ready();
  CHECK_FALSE(flushed.has_value());
  source.log->set_confirmed(appended->end);
  source.executor.run_ready();
  REQUIRE(flushed.has_value());
  CHECK(flushed->ok());
  // A log that ends keeps what is confirmed; the rest is not, though it is on this disk.
  source.log->set_confirmed(appended->end - 8);
  std::optional<Status> second;
  source.executor.spawn(gate, testing::keep_result(source.log->flush(appended->end), &second));
  source.executor.run_ready();
  source.log->end_now(Status(ErrorCode::cannot_connect_now, "elsewhere"));
  source.executor.run_ready();
  REQUIRE(second.has_value());
  CHECK(second->code() == ErrorCode::cannot_connect_now);
}

TEST_CASE("a copy that begins within a log has its blocks, and goes on after a restart", "[log]") {
  Source source;
  std::vector<LogPosition> ends;
  for (int i = 0; i < 20; ++i) ends.push_back(source.append(5000));
  // From the first block of the second segment on.
  std::size_t from = 0;
  while (source.blocks[from].before.segment == 0) ++from;
  const auto start = source.log->segment_with(source.blocks[from].before.position + 8);
  REQUIRE(start.has_value());
  CHECK(start->segment == source.blocks[from].before.segment);
  CHECK(start->position == source.blocks[from].before.position);
  ManualExecutor executor;
  FaultDisk disk(executor, 4);
  auto made = run_task(executor, Log::create_copy(executor, disk, kCopyFolder, kIdentity,
                                                  source.blocks[from].before, small_log_options()));
  REQUIRE(made.ok());
  std::unique_ptr<Log> copy = std::move(*made);
  CHECK(run_task(executor, copy->write_sealed(source.blocks[from + 1].bytes.span())).code() ==
        ErrorCode::corrupt_data);
  std::size_t next = from;
  for (; next < source.blocks.size() - 3; ++next)
    REQUIRE(run_task(executor, copy->write_sealed(source.blocks[next].bytes.span())).ok());
  CHECK(copy->tail() == source.blocks[next - 1].behind);
  CHECK(copy->durable() == source.blocks[next - 1].behind.position);
  run_task(executor, copy->close());
  copy.reset();
  disk.restart(FaultDisk::End::power_lost);
  LogEnd end;
  records_in(executor, disk, kCopyFolder, &end);
  auto resumed =
      run_task(executor, Log::resume(executor, disk, kCopyFolder, std::move(end), small_log_options()));
  REQUIRE(resumed.ok());
  copy = std::move(*resumed);
  CHECK(copy->tail() == source.blocks[next - 1].behind);
  for (; next < source.blocks.size(); ++next)
    REQUIRE(run_task(executor, copy->write_sealed(source.blocks[next].bytes.span())).ok());
  CHECK(copy->tail() == source.log->tail());
  CHECK(copy->durable() == ends.back());
  run_task(executor, copy->close());
}

TEST_CASE("a copy is cut back to a block, whatever step its disk ends at", "[log]") {
  Source source;
  for (int i = 0; i < 24; ++i) source.append(5000);
  const FaultDisk::End how = GENERATE(FaultDisk::End::killed, FaultDisk::End::power_lost);
  const std::size_t kept = 5;
  bool done = false;
  for (std::uint64_t step = 0; !done; ++step) {
    INFO("step " << step);
    ManualExecutor executor;
    FaultDisk disk(executor, 4 + step);
    auto made = run_task(executor, Log::create_copy(executor, disk, kCopyFolder, kIdentity,
                                                    source.blocks[0].before, small_log_options()));
    REQUIRE(made.ok());
    std::unique_ptr<Log> copy = std::move(*made);
    for (const Kept& block : source.blocks)
      REQUIRE(run_task(executor, copy->write_sealed(block.bytes.span())).ok());
    LogTail unknown = source.blocks[kept].before;
    ++unknown.previous;
    CHECK_FALSE(run_task(executor, copy->cut(unknown)).ok());
    disk.stop_at(disk.steps() + step);
    done = run_task(executor, copy->cut(source.blocks[kept].before)).ok();
    run_task(executor, copy->close());
    copy.reset();
    disk.restart(how);
    disk.stop_at(FaultDisk::kNever);
    LogEnd end;
    records_in(executor, disk, kCopyFolder, &end);  // and no damage
    CHECK(end.position >= source.blocks[kept].before.position);
    if (done) CHECK(end.tails.back() == source.blocks[kept].before);
    auto resumed =
        run_task(executor, Log::resume(executor, disk, kCopyFolder, std::move(end), small_log_options()));
    REQUIRE(resumed.ok());
    copy = std::move(*resumed);
    REQUIRE(run_task(executor, copy->cut(source.blocks[kept].before)).ok());
    for (std::size_t i = kept; i < source.blocks.size(); ++i)
      REQUIRE(run_task(executor, copy->write_sealed(source.blocks[i].bytes.span())).ok());
    CHECK(copy->tail() == source.log->tail());
    run_task(executor, copy->close());
  }
}

}  // namespace namdb::memory

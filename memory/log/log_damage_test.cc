// Damaged logs and checkpoints: flipped bits, files that are cut or missing, folders of others. Each is
// found and named, with what is lost.
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "memory/log/checkpoint_store.h"
#include "memory/log/folder_identity.h"
#include "memory/log/log.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/verify.h"

namespace namdb::memory {
namespace log_damage_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::run_task;

const LogIdentity kIdentity{77, {1234, 2}};
constexpr std::uint64_t kSegment_bytes = 32U << 10;

// Where a block stands.
struct Block {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint64_t used_bytes = 0;  // header and payload
};

reactor::Task<void> write_records(Log* log, int count) {
  Random random(3);
  for (int i = 0; i < count; ++i) {
    const std::vector<std::byte> bytes(random.below(5000), static_cast<std::byte>(i));
    const auto appended = co_await log->append(static_cast<std::uint16_t>(i), bytes);
    REQUIRE(appended.ok());
    const Status status = co_await log->flush(appended.value().end);
    REQUIRE(status.ok());
  }
}

class DamagedFolder {
 public:
  explicit DamagedFolder(int records = 60) {
    LogOptions options;
    options.segment_bytes = kSegment_bytes;
    options.reserve_bytes = 0;
    auto made = run_task(executor_, Log::create(executor_, disk_, "data/log", kIdentity, options));
    REQUIRE(made.ok());
    Log& log = **made;
    run_task(executor_, write_records(&log, records));
    end_ = log.durable();
    run_task(executor_, log.close());
    REQUIRE(run_task(executor_, disk_.make_folder("data/log")).ok());
    find_blocks();
  }

  FaultDisk& disk() { return disk_; }
  ManualExecutor& executor() { return executor_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  LogPosition end() const { return end_; }
  std::string path(std::uint64_t segment) const { return "data/log/" + segment_name(segment); }
  std::uint64_t segments() const { return blocks_.back().segment + 1; }
  VerifyReport verify() {
    auto report = run_task(executor_, verify_folder(disk_, "data"));
    REQUIRE(report.ok());
    return std::move(*report);
  }
  Status open(LogPosition from, std::optional<LogOwner> owner) {
    LogReader reader(disk_, "data/log");
    return run_task(executor_, reader.open(from, owner));
  }

 private:
  void find_blocks() {
    for (std::uint64_t segment = 0; disk_.has(path(segment)); ++segment) {
      const std::vector<std::byte> bytes = disk_.bytes(path(segment));
      for (std::uint64_t at = kDiskPage_bytes; at < bytes.size();) {
        const std::span<const std::byte> rest = std::span(bytes).subspan(at);
        const std::uint64_t length =
            block_bytes_at(kIdentity.log_id, segment * kSegment_bytes + at, rest, rest.size());
        if (length == 0) break;
        const auto block = certify_block(kIdentity.log_id, segment * kSegment_bytes + at, rest.first(length));
        REQUIRE(block);
        blocks_.push_back({segment, at, kBlockHeader_bytes + block->header.payload_bytes});
        at += length;
      }
    }
    REQUIRE(blocks_.size() > 30);
  }

  ManualExecutor executor_;
  FaultDisk disk_{executor_, 1};
  std::vector<Block> blocks_;
  LogPosition end_ = 0;
};

TEST_CASE("a log without damage verifies") {
  DamagedFolder folder;
  const VerifyReport report = folder.verify();
  CHECK(report.findings.empty());
  CHECK(report.records == 60);
  CHECK(report.log_begin == 0);
  CHECK(report.log_end == folder.end());
  CHECK(report.blocks == folder.blocks().size());
  CHECK_FALSE(report.torn);
  CHECK(report.identity == kIdentity);
}

TEST_CASE("a flipped bit in any block but the last is damage, named by file and offset; the rest is read") {
  DamagedFolder folder;
  Random random(11);
  for (std::size_t i = 0; i + 1 < folder.blocks().size(); ++i) {
    const Block block = folder.blocks()[i];
    const std::uint64_t bit = (block.offset + random.below(block.used_bytes)) * 8 + random.below(8);
    folder.disk().flip_bit(folder.path(block.segment), bit);
    const VerifyReport report = folder.verify();
    INFO("block " << i << " bit " << bit);
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].where ==
          folder.path(block.segment) + ", offset " + std::to_string(block.offset));
    CHECK(report.findings[0].what == "a block is damaged, and the log goes on behind it");
    CHECK_FALSE(report.findings[0].lost.empty());
    CHECK(report.records >= 57);
    CHECK(report.records < 60);
    CHECK(report.log_end == folder.end());
    folder.disk().flip_bit(folder.path(block.segment), bit);
  }
  CHECK(folder.verify().findings.empty());
}

TEST_CASE("a flipped bit in the last block looks like one that was never finished") {
  DamagedFolder folder;
  const Block last = folder.blocks().back();
  folder.disk().flip_bit(folder.path(last.segment), (last.offset + last.used_bytes - 1) * 8);
  const VerifyReport report = folder.verify();
  CHECK(report.findings.empty());
  CHECK(report.torn);
  CHECK(report.log_end < folder.end());
}

TEST_CASE("a segment that is cut at any page, damaged in its header, renamed or missing is named") {
  DamagedFolder folder;
  REQUIRE(folder.segments() > 3);
  for (std::uint64_t pages = 0; pages < kSegment_bytes / kDiskPage_bytes; ++pages) {
    for (const std::uint64_t segment : {std::uint64_t{0}, folder.segments() - 1}) {
      const auto copy = folder.disk().copy(1);
      copy->cut(folder.path(segment), pages * kDiskPage_bytes);
      const auto report = run_task(folder.executor(), verify_folder(*copy, "data"));
      REQUIRE(report.ok());
      REQUIRE(report.value().findings.size() == 1);
      CHECK(report.value().findings[0].what.starts_with(folder.path(segment)));
    }
  }
  for (std::uint64_t bit = 0; bit < 56 * 8; bit += 7) {
    const auto copy = folder.disk().copy(1);
    copy->flip_bit(folder.path(1), bit);
    LogReader reader(*copy, "data/log");
    const Status status = run_task(folder.executor(), reader.open(0, kIdentity.owner));
    CHECK_FALSE(status.ok());
    CHECK(status.message().find(folder.path(1)) != std::string::npos);
  }
  const auto missing = folder.disk().copy(1);
  REQUIRE(run_task(folder.executor(), missing->remove(folder.path(1))).ok());
  LogReader gap(*missing, "data/log");
  CHECK(run_task(folder.executor(), gap.open(0, kIdentity.owner)).message() ==
        folder.path(1) + " is missing");
  REQUIRE(run_task(folder.executor(), missing->rename(folder.path(2), folder.path(1))).ok());
  LogReader renamed(*missing, "data/log");
  CHECK(run_task(folder.executor(), renamed.open(0, kIdentity.owner)).message() ==
        folder.path(1) + " says that it is segment 2: it was renamed");
}

TEST_CASE("segments that are needed and gone are missed at both ends") {
  DamagedFolder folder;
  const LogPosition middle = folder.end() / 2;
  REQUIRE(run_task(folder.executor(), folder.disk().remove(folder.path(0))).ok());
  CHECK(folder.open(8, kIdentity.owner).message() ==
        "the log in data/log begins behind position 8, which is needed: its first segments are lost");
  CHECK(folder.open(middle, kIdentity.owner).ok());
  LogReader reader(folder.disk(), "data/log");
  REQUIRE(run_task(folder.executor(), reader.open(folder.end() + 8, kIdentity.owner)).ok());
  const auto next = run_task(folder.executor(), reader.next());
  REQUIRE_FALSE(next.ok());
  CHECK(next.status().code() == ErrorCode::corrupt_data);
}

reactor::Task<void> write_two(ManualExecutor* executor, FaultDisk* disk, int byte) {
  LogReader reader(*disk, "data/log");
  Status status = co_await reader.open(0, kIdentity.owner);
  while (status.ok()) {
    const auto next = co_await reader.next();
    status = next.status();
    if (!next.ok() || !next.value()) break;
  }
  LogOptions options;
  options.segment_bytes = kSegment_bytes;
  options.reserve_bytes = 0;
  const std::string path = "data/log";
  auto log = co_await Log::resume(*executor, *disk, path, reader.take_end(), options);
  REQUIRE(log.ok());
  for (int i = 0; i < 2; ++i) {
    const std::vector<std::byte> bytes(100, static_cast<std::byte>(byte));
    const auto appended = co_await log.value()->append(1, bytes);
    REQUIRE(appended.ok());
    const Status flushed = co_await log.value()->flush(appended.value().end);
    REQUIRE(flushed.ok());
  }
  co_await log.value()->close();
}

TEST_CASE("a block of an earlier attempt at its place does not pass for one of the log") {
  DamagedFolder folder(41);
  const auto other = folder.disk().copy(1);
  run_task(folder.executor(), write_two(&folder.executor(), &folder.disk(), 1));
  run_task(folder.executor(), write_two(&folder.executor(), other.get(), 2));
  const Block last = folder.blocks().back();
  const std::string path = folder.path(last.segment);
  const std::uint64_t next = last.offset + whole_pages(last.used_bytes);
  REQUIRE(next + 2 * kDiskPage_bytes <= kSegment_bytes);
  const std::vector<std::byte> bytes = other->bytes(path);
  folder.disk().overwrite(path, next, std::span(bytes).subspan(next, kDiskPage_bytes));
  const VerifyReport report = folder.verify();
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].where == path + ", offset " + std::to_string(next + kDiskPage_bytes));
  CHECK(report.findings[0].what == "a block does not follow the one before it");
}

TEST_CASE("the folder of another database or server is refused by name") {
  DamagedFolder folder;
  CHECK(folder.open(0, kIdentity.owner).ok());
  CHECK(folder.open(0, LogOwner{99, 2}).message() == folder.path(0) + " is of another database");
  CHECK(folder.open(0, LogOwner{1234, 0}).message() ==
        folder.path(0) + " is of memory server 2, this is server 0");
  CHECK_FALSE(run_task(folder.executor(), verify_folder(folder.disk(), "elsewhere")).ok());
}

reactor::Task<void> add_checkpoints(FaultDisk* disk, LogPosition redo_from) {
  auto store = co_await CheckpointStore::open(*disk, "data/checkpoint", kIdentity);
  REQUIRE(store.ok());
  for (std::uint64_t generation = 1; generation <= 2; ++generation) {
    store.value()->begin();
    const std::vector<std::byte> bytes(5000, static_cast<std::byte>(generation));
    for (std::uint64_t key = generation; key < 4; ++key) {
      const Status status = co_await store.value()->put(key, bytes);
      REQUIRE(status.ok());
    }
    const Status status = co_await store.value()->commit(redo_from, {});
    REQUIRE(status.ok());
  }
}

TEST_CASE("each flipped bit of chunks and manifests is found, and what belongs together and does not fit") {
  DamagedFolder folder;
  run_task(folder.executor(), add_checkpoints(&folder.disk(), 0));
  CHECK(folder.verify().findings.empty());
  CHECK(folder.verify().checkpoints.size() == 2);
  Random random(5);
  const std::string checkpoint = "data/checkpoint/";
  const std::vector<std::pair<std::string, std::uint64_t>> files{{checkpoint + manifest_name(1), 72 + 3 * 32},
                                                                 {checkpoint + manifest_name(2), 72 + 3 * 32},
                                                                 {checkpoint + chunk_name(1, 1), 5048},
                                                                 {checkpoint + chunk_name(2, 2), 5048}};
  for (const auto& [file, used_bytes] : files) {
    for (int round = 0; round < 100; ++round) {
      const std::uint64_t bit = random.below(used_bytes * 8);
      folder.disk().flip_bit(file, bit);
      const VerifyReport report = folder.verify();
      REQUIRE_FALSE(report.findings.empty());
      CHECK(report.findings[0].where == file);
      const std::string text = report.findings[0].text();
      CHECK(text.find(file) != std::string::npos);
      CHECK(text.find(file) == text.rfind(file));
      folder.disk().flip_bit(file, bit);
    }
  }
  DamagedFolder late;
  run_task(late.executor(), add_checkpoints(&late.disk(), late.end() + 8));
  const VerifyReport report = late.verify();
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].what == "redo begins behind the end of the log");
}

bool advises(const VerifyFinding& finding, const std::string& words) {
  return finding.remedy.find(words) != std::string::npos;
}

TEST_CASE(
    "verify reads the checkpoints beside a log that is empty or cannot be read, and says all that is wrong") {
  DamagedFolder folder;
  run_task(folder.executor(), add_checkpoints(&folder.disk(), 0));
  folder.disk().flip_bit("data/checkpoint/" + chunk_name(2, 2), 800);
  const auto header = folder.disk().copy(1);
  for (std::uint64_t segment = 0; folder.disk().has(folder.path(segment)); ++segment)
    REQUIRE(run_task(folder.executor(), folder.disk().remove(folder.path(segment))).ok());
  const VerifyReport empty = folder.verify();
  CHECK_FALSE(empty.has_log);
  CHECK(empty.checkpoints.size() == 2);
  REQUIRE(empty.findings.size() == 2);
  CHECK(empty.findings[0].what == "there is no log in data/log");
  CHECK(advises(empty.findings[0], "restore the folder"));
  CHECK(empty.findings[1].where == "data/checkpoint/" + chunk_name(2, 2));
  header->flip_bit(folder.path(1), 100);
  header->cut(folder.path(2), kSegment_bytes / 2);
  const auto report = run_task(folder.executor(), verify_folder(*header, "data"));
  REQUIRE(report.ok());
  REQUIRE(report.value().findings.size() == 3);
  CHECK(report.value().findings[0].what.find(folder.path(1)) != std::string::npos);
  CHECK(report.value().findings[1].where == folder.path(2));
}

TEST_CASE("verify says for each damage how a server goes on") {
  DamagedFolder folder;
  run_task(folder.executor(), add_checkpoints(&folder.disk(), 0));
  const std::string checkpoint = "data/checkpoint/";
  const auto findings_with = [&](const std::vector<std::string>& files) {
    for (const std::string& file : files) folder.disk().flip_bit(file, 8 * 70);
    std::vector<VerifyFinding> found = folder.verify().findings;
    for (const std::string& file : files) folder.disk().flip_bit(file, 8 * 70);
    return found;
  };
  // The newest checkpoint's, of which the older one has another; the older one's; and that of both.
  auto found = findings_with({checkpoint + chunk_name(2, 2)});
  REQUIRE(found.size() == 1);
  CHECK(advises(found[0], "with that of checkpoint 1"));
  found = findings_with({checkpoint + chunk_name(2, 1)});
  REQUIRE(found.size() == 1);
  CHECK(advises(found[0], "checkpoint 2 has another one"));
  found = findings_with({checkpoint + chunk_name(1, 1)});
  REQUIRE(found.size() == 2);
  for (const VerifyFinding& finding : found) CHECK(finding.remedy == "restore the folder from a backup");
  found = findings_with({checkpoint + manifest_name(2)});
  REQUIRE(found.size() == 1);
  CHECK(advises(found[0], "opens with checkpoint 1"));
  found = findings_with({checkpoint + manifest_name(1), checkpoint + manifest_name(2)});
  REQUIRE(found.size() == 2);
  for (const VerifyFinding& finding : found) CHECK(finding.remedy == "restore the folder from a backup");
  found = findings_with({checkpoint + manifest_name(2), checkpoint + chunk_name(2, 1)});
  REQUIRE(found.size() == 2);
  for (const VerifyFinding& finding : found) CHECK(finding.remedy == "restore the folder from a backup");
  // A block of the log, needed or not.
  const Block block = folder.blocks()[3];
  folder.disk().flip_bit(folder.path(block.segment), 8 * (block.offset + 70));
  found = folder.verify().findings;
  REQUIRE(found.size() == 1);
  CHECK(advises(found[0], "--force lost-log"));
  DamagedFolder behind;
  run_task(behind.executor(), add_checkpoints(&behind.disk(), behind.end()));
  behind.disk().flip_bit(behind.path(block.segment), 8 * (block.offset + 70));
  found = behind.verify().findings;
  REQUIRE(found.size() == 1);
  CHECK(advises(found[0], "checkpoint 2 lies behind it"));
}

TEST_CASE("verify misses the identity and the checkpoint of a database") {
  DamagedFolder folder;
  FolderIdentity identity;
  identity.database_id = kIdentity.owner.database_id;
  identity.server_id = kIdentity.owner.server_id;
  identity.complete = true;
  const auto findings_with = [&](const std::optional<std::string>& text) {
    VerifyReport report = folder.verify();
    verify_database("data", text, report);
    return report.findings;
  };
  REQUIRE(findings_with(write_folder_identity(identity)).size() == 1);
  CHECK(findings_with(write_folder_identity(identity))[0].where == "data/checkpoint");
  run_task(folder.executor(), add_checkpoints(&folder.disk(), 0));
  CHECK(findings_with(write_folder_identity(identity)).empty());
  CHECK(findings_with(std::nullopt).at(0).where == "data/identity");
  CHECK(findings_with("some text").at(0).what == "its field title is damaged");
  identity.database_id = 99;
  CHECK(findings_with(write_folder_identity(identity)).at(0).what == "the log is of another database");
  identity.database_id = kIdentity.owner.database_id;
  identity.server_id = 0;
  CHECK(findings_with(write_folder_identity(identity)).at(0).what ==
        "it is of memory server 0, and the log of memory server 2");
  identity.server_id = kIdentity.owner.server_id;
  identity.complete = false;
  CHECK(findings_with(write_folder_identity(identity)).size() == 1);
}

}  // namespace log_damage_test
}  // namespace namdb::memory

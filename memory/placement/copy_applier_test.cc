// The records of a copy's log come to its image, each once and in order, while the copy's log grows, ends,
// and is cut off.
#include "memory/placement/copy_applier.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/testing/small_log.h"

namespace namdb::memory {
namespace copy_applier_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::kIdentity;
using testing::run_task;
using testing::small_log_options;

struct Applied {
  LogPosition begin = 0;
  std::vector<std::byte> bytes;
  friend bool operator==(const Applied&, const Applied&) = default;
};

// Of all images of a test.
struct Images {
  int made = 0;
  int settled = 0;
  bool fails = false;         // at the next record
  bool always_fails = false;  // at each record
  std::vector<Applied> applied;
};

class FakeImage final : public CopyImage {
 public:
  FakeImage(reactor::Executor& executor, Images& images) : executor_(executor), images_(images) {
    ++images_.made;
    images_.applied.clear();
  }
  reactor::Task<Status> load() override {
    co_await executor_.yield();
    co_return Status();
  }
  void stop() override {}
  Status apply(const LogRecord& record) override {
    CHECK(record.begin >= applied_);
    if (std::exchange(images_.fails, images_.always_fails))
      return Status(ErrorCode::corrupt_data, "it does not fit");
    images_.applied.push_back({record.begin, {record.bytes.begin(), record.bytes.end()}});
    applied_ = record.end;
    return Status();
  }
  LogPosition applied() const override { return applied_; }
  Result<bool> forget_settled() override {
    ++images_.settled;
    return false;
  }
  void end_log(LogEnd /*end*/) override {}
  reactor::Task<Status> derive() override { co_return Status(); }

 private:
  reactor::Executor& executor_;
  Images& images_;
  LogPosition applied_ = 0;
};

// A log and a copy of it, with an applier.
struct AppliedCopy {
  ManualExecutor executor;
  FaultDisk disk{executor, 3};
  std::unique_ptr<Log> log;
  std::vector<std::vector<std::byte>> blocks;
  std::vector<LogTail> tails;
  std::vector<Applied> appended;
  std::unique_ptr<Log> copy;
  std::size_t copied = 0;  // blocks
  Images images;
  CopyApplier applier{executor,
                      disk,
                      "copy",
                      [this]() -> Result<std::unique_ptr<CopyImage>> {
                        return std::unique_ptr<CopyImage>(std::make_unique<FakeImage>(executor, images));
                      },
                      {},
                      8U << 10};

  AppliedCopy() {
    log = std::move(
        *run_task(executor, Log::create(executor, disk, "first/log", kIdentity, small_log_options())));
    tails.push_back(log->tail());
    log->watch_blocks([this](const Log::SealedBlock& block) {
      blocks.emplace_back(block.bytes.begin(), block.bytes.end());
      tails.push_back(block.behind);
    });
    copy = std::move(*run_task(
        executor, Log::create_copy(executor, disk, "copy/log", kIdentity, tails[0], small_log_options())));
  }
  ~AppliedCopy() {
    run_task(executor, applier.close());
    run_task(executor, copy->close());
    run_task(executor, log->close());
  }

  void append(std::size_t length) {
    const std::vector<std::byte> bytes(length, static_cast<std::byte>(appended.size() + 1));
    const auto found = run_task(executor, log->append(3, bytes));
    REQUIRE(found.ok());
    REQUIRE(run_task(executor, log->flush(found->end)).ok());
    appended.push_back({found->begin, bytes});
  }
  void copy_to(std::size_t count) {
    for (; copied < count; ++copied) {
      PageBuffer block(blocks[copied].size());
      std::ranges::copy(blocks[copied], block.data());
      REQUIRE(run_task(executor, copy->write_sealed(block.span())).ok());
    }
  }
  void await_end() {
    executor.run_until([this] { return applier.applied() == copy->durable(); });
    CHECK(applier.applied() == copy->durable());
  }
  bool is_whole() const { return images.applied == appended; }
};

}  // namespace copy_applier_test

using namespace copy_applier_test;

TEST_CASE("each record of a copy's log is applied once, and in order", "[placement]") {
  AppliedCopy test;
  const std::size_t lengths[] = {10, 5000, 100, 40000, 8, 9000, 300, 20000};
  for (const std::size_t length : lengths) test.append(length);
  // From the files, from memory, and in the middle of a record.
  const std::size_t some = test.blocks.size() / 2;
  test.copy_to(some);
  test.applier.start(*test.copy);
  test.executor.run_ready();
  for (std::size_t i = some; i < test.blocks.size(); ++i) {
    test.copy_to(i);
    if (i % 3 != 0) continue;
    run_task(test.executor, test.applier.stop());
    test.applier.start(*test.copy);
    test.executor.turn();
  }
  test.copy_to(test.blocks.size());
  test.await_end();
  run_task(test.executor, test.applier.finish());
  CHECK(test.applier.has_all(*test.copy));
  CHECK(test.is_whole());
  CHECK(test.images.made == 1);
  CHECK(test.images.settled > 1);
  run_task(test.executor, test.applier.stop());
  CHECK(test.applier.take() != nullptr);
  CHECK(test.applier.take() == nullptr);
  run_task(test.executor, test.applier.finish());
  CHECK_FALSE(test.applier.has_all(*test.copy));
}

TEST_CASE("an image with more than the log has left is dropped, and another one begins", "[placement]") {
  AppliedCopy test;
  for (int i = 0; i < 8; ++i) test.append(3000);
  test.copy_to(4);
  test.applier.start(*test.copy);
  test.await_end();
  run_task(test.executor, test.applier.stop());
  // Nothing of these was applied.
  test.copy_to(6);
  REQUIRE(run_task(test.executor, test.copy->cut(test.tails[4])).ok());
  test.applier.cut(test.tails[4].position);
  test.copied = 4;
  test.copy_to(6);
  test.applier.start(*test.copy);
  test.await_end();
  CHECK(test.images.made == 1);
  run_task(test.executor, test.applier.stop());
  REQUIRE(run_task(test.executor, test.copy->cut(test.tails[5])).ok());
  test.applier.cut(test.tails[5].position);
  CHECK(test.applier.applied() == 0);
  test.copied = 5;
  test.copy_to(test.blocks.size());
  test.applier.start(*test.copy);
  test.await_end();
  CHECK(test.images.made == 2);
  CHECK(test.is_whole());
}

TEST_CASE("after an error another image begins", "[placement]") {
  AppliedCopy test;
  for (int i = 0; i < 5; ++i) test.append(3000);
  test.copy_to(5);
  test.images.fails = true;
  test.applier.start(*test.copy);
  test.await_end();
  CHECK(test.images.made == 2);
  CHECK(test.is_whole());
}

TEST_CASE("an error that lasts ends the wait for the log's end, and is not tried again at each block",
          "[placement]") {
  AppliedCopy test;
  for (int i = 0; i < 5; ++i) test.append(3000);
  test.copy_to(2);
  test.applier.start(*test.copy);
  test.await_end();
  test.images.fails = test.images.always_fails = true;
  test.copy_to(3);
  run_task(test.executor, test.applier.finish());
  CHECK_FALSE(test.applier.has_all(*test.copy));
  const int made = test.images.made;
  test.copy_to(5);
  test.executor.run_ready();
  CHECK(test.images.made == made);
}

TEST_CASE("an image lacks the blocks that came behind the last look, until they are applied", "[placement]") {
  AppliedCopy test;
  for (int i = 0; i < 4; ++i) test.append(3000);
  test.copy_to(2);
  test.applier.start(*test.copy);
  test.await_end();
  run_task(test.executor, test.applier.finish());
  CHECK(test.applier.has_all(*test.copy));
  run_task(test.executor, test.applier.stop());
  test.copy_to(4);
  CHECK_FALSE(test.applier.has_all(*test.copy));
  test.applier.start(*test.copy);
  run_task(test.executor, test.applier.finish());
  CHECK(test.applier.has_all(*test.copy));
  CHECK(test.is_whole());
}

}  // namespace namdb::memory

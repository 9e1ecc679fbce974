// Checkpoints under faults: after any end the newest generation is the last that was committed, or the one
// that was being committed, whole; and the one before it serves where a chunk is damaged.
#include "memory/log/checkpoint_store.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"

namespace namdb::memory {
namespace checkpoint_store_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::run_task;

const LogIdentity kIdentity{77, {1234, 0}};
const std::string kFolder = "data/checkpoint";
using Contents = std::map<std::uint64_t, std::vector<std::byte>>;

std::vector<std::byte> bytes_of(Random& random) {
  return std::vector<std::byte>(random.below(9000), static_cast<std::byte>(random.below(256)));
}

struct Generations {
  std::map<LogPosition, Contents> known;  // by where redo begins, which is the generation's mark here
  LogPosition committed = 0;              // at least that one is the newest
  LogPosition next = 0;
};

// The newest generation; nullptr when there is none, or the disk ended. A mistake goes to `wrong`.
reactor::Task<std::unique_ptr<CheckpointStore>> open_and_compare(FaultDisk* disk, Generations* generations,
                                                                 std::string* wrong) {
  auto store = co_await CheckpointStore::open(*disk, kFolder, kIdentity);
  if (!store.ok()) {
    if (store.status().code() != kDiskFailed) *wrong = store.status().to_string();
    co_return nullptr;
  }
  const Manifest* newest = store.value()->newest();
  const LogPosition redo_from = newest == nullptr ? 0 : newest->redo_from;
  if (redo_from < generations->committed) *wrong = "a committed generation is not there";
  const auto found = generations->known.find(redo_from);
  if (found == generations->known.end()) *wrong = "a generation was never written";
  if (!wrong->empty() || newest == nullptr) co_return std::move(*store);
  generations->committed = redo_from;
  if (newest->chunks.size() != found->second.size()) *wrong = "a generation has other chunks";
  for (const auto& [key, bytes] : found->second) {
    if (newest->find(key) == nullptr) {
      *wrong = "a chunk is not there";
      break;
    }
    const auto chunk = co_await store.value()->read(key);
    if (!chunk.ok() || chunk.value().bytes != bytes || chunk.value().redo_from != redo_from)
      *wrong = "a chunk is not what was put";
  }
  co_return std::move(*store);
}

reactor::Task<void> live(FaultDisk* disk, Random* random, Generations* generations, std::string* wrong) {
  const auto store = co_await open_and_compare(disk, generations, wrong);
  if (store == nullptr || !wrong->empty()) co_return;
  for (int round = 0; round < 4; ++round) {
    Contents contents = generations->known.at(generations->committed);
    store->begin();
    for (std::uint64_t puts = random->below(4); puts != 0; --puts) {
      const std::uint64_t key = random->below(6);
      const std::vector<std::byte> bytes = bytes_of(*random);
      if (random->chance(0.2)) {
        store->drop(key);
        contents.erase(key);
        continue;
      }
      const Status status = co_await store->put(key, bytes);
      if (!status.ok()) co_return;
      contents[key] = bytes;
    }
    if (random->chance(0.2)) {
      const Status status = co_await store->abandon();
      if (!status.ok()) co_return;
      continue;
    }
    const LogPosition redo_from = ++generations->next;
    generations->known[redo_from] = contents;
    std::vector<std::byte> state = bytes_of(*random);
    const Status status = co_await store->commit(redo_from, std::move(state));
    if (!status.ok()) co_return;
    generations->committed = redo_from;
    if (store->oldest_redo() > redo_from) *wrong = "the log would be cut too early";
  }
}

TEST_CASE("after any end the newest generation is whole: the last that was committed, or the one behind it") {
  const char* divisor = std::getenv("NAMDB_SEED_DIVISOR");
  const std::uint64_t seeds = 1500 / (divisor != nullptr ? std::strtoull(divisor, nullptr, 10) : 1);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ManualExecutor executor(seed);
    Random random(seed);
    FaultDisk disk(executor, random.next());
    Generations generations;
    generations.known[0] = {};
    std::string wrong;
    INFO("seed " << seed);
    for (int round = 0; round < 5; ++round) {
      const bool error = random.chance(0.2);
      const std::uint64_t at = random.below(60);
      if (error) {
        disk.fail_at(at);
      } else {
        disk.stop_at(at);
      }
      run_task(executor, live(&disk, &random, &generations, &wrong));
      REQUIRE(wrong == "");
      disk.restart(error || random.chance(0.5) ? FaultDisk::End::power_lost : FaultDisk::End::killed);
    }
    run_task(executor, live(&disk, &random, &generations, &wrong));
    REQUIRE(wrong == "");
  }
}

struct Opened {
  ManualExecutor executor;
  FaultDisk disk{executor, 1};
  std::unique_ptr<CheckpointStore> store;

  void open() {
    auto opened = run_task(executor, CheckpointStore::open(disk, kFolder, kIdentity));
    REQUIRE(opened.ok());
    store = std::move(*opened);
  }
  void commit(LogPosition redo_from, const std::map<std::uint64_t, int>& chunks) {
    store->begin();
    for (const auto& [key, byte] : chunks) {
      const std::vector<std::byte> bytes(100, static_cast<std::byte>(byte));
      REQUIRE(run_task(executor, store->put(key, bytes)).ok());
    }
    REQUIRE(run_task(executor, store->commit(redo_from, {})).ok());
  }
  int first_byte(std::uint64_t key, LogPosition redo_from) {
    const auto chunk = run_task(executor, store->read(key));
    if (!chunk.ok()) return -1;
    CHECK(chunk.value().redo_from == redo_from);
    return chunk.value().bytes ? static_cast<int>(chunk.value().bytes->front()) : -2;
  }
};

TEST_CASE("what a manifest names survives a loss of power, however many chunks there are") {
  for (const std::uint64_t chunks : {1U, 63U, 64U, 65U, 200U}) {
    CAPTURE(chunks);
    Opened opened;
    opened.open();
    std::map<std::uint64_t, int> contents;
    for (std::uint64_t key = 0; key < chunks; ++key) contents[key] = static_cast<int>(key % 100);
    opened.commit(100, contents);
    opened.store.reset();
    opened.disk.restart(FaultDisk::End::power_lost);
    opened.open();
    for (const auto& [key, byte] : contents) {
      CAPTURE(key);
      CHECK(opened.first_byte(key, 100) == byte);
    }
  }
}

TEST_CASE("for a damaged chunk the older generation serves, with the longer redo") {
  Opened opened;
  opened.open();
  opened.commit(100, {{1, 11}, {2, 12}});
  opened.commit(200, {{1, 21}, {3, 23}});
  CHECK(opened.store->oldest_redo() == 100);
  CHECK(opened.first_byte(1, 200) == 21);
  CHECK(opened.first_byte(2, 200) == 12);
  opened.disk.flip_bit(kFolder + "/" + chunk_name(1, 2), 600);
  opened.disk.flip_bit(kFolder + "/" + chunk_name(3, 2), 600);
  CHECK(opened.first_byte(1, 100) == 11);
  CHECK(opened.first_byte(3, 100) == -2);  // all of it is in the log
  // A chunk that both generations name has no second copy.
  opened.disk.flip_bit(kFolder + "/" + chunk_name(2, 1), 600);
  const auto lost = run_task(opened.executor, opened.store->read(2));
  REQUIRE_FALSE(lost.ok());
  CHECK(lost.status().code() == ErrorCode::corrupt_data);
  CHECK(lost.status().message() == "the chunk " + kFolder + "/" + chunk_name(2, 1) + " is damaged");
}

TEST_CASE("for a damaged manifest the older generation serves; the next one takes its place") {
  Opened opened;
  opened.open();
  opened.commit(100, {{1, 11}});
  opened.commit(200, {{1, 21}});
  opened.disk.flip_bit(kFolder + "/" + manifest_name(2), 400);
  opened.open();
  CHECK(opened.store->newest()->redo_from == 100);
  CHECK(opened.first_byte(1, 100) == 11);
  opened.commit(300, {{2, 32}});
  CHECK(opened.store->generation() == 3);
  CHECK_FALSE(opened.disk.has(kFolder + "/" + manifest_name(2)));
  opened.disk.flip_bit(kFolder + "/" + manifest_name(1), 400);
  opened.disk.flip_bit(kFolder + "/" + manifest_name(3), 400);
  const auto refused = run_task(opened.executor, CheckpointStore::open(opened.disk, kFolder, kIdentity));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == ErrorCode::corrupt_data);
}

TEST_CASE("two generations are kept, and nothing that neither names") {
  Opened opened;
  opened.open();
  for (int i = 1; i <= 20; ++i) {
    opened.commit(static_cast<LogPosition>(100 * i), {{static_cast<std::uint64_t>(i % 3), i}});
    const auto files = run_task(opened.executor, opened.disk.list(kFolder));
    CHECK(files.value().size() <= 2 + 4);
  }
  CHECK(opened.store->oldest_redo() == 1900);
}

TEST_CASE("the log is kept for both generations, also where the newer one needs more of it") {
  Opened opened;
  opened.open();
  opened.commit(300, {{1, 11}});
  opened.commit(200, {{1, 21}});
  CHECK(opened.store->oldest_redo() == 200);
  opened.commit(400, {{1, 31}});
  CHECK(opened.store->oldest_redo() == 200);
  opened.commit(500, {{1, 41}});
  CHECK(opened.store->oldest_redo() == 400);
}

TEST_CASE("a full disk leaves the generations as they are, and no rest behind") {
  Opened opened;
  opened.open();
  opened.commit(100, {{1, 11}});
  const std::uint64_t used = opened.disk.used_bytes();
  opened.disk.set_capacity(used + kDiskPage_bytes);
  opened.store->begin();
  const std::vector<std::byte> bytes(100, std::byte{1});
  CHECK(run_task(opened.executor, opened.store->put(1, bytes)).ok());
  const Status full = run_task(opened.executor, opened.store->put(2, bytes));
  REQUIRE_FALSE(full.ok());
  CHECK(full.code() == kDiskFull);
  CHECK(run_task(opened.executor, opened.store->abandon()).ok());
  CHECK(opened.disk.used_bytes() == used);
  CHECK(opened.first_byte(1, 100) == 11);
  // The same in the middle of the manifest.
  opened.store->begin();
  CHECK(run_task(opened.executor, opened.store->put(1, bytes)).ok());
  CHECK(run_task(opened.executor, opened.store->commit(200, {})).code() == kDiskFull);
  CHECK(run_task(opened.executor, opened.store->abandon()).ok());
  CHECK(opened.disk.used_bytes() == used);
  opened.disk.set_capacity(FaultDisk::kNever);
  opened.commit(300, {{1, 31}});
  CHECK(opened.first_byte(1, 300) == 31);
}

TEST_CASE("the checkpoint of another log is refused") {
  Opened opened;
  opened.open();
  opened.commit(100, {{1, 11}});
  const LogIdentity other{78, kIdentity.owner};
  const auto refused = run_task(opened.executor, CheckpointStore::open(opened.disk, kFolder, other));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.status().code() == ErrorCode::configuration);
}

}  // namespace checkpoint_store_test
}  // namespace namdb::memory

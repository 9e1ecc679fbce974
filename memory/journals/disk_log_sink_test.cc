// Journals over the log on a disk that loses its power at each step: all acknowledged entries are there.
#include "memory/journals/disk_log_sink.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/journals.h"
#include "memory/journals/testing/journal_owner.h"
#include "memory/log/log_reader.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/testing/small_log.h"

namespace namdb::memory {
namespace disk_log_sink_test {

using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::JournalOwner;
using testing::JournalRegion;
using testing::run_task;

const std::string kJournalFolder = "data/log";
constexpr std::uint32_t kOwners = 2;
constexpr std::uint32_t kCommits = 16;

// All that owners were told.
struct AcknowledgedEntries {
  std::map<std::uint32_t, std::vector<JournalOwner::Part>>
      parts;  // by slot: those before its durable position
};

struct OwnerLife {
  Journals& journals;
  JournalOwner& owner;
  fabric::PeerId peer;
  std::vector<JournalOwner::Part>& acknowledged;
  std::vector<JournalOwner::Part> posted;
  std::uint32_t through = 0;
  std::uint64_t freed = 0;
};

reactor::Task<bool> flush_posted(OwnerLife* life, std::uint32_t last_counter) {
  const calls::FlushRequest request{life->owner.slot(), life->owner.position(), life->through};
  const auto reply = co_await life->journals.flush(life->peer, request);
  if (!reply.ok()) co_return false;
  REQUIRE(reply->durable_position == life->owner.position());
  life->acknowledged.insert(life->acknowledged.end(), life->posted.begin(), life->posted.end());
  life->posted.clear();
  life->through = last_counter;
  life->freed = reply->freed_position;
  co_return true;
}

// Some commits of an owner, one behind the other; ends with the first error.
reactor::Task<void> commit_some(OwnerLife life, std::uint64_t seed) {
  Random random(seed);
  for (std::uint32_t counter = 1; counter <= kCommits; ++counter) {
    const std::uint64_t payload = 8 * random.below(60);
    while (life.owner.position() + life.owner.needs_bytes(payload) > life.freed + 4096) {
      const bool flushed = co_await flush_posted(&life, counter - 1);
      if (!flushed) co_return;
    }
    life.posted.push_back(life.owner.place(counter, payload, life.through));
    life.owner.write(life.posted.back());
    if (random.chance(0.3)) continue;  // shares the next FLUSH
    const bool flushed = co_await flush_posted(&life, counter);
    if (!flushed) co_return;
  }
}

// Until the disk stops, or all is done.
reactor::Task<void> live(ManualExecutor* executor, FaultDisk* disk, AcknowledgedEntries* acknowledged) {
  const LogOptions options = testing::small_log_options();
  auto log = co_await Log::create(*executor, *disk, kJournalFolder, testing::kIdentity, options);
  if (!log.ok()) co_return;
  {
    JournalRegion memory;
    Peers peers;
    DiskLogSink sink(**log);
    Journals journals(*executor, *memory.region, memory.options, peers);
    journals.log_to(sink);
    std::vector<std::unique_ptr<JournalOwner>> owners;
    reactor::Gate gate;
    for (std::uint32_t i = 0; i < kOwners; ++i) {
      Peer peer;
      peer.compute_id = std::string(Peers::kComputeId_bytes, static_cast<char>('a' + i));
      peers.add(i + 1, std::move(peer));
      const auto opened = co_await journals.open(i + 1, 20 + i);
      REQUIRE(opened.ok());
      owners.push_back(
          std::make_unique<JournalOwner>(*memory.region, 20 + i, opened->ring_offset, opened->ring_bytes));
      OwnerLife life{journals, *owners.back(), i + 1, acknowledged->parts[20 + i]};
      executor->spawn(gate, commit_some(std::move(life), i));
    }
    co_await gate.close();
    journals.stop();
  }
  co_await (*log)->close();
}

reactor::Task<void> read_entries(FaultDisk* disk, AcknowledgedEntries* found) {
  LogReader reader(*disk, kJournalFolder);
  const Status status = co_await reader.open(0, testing::kIdentity.owner);
  if (!status.ok()) co_return;  // there was no log yet
  while (true) {
    const auto record = co_await reader.next();
    REQUIRE(record.ok());
    if (!record.value()) break;
    if (record.value()->kind != static_cast<std::uint16_t>(RecordKind::entry)) continue;
    const auto entry = read_journal_record(record.value()->bytes, 0);
    REQUIRE(entry.has_value());
    JournalOwner::Part part;
    part.counter = entry->entry.stamp.counter;
    part.begin = entry->entry.position;
    const auto bytes = record.value()->bytes.subspan(kJournalRecordHead_bytes);
    part.bytes.assign(bytes.begin(), bytes.end());
    found->parts[entry->entry.stamp.slot].push_back(std::move(part));
  }
}

TEST_CASE("after a loss of power at any step the log has all that was acknowledged", "[journals]") {
  std::uint64_t steps = 0;
  {
    ManualExecutor executor;
    FaultDisk disk(executor, 1);
    AcknowledgedEntries acknowledged;
    run_task(executor, live(&executor, &disk, &acknowledged));
    steps = disk.steps();
    for (const auto& [slot, parts] : acknowledged.parts) CHECK(parts.size() >= kCommits - 3);
  }
  REQUIRE(steps > 10);
  std::size_t most = 0;
  for (const auto end : {FaultDisk::End::power_lost, FaultDisk::End::killed}) {
    for (std::uint64_t step = 0; step <= steps; ++step) {
      INFO("step " << step);
      ManualExecutor executor;
      FaultDisk disk(executor, step + 1);
      disk.stop_at(step);
      AcknowledgedEntries acknowledged;
      run_task(executor, live(&executor, &disk, &acknowledged));
      disk.restart(end);
      disk.stop_at(FaultDisk::kNever);
      AcknowledgedEntries found;
      run_task(executor, read_entries(&disk, &found));
      for (const auto& [slot, parts] : acknowledged.parts) {
        const auto& there = found.parts[slot];
        REQUIRE(there.size() >= parts.size());
        for (std::size_t i = 0; i < parts.size(); ++i) {
          REQUIRE(there[i].begin == parts[i].begin);
          REQUIRE(std::ranges::equal(there[i].bytes, parts[i].bytes));
        }
        most = std::max(most, parts.size());
      }
    }
  }
  CHECK(most >= kCommits - 3);
}

}  // namespace disk_log_sink_test
}  // namespace namdb::memory

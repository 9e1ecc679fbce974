// Sweeps and grants over journals with a log on disk.
#include "memory/journals/checkpoint_log.h"

#include <array>
#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/reactor/testing/manual_executor.h"
#include "memory/journals/disk_log_sink.h"
#include "memory/journals/grant_records.h"
#include "memory/journals/journal_record.h"
#include "memory/journals/testing/journal_owner.h"
#include "memory/log/log_reader.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/log/testing/run_task.h"
#include "memory/log/testing/small_log.h"

namespace namdb::memory {
namespace checkpoint_log_test {

using layout::GlobalAddress;
using layout::JournalWriter;
using reactor::testing::ManualExecutor;
using testing::FaultDisk;
using testing::JournalRegion;
using testing::run_task;

constexpr std::uint64_t kExtent_bytes = 64U << 10;  // journal_options()

LogOptions checkpoint_log_options() {
  LogOptions options = testing::small_log_options();
  options.segment_bytes = 64U << 10;
  return options;
}

// A host with a log, and slot 20 of peer 1.
struct CheckpointHost {
  CheckpointHost()
      : disk(executor, 1),
        log(std::move(*run_task(executor, Log::create(executor, disk, "data/log", testing::kIdentity,
                                                      checkpoint_log_options())))),
        sink(*log),
        journals(executor, *memory.region, memory.options, peers),
        checkpoint_log(executor, journals, *log, memory.region->grants()) {
    journals.log_to(sink);
    memory.region->grants().set_log(checkpoint_log);
    Peer peer;
    peer.compute_id = std::string(Peers::kComputeId_bytes, 'a');
    peers.add(1, std::move(peer));
    const auto opened = run_task(executor, journals.open(1, 20));
    REQUIRE(opened.ok());
    ring_offset = opened->ring_offset;
  }
  ~CheckpointHost() {
    journals.stop();
    run_task(executor, checkpoint_log.close());
    run_task(executor, log->close());
  }

  // A commit that creates a record at one place and writes a bucket at another, in that order.
  void write_birth(std::uint32_t counter, std::uint64_t record, std::uint64_t bucket) {
    const std::vector<std::byte> payload(16);
    std::vector<std::byte> bytes(JournalWriter::frame_bytes(1) + JournalWriter::kChain_bytes +
                                 JournalWriter::chain_record_bytes(payload.size()) +
                                 JournalWriter::chain_write_bytes(payload.size()));
    const std::array<layout::ServerId, 1> regions{0};
    const layout::EntryHead head{1, 0, 0, regions};
    const layout::Stamp stamp{20, counter};
    JournalWriter writer(bytes, stamp, stamp, head);
    writer.chain(GlobalAddress(0, bucket), 1, 2);
    writer.chain_record(GlobalAddress(0, record), 5, payload);
    writer.chain_write(GlobalAddress(0, bucket), payload);
    const std::uint32_t length = writer.finish({20, 0, position});
    memory.region->write(ring_offset + position, bytes);
    position += layout::journal_stream_bytes(length);
  }
  void flush(std::uint32_t through = 0) {
    const calls::FlushRequest request{20, position, through};
    const auto reply = run_task(executor, journals.flush(1, request));
    REQUIRE(reply.ok());
    REQUIRE(reply->durable_position == position);
  }

  ManualExecutor executor;
  FaultDisk disk;
  JournalRegion memory;
  Peers peers;
  std::unique_ptr<Log> log;
  DiskLogSink sink;
  Journals journals;
  CheckpointLog checkpoint_log;
  std::uint64_t ring_offset = 0;
  std::uint64_t position = 0;
};

TEST_CASE("records of grants come out as they went in", "[journals]") {
  const RecordBlock block{3, 65536, 4096, 77};
  CHECK(read_block_record(block_record(block)) == block);
  CHECK(read_mark_record(mark_record(99)) == 99U);
  const std::vector<std::byte> bytes = block_record(block);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(read_block_record(std::span(bytes).first(length)).has_value());
  CHECK_FALSE(read_mark_record(bytes).has_value());
}

TEST_CASE("an entry marks the extents of the records that it names as it is logged", "[journals]") {
  CheckpointHost host;
  (void)host.memory.region->changed().take();
  host.write_birth(1, 5 * kExtent_bytes + 128, 9 * kExtent_bytes);
  host.write_birth(2, std::uint64_t{1} << 40, 9 * kExtent_bytes);  // beyond the region
  CHECK(host.memory.region->changed().take().empty());
  host.flush();
  CHECK(host.memory.region->changed().take() == std::vector<std::uint64_t>{5 * kExtent_bytes});
}

TEST_CASE("a sweep is told of the entries that are not finished", "[journals]") {
  CheckpointHost host;
  CHECK(host.checkpoint_log.redo_start() == host.log->appended());
  host.write_birth(1, 5 * kExtent_bytes, 9 * kExtent_bytes);
  host.write_birth(2, 6 * kExtent_bytes, 9 * kExtent_bytes);
  host.flush();
  const std::uint64_t first = host.checkpoint_log.redo_start();
  CHECK(first < host.log->appended());
  const auto unfinished = [&host] {
    ChangedExtents changed(kExtent_bytes);
    host.checkpoint_log.mark_unfinished(changed);
    return changed.take();
  };
  CHECK(unfinished() == std::vector<std::uint64_t>{5 * kExtent_bytes, 6 * kExtent_bytes});
  host.flush(1);
  CHECK(unfinished() == std::vector<std::uint64_t>{6 * kExtent_bytes});
  CHECK(host.checkpoint_log.redo_start() > first);
  host.flush(2);
  CHECK(unfinished().empty());
  CHECK(host.checkpoint_log.redo_start() == host.log->appended());
  CHECK(run_task(host.executor, host.checkpoint_log.flush()).ok());
}

TEST_CASE("grants go on once their mark is durable, and blocks are logged before entries", "[journals]") {
  CheckpointHost host;
  GrantNumbers& grants = host.memory.region->grants();
  host.executor.run_until([&grants] { return grants.next().has_value(); });
  const std::uint64_t mark = grants.mark();
  CHECK(grants.last() <= mark);
  const RecordBlock block{3, 5 * kExtent_bytes, 4096, grants.last()};
  host.checkpoint_log.log_block(block);
  host.write_birth(1, 5 * kExtent_bytes, 9 * kExtent_bytes);
  host.flush();
  run_task(host.executor, host.log->close());

  LogReader reader(host.disk, "data/log");
  REQUIRE(run_task(host.executor, reader.open(0, std::nullopt)).ok());
  std::vector<std::uint16_t> kinds;
  while (true) {
    const auto record = run_task(host.executor, reader.next());
    REQUIRE(record.ok());
    if (!record.value()) break;
    kinds.push_back(record.value()->kind);
    if (kinds.back() == static_cast<std::uint16_t>(RecordKind::grants))
      CHECK(read_mark_record(record.value()->bytes) == mark);
    if (kinds.back() == static_cast<std::uint16_t>(RecordKind::block))
      CHECK(read_block_record(record.value()->bytes) == block);
  }
  CHECK(kinds == std::vector<std::uint16_t>{7, 8, 1});
}

}  // namespace checkpoint_log_test
}  // namespace namdb::memory

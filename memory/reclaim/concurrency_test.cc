// Version mover and collector while writers and readers work on the same records with torn, reordered and
// delayed operations: no version that a reader may need is ever missing, and nothing is left in the end.
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <set>

#include "common/calls/hot_calls.h"
#include "common/fabric/fabric.h"
#include "common/layout/overflow_group.h"
#include "common/layout/record_trailer.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using layout::HeaderWord;
using layout::Stamp;
using testing::TestCluster;

constexpr std::uint32_t kRingSlots = 4;
constexpr std::uint32_t kRecords = 3;
constexpr std::uint32_t kUpdates = 40;

reactor::Task<Status> post(fabric::Channel* channel, fabric::Batch* batch) {
  channel->post(*batch);
  co_await batch->done();
  co_return batch->status();
}

// The one writer of all records: installs version after version, in posting order on one channel, and asks
// the mover for room where the ring is full.
struct Writer {
  reactor::Task<void> run() {
    for (std::uint32_t counter = 2; counter < 2 + kUpdates; ++counter) {
      for (const std::uint64_t record : records) co_await install(record, counter);
      fabric::LocalBuffer word(channel->pool(), 8);
      word.word() = HeaderWord(Stamp{slot, counter}).value();
      fabric::Batch batch;
      batch.write(vector_word, word.data(), 8);
      const Status status = co_await post(channel, &batch);
      failed = failed || !status.ok();
      published = counter;
    }
    done = true;
  }

  reactor::Task<void> install(std::uint64_t record, std::uint32_t counter) {
    fabric::LocalBuffer image(channel->pool(), shape.locked_bytes());
    fabric::LocalBuffer body(channel->pool(), shape.body_bytes());
    fabric::LocalBuffer words(channel->pool(), 16);
    const std::span<std::byte> current(image.data() + 8, shape.body_bytes());
    std::uint32_t ring_slot = 0;
    while (true) {
      fabric::Batch batch;
      batch.read(record, image.data(), shape.locked_bytes());
      const Status status = co_await post(channel, &batch);
      failed = failed || !status.ok();
      // Only this task writes bodies, so it reads back whole ones.
      const layout::BodyHeader header = layout::decode_body_header(current.data());
      ring_slot = (header.ring_slot + 1) % shape.ring_slots;
      if (HeaderWord(layout::load_word(image.data() + shape.ring_header_offset(ring_slot))).moved()) break;
      co_await move(record);
    }
    const layout::BodyHeader displaced = layout::decode_body_header(current.data());
    std::memcpy(body.data(), current.data(), current.size());
    words.word(0) = displaced.header_word().value();
    const std::span<std::byte> fresh(body.data(), shape.body_bytes());
    fabric::LocalBuffer old(channel->pool(), shape.body_bytes());
    std::memcpy(old.data(), current.data(), current.size());
    std::memcpy(layout::body_payload(fresh).data() + 16, &counter, 4);
    layout::seal_body(fresh, layout::GlobalAddress(0, record),
                      {.stamp = {slot, counter},
                       .displaced = displaced.header_word(),
                       .table = table,
                       .incarnation = displaced.incarnation,
                       .ring_slot = ring_slot});
    words.word(1) = HeaderWord(Stamp{slot, counter}).value();
    fabric::Batch batch;
    batch.write(record + shape.ring_payload_offset(ring_slot), old.data(), shape.body_bytes());
    batch.write(record + shape.ring_header_offset(ring_slot), words.data(), 8);
    batch.write(record + 8, body.data(), shape.body_bytes());
    batch.write(record, words.data() + 8, 8);
    const Status status = co_await post(channel, &batch);
    failed = failed || !status.ok();
  }

  reactor::Task<void> move(std::uint64_t record) {
    fabric::Call call;
    call.method = calls::kMoveVersionsMethod;
    const std::uint64_t request[2] = {table, record};
    call.request.assign(reinterpret_cast<const char*>(request), sizeof request);
    channel->post(call);
    co_await call.done();
    failed = failed || !call.status().ok();
  }

  fabric::Channel* channel;
  layout::RecordLayout shape;
  std::uint32_t table;
  std::uint32_t slot;
  std::uint64_t vector_word;
  std::vector<std::uint64_t> records;
  std::uint32_t published = 1;
  bool done = false;
  bool failed = false;
};

// Reads old snapshots: takes the published counter, waits, and then looks for exactly that version.
struct Reader {
  reactor::Task<void> run() {
    while (!writer->done) {
      fabric::LocalBuffer word(channel->pool(), 8);
      fabric::Batch batch;
      batch.read(writer->vector_word, word.data(), 8);
      started_ns = executor->now_ns();
      Status status = co_await post(channel, &batch);
      failed = failed || !status.ok();
      const std::uint32_t wanted = HeaderWord(word.word()).stamp().counter;
      const std::uint64_t pause_ns = executor->random().below(max_age_ns * 9 / 10);
      co_await executor->sleep_for(pause_ns);
      const std::uint64_t record = writer->records[executor->random().below(writer->records.size())];
      co_await find(record, wanted);
    }
  }

  bool too_old() const { return executor->now_ns() - started_ns > max_age_ns; }

  reactor::Task<void> find(std::uint64_t record, std::uint32_t wanted) {
    const layout::RecordLayout& shape = writer->shape;
    fabric::LocalBuffer body(channel->pool(), shape.locked_bytes());
    fabric::LocalBuffer entry(channel->pool(), layout::kOverflowBody_offset + shape.body_bytes());
    const layout::GlobalAddress address(0, record);
    // A link may be found in neither place while the mover is between the two; not again and again.
    for (int losses = 0; losses < 10;) {
      fabric::Batch first;
      first.read(record, body.data(), shape.current_bytes());
      Status status = co_await post(channel, &first);
      if (too_old()) co_return;
      const std::span<const std::byte> current(body.data() + 8, shape.body_bytes());
      if (!status.ok() || !layout::certify_body(current, address)) continue;
      layout::BodyHeader header = layout::decode_body_header(current.data());
      if (header.stamp.counter <= wanted) {
        check(header, wanted);
        co_return;
      }
      // Down the ring as far as it goes, then the overflow chain.
      bool lost = false;
      while (!lost && header.stamp.counter > wanted) {
        const HeaderWord link = header.displaced;
        fabric::Batch ring;
        ring.read(record + shape.ring_payload_offset(header.ring_slot), entry.data(), shape.body_bytes());
        status = co_await post(channel, &ring);
        if (too_old()) co_return;
        const std::span<const std::byte> payload(entry.data(), shape.body_bytes());
        if (layout::certify_body(payload, address) &&
            layout::decode_body_header(payload.data()).header_word() == link) {
          header = layout::decode_body_header(payload.data());
          continue;
        }
        fabric::Batch head;
        head.read(record + layout::overflow_head_offset(shape), entry.data(), 8);
        status = co_await post(channel, &head);
        if (too_old()) co_return;
        layout::OverflowLink next(layout::load_word(entry.data()));
        bool found = false;
        while (!next.none() && !found) {
          fabric::Batch step;
          step.read(next.entry(), entry.data(), layout::kOverflowBody_offset + shape.body_bytes());
          status = co_await post(channel, &step);
          if (too_old()) co_return;
          const std::span<const std::byte> old(entry.data() + layout::kOverflowBody_offset,
                                               shape.body_bytes());
          next = layout::OverflowLink(layout::load_word(entry.data() + layout::kOverflowNext_offset));
          if (!layout::certify_body(old, address) ||
              layout::decode_body_header(old.data()).header_word() != link) {
            continue;
          }
          header = layout::decode_body_header(old.data());
          found = true;
          ++from_overflow;
        }
        lost = !found;
      }
      if (lost) {
        ++losses;
        continue;
      }
      check(header, wanted);
      co_return;
    }
    failed = true;  // a version that the snapshot needs is nowhere
  }

  void check(const layout::BodyHeader& header, std::uint32_t wanted) {
    // The writer updates every record in every commit.
    failed = failed || header.stamp.counter != wanted;
    ++found_versions;
  }

  reactor::Executor* executor;
  fabric::Channel* channel;
  Writer* writer;
  std::uint64_t max_age_ns;
  std::uint64_t started_ns = 0;
  std::uint64_t found_versions = 0;
  std::uint64_t from_overflow = 0;
  bool failed = false;
};

reactor::Task<void> hint_now_and_then(Writer* writer, fabric::Channel* channel, reactor::Executor* executor) {
  while (!writer->done) {
    co_await executor->sleep_for(executor->random().below(20 * kMicrosecond_ns));
    fabric::Call call;
    call.method = calls::kMoveVersionsMethod;
    std::uint64_t request[1 + kRecords] = {writer->table};
    std::copy(writer->records.begin(), writer->records.end(), request + 1);
    call.request.assign(reinterpret_cast<const char*>(request), sizeof request);
    channel->post(call);
    co_await call.done();
  }
}

// Counts over all seeds, so that the test cannot pass by doing nothing.
struct Seen {
  std::uint64_t versions = 0;
  std::uint64_t from_overflow = 0;
};

void run_seed(std::uint64_t seed, bool acknowledge, Seen& seen) {
  INFO("seed " << seed);
  Random random(seed);
  Options options = testing::small_options();
  options.max_transaction_ns = (100 + random.below(2000)) * kMicrosecond_ns;
  options.slack_ns = 20 * kMicrosecond_ns;
  options.collect_interval_ns = (1 + random.below(30)) * kMicrosecond_ns;
  options.step_units = 1 + static_cast<std::uint32_t>(random.below(4));
  TestCluster cluster(options, 8U << 20, seed);
  const auto client = cluster.client("w");
  const auto other = cluster.client("r");
  REQUIRE(client->connect(testing::hello('w')).ok());
  REQUIRE(other->connect(testing::hello('r')).ok());
  const auto slot = client->lease();
  const auto table = client->create(testing::accounts("accounts", 4, kRingSlots));
  REQUIRE(slot.ok());
  REQUIRE(table.ok());
  Writer writer{};
  writer.channel = &client->channel();
  writer.shape = TestCluster::layout_of(table.value());
  writer.table = table.value().id();
  writer.slot = slot.value().slot();
  writer.vector_word = cluster.server->region().map().vector_offset + 16 + 8 * slot.value().vector_position();
  writer.records = *client->allocate(writer.table, kRecords);
  writer.published = 1;
  for (std::uint32_t i = 0; i < kRecords; ++i) {
    cluster.insert(table.value(), writer.records[i], i, {writer.slot, 1});
  }
  cluster.publish(slot.value(), 1);
  // From here on the network is as bad as the contract allows.
  cluster.world.options() = fabric::sim::SimOptions::swarm(random);

  std::array<Reader, 4> readers{};
  reactor::Gate writer_gate;
  reactor::Gate reader_gate;
  for (Reader& reader : readers) {
    reader.executor = &other->node();
    reader.channel = &other->channel();
    reader.writer = &writer;
    reader.max_age_ns = options.max_transaction_ns;
    other->node().spawn(reader_gate, reader.run());
  }
  client->node().spawn(writer_gate, writer.run());
  other->node().spawn(reader_gate, hint_now_and_then(&writer, &other->channel(), &other->node()));
  REQUIRE(cluster.world.run_until([&] { return writer_gate.count() == 0 && reader_gate.count() == 0; }));
  CHECK_FALSE(writer.failed);
  for (const Reader& reader : readers) {
    CHECK_FALSE(reader.failed);
    seen.versions += reader.found_versions;
    seen.from_overflow += reader.from_overflow;
  }

  if (acknowledge) {
    REQUIRE(client->acknowledge_all().ok());
    REQUIRE(other->acknowledge_all().ok());
  }
  REQUIRE(client->hint(calls::kMoveVersionsMethod, writer.table, writer.records).ok());
  cluster.run_for(100 * kMillisecond_ns);
  for (const std::uint64_t record : writer.records) {
    CHECK(cluster.body_header(record).stamp.counter == 1 + kUpdates);
    CHECK(cluster.overflow_chain(table.value(), record).empty());
  }
  CHECK(cluster.server->status().overflow_bytes() == 0);
  CHECK(cluster.server->status().versions_moved() == kUpdates * kRecords);
  CHECK(cluster.server->status().versions_collected() == kUpdates * kRecords);
}

TEST_CASE("readers of old snapshots find every version while the mover and the collector work") {
  Seen seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) run_seed(seed, seed % 2 == 0, seen);
  INFO(seen.versions << " versions, " << seen.from_overflow << " from the overflow region");
  CHECK(seen.versions > 1000);
  CHECK(seen.from_overflow > 1000);
}

}  // namespace
}  // namespace namdb::memory

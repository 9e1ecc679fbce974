// Scans by calls, on bytes that a test has put there: the places that lookups decide, and the transaction's
// own rows.
#include "compute/txn/table_read.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/calls/scan_calls.h"
#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;

constexpr std::uint32_t kReadColumn = 1;

// A memory server that gives out the records at those places, so many with a reply.
struct TableReadScene : ProtocolScene {
  TableReadScene() : ProtocolScene({}) {
    worker.state.scan_reads = txn::ScanReads::calls;
    worker.publish(0, {16, 100});
    no_rows();
    worker.fabric.handle(calls::kScanMethod, [this](std::string_view request, std::string& reply) {
      const auto asked = calls::decode_scan(request);
      REQUIRE(asked.has_value());
      answer(*asked, reply);
      return Status();
    });
  }
  void answer(const calls::ScanRequest& asked, std::string& reply) {
    calls::ScanWriter writer(reply, asked.parts);
    std::size_t given = 0;
    std::uint64_t after = 0;
    for (const GlobalAddress& place : places) {
      if (place.offset() <= asked.after) continue;
      if (given++ == places_of_reply) break;
      after = place.offset();
      const std::span<const std::byte> body(worker.fabric.at(place + 8), worker.table->record.body_bytes());
      const layout::BodyHeader found = layout::decode_body_header(body.data());
      const std::uint64_t location =
          layout::BucketEntry::make(0, place.offset(), Version().incarnation).location;
      const bool whole = layout::certify_body(body, place) && bytes.header(place) == found.header_word();
      writer.add(whole ? found.header_word() : layout::HeaderWord(), location,
                 layout::body_payload(body).data());
    }
    writer.finish(after == places.back().offset() ? 0 : after);
  }

  // The values of the next block.
  std::vector<std::int64_t> next(txn::TableScan& scan) {
    txn::RowBlock rows;
    status = worker.run(scan.next_block(rows));
    std::vector<std::int64_t> values;
    for (std::size_t i = 0; i < rows.size(); ++i) values.push_back(rows[i].integer(kReadColumn));
    return values;
  }
  using Values = std::vector<std::int64_t>;

  std::vector<GlobalAddress> places;  // in the order of their addresses
  std::size_t places_of_reply = 4096;
  Status status;  // of the last next()
};

}  // namespace

TEST_CASE("a scan shows nothing of a first record that is half-written, and its table is not damaged",
          "[table_read]") {
  TableReadScene scene;
  scene.places = {kRecord, kOtherRecord};
  scene.bytes.record(kRecord, {.stamp = {16, 101}, .value = 41});
  scene.bytes.word(kRecord + 8 + layout::kBodyPrefix_bytes + 16, 0x7043);
  scene.bytes.record(kOtherRecord, {.value = 42, .key = 2});
  auto scan = scene.transaction->scan(scene.worker.table);
  CHECK(scene.next(*scan) == TableReadScene::Values{42});
  CHECK(scene.next(*scan).empty());
  CHECK(scene.status.ok());
  CHECK(scene.worker.damaged_reads == 0);

  // A snapshot that sees its commit.
  scan.reset();
  scene.worker.publish(0, {16, 101});
  scene.again();
  scan = scene.transaction->scan(scene.worker.table);
  scene.next(*scan);
  CHECK_FALSE(scene.status.ok());
  CHECK(scene.worker.damaged_reads == 1);
}

TEST_CASE("a scan looks up a part of a reply's places at a time", "[table_read]") {
  constexpr std::size_t kRecords = 600;
  TableReadScene scene;
  for (std::size_t i = 0; i < kRecords; ++i) {
    const GlobalAddress place = kRecord + i * scene.worker.table->record.record_bytes();
    const auto number = static_cast<std::int64_t>(i);
    scene.places.push_back(place);
    scene.bytes.record(place, lock_word({31, 8}), {.value = number, .key = number});
  }
  const auto scan = scene.transaction->scan(scene.worker.table);
  std::vector<std::int64_t> all;
  std::size_t blocks = 0;
  while (true) {
    const std::vector<std::int64_t> some = scene.next(*scan);
    REQUIRE(scene.status.ok());
    if (some.empty()) break;
    CHECK(some.size() <= 512);
    all.insert(all.end(), some.begin(), some.end());
    ++blocks;
  }
  CHECK(blocks > 1);
  REQUIRE(all.size() == kRecords);
  std::ranges::sort(all);
  for (std::size_t i = 0; i < kRecords; ++i) CHECK(all[i] == static_cast<std::int64_t>(i));
}

TEST_CASE("a scan of some columns shows one state of the transaction's own rows", "[table_read]") {
  for (const bool before : {false, true}) {
    INFO((before ? "written before" : "written meanwhile"));
    TableReadScene scene;
    scene.places = {kRecord, kOtherRecord};
    scene.places_of_reply = 1;
    scene.stored({.value = 41});
    scene.stored({.value = 42, .key = 2}, kOtherRecord);
    // A lookup READs the second one.
    scene.bytes.word(kOtherRecord, lock_word({31, 8}).value());
    const auto write = [&scene] {
      const txn::RowId row = scene.get(2);
      REQUIRE(scene.fetched(row) == "42");
      REQUIRE(scene.transaction->update(row).set_integer(kReadColumn, 99).ok());
      scene.transaction->insert(scene.worker.table, row_of(*scene.worker.table, 3, 77).bytes());
    };
    if (before) write();
    const auto scan = scene.transaction->scan(scene.worker.table);
    const std::vector<std::uint32_t> columns = {kReadColumn};
    txn::only_columns(scan.get(), columns);
    CHECK(scene.next(*scan) == TableReadScene::Values{41});
    if (!before) write();
    CHECK(scene.next(*scan) == TableReadScene::Values{before ? 99 : 42});
    CHECK(scene.next(*scan) == (before ? TableReadScene::Values{77} : TableReadScene::Values{}));
    CHECK(scene.next(*scan).empty());
    CHECK(scene.status.ok());
  }
}

}  // namespace namdb::protocol::testing

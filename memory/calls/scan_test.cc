// SCAN over the places of a table: rows, records that are being written, and places that are still empty.
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "common/calls/scan_calls.h"
#include "common/layout/bucket.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using calls::ScanPart;

constexpr layout::Stamp kStamp{20, 5};

struct Scanned {
  std::map<std::uint64_t, std::uint64_t> headers;  // of records, by their offsets
  std::map<std::uint64_t, std::int64_t> values;    // the first word of their parts
  std::uint64_t after = 0;
};

class ScannedTable {
 public:
  ScannedTable() : client_(cluster.client("c")) {
    REQUIRE(client_->connect(testing::hello('a')).ok());
    table = *client_->create(testing::accounts("scanned", 16));
    shape = testing::TestCluster::layout_of(table);
    records = *client_->allocate(table.id(), 6);
  }

  Result<std::string> call(std::vector<ScanPart> parts, std::uint64_t after = 0, std::uint32_t most = 100) {
    std::string request;
    append(request, calls::ScanRequest{table.id(), most, after, std::move(parts)});
    return client_->call(calls::kScanMethod, request);
  }
  Scanned scan(const std::vector<ScanPart>& parts, std::uint64_t after = 0, std::uint32_t most = 100) {
    const auto reply = call(parts, after, most);
    INFO(reply.status().to_string());
    REQUIRE(reply.ok());
    Scanned scanned;
    auto groups = calls::ScannedGroups::create(*reply, calls::bytes_of(parts));
    REQUIRE(groups.has_value());
    scanned.after = groups->after();
    calls::ScannedGroup group;
    while (!groups->empty()) {
      REQUIRE(groups->next(group));
      for (std::size_t i = 0; i < group.count; ++i) {
        const std::uint64_t offset = group.entry(i).offset();
        scanned.headers[offset] = group.header.value();
        CHECK(group.entry(i).incarnation() == 1);
        std::int64_t value = 0;
        if (group.record_bytes > 8) std::memcpy(&value, group.parts(i), sizeof value);
        scanned.values[offset] = value;
      }
    }
    return scanned;
  }
  // Of the row's key.
  std::vector<ScanPart> key_part() {
    const auto key = TableShape::create(table)->schema.key_offset();
    return {{key, 8}};
  }

  testing::TestCluster cluster;
  control::TableDescriptor table;
  layout::RecordLayout shape;
  std::vector<std::uint64_t> records;

 private:
  std::unique_ptr<testing::TestClient> client_;
};

}  // namespace

TEST_CASE("a scan gives out what was installed, and only that", "[scan]") {
  ScannedTable test;
  CHECK(test.scan({}).headers.empty());  // places that wait for their records
  test.cluster.insert(test.table, test.records[1], 7, kStamp);
  test.cluster.insert(test.table, test.records[4], 8, {21, 1});
  test.cluster.update(test.table, test.records[4], {21, 2}, /*deleted=*/true);

  for (const std::vector<ScanPart>& parts : {std::vector<ScanPart>{}, test.key_part()}) {
    const Scanned all = test.scan(parts);
    CHECK(all.after == 0);
    REQUIRE(all.headers.size() == 2);
    CHECK(all.headers.at(test.records[1]) == layout::HeaderWord(kStamp).value());
    CHECK(all.headers.at(test.records[4]) == layout::HeaderWord({21, 2}, true).value());
    if (!parts.empty()) CHECK(all.values.at(test.records[1]) == 7);
  }

  // A tombstone that was reclaimed is older than every snapshot.
  const layout::HeaderWord collected({layout::kCollectorSlot, 3}, false, true);
  test.cluster.store(test.records[4], collected.value());
  CHECK(test.scan({}).headers.size() == 1);
  test.cluster.store(test.records[4], layout::HeaderWord({21, 2}, true).value());

  // In parts of two places.
  const Scanned first = test.scan({}, 0, 2);
  CHECK(first.after == test.records[1]);
  CHECK(first.headers.size() == 1);
  const Scanned second = test.scan({}, first.after, 2);
  CHECK(second.after == test.records[3]);
  CHECK(second.headers.empty());
  CHECK(test.scan({}, second.after, 3).headers.size() == 1);
  CHECK(test.scan({}, test.records[5], 1).after == 0);
}

TEST_CASE("records that are being written are named by a scan, and not shown", "[scan]") {
  ScannedTable test;
  for (std::size_t i = 0; i < 3; ++i)
    test.cluster.insert(test.table, test.records[i], static_cast<std::int64_t>(i), kStamp);
  // One is locked; of another the row is half-written.
  test.cluster.store(test.records[0], layout::HeaderWord({22, 9}, false, true).value());
  const std::uint64_t row = test.records[1] + 8 + layout::kBodyPrefix_bytes;
  test.cluster.store(row + 8, ~test.cluster.load(row + 8));

  const Scanned rows = test.scan(test.key_part());
  REQUIRE(rows.headers.size() == 3);
  CHECK(rows.headers.at(test.records[0]) == 0);
  CHECK(rows.headers.at(test.records[1]) == 0);
  CHECK(rows.headers.at(test.records[2]) != 0);
  CHECK(rows.values.at(test.records[2]) == 2);
  // Without any part of the row the unlocked header word decides.
  const Scanned headers = test.scan({});
  CHECK(headers.headers.at(test.records[0]) == 0);
  CHECK(headers.headers.at(test.records[1]) != 0);
}

TEST_CASE("a scan of no table, or of parts that no row has, is refused", "[scan]") {
  ScannedTable test;
  CHECK(test.call({{0, test.shape.payload_bytes}}).ok());
  CHECK(test.call({{0, test.shape.payload_bytes + 8}}).status().code() == ErrorCode::protocol_violation);
  test.table.set_id(test.table.id() + 1);
  CHECK(test.call({}).status().code() == ErrorCode::catalog_changed);
}

}  // namespace namdb::memory

#include "common/calls/scan_calls.h"

#include <array>
#include <catch2/catch.hpp>

#include "common/layout/record.h"

namespace namdb::calls {
namespace {

constexpr std::array<ScanPart, 2> kParts{{{8, 16}, {40, 8}}};

std::string bytes_of_scan(std::vector<ScanPart> parts, std::uint32_t most_places = 9) {
  std::string bytes;
  append(bytes, ScanRequest{7, most_places, 4096, std::move(parts)});
  return bytes;
}

std::array<std::byte, 48> row_of(int first) {
  std::array<std::byte, 48> row{};
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return row;
}

layout::HeaderWord header_of(std::uint32_t counter) {
  return layout::HeaderWord(layout::Stamp{3, counter});
}

}  // namespace

TEST_CASE("a request to scan comes out as it went in, and a malformed one is refused", "[calls]") {
  const std::string whole = bytes_of_scan({kParts.begin(), kParts.end()});
  const auto scan = decode_scan(whole);
  REQUIRE(scan.has_value());
  CHECK(scan->table == 7);
  CHECK(scan->most_places == 9);
  CHECK(scan->after == 4096);
  CHECK(std::ranges::equal(scan->parts, kParts));
  CHECK(bytes_of(scan->parts) == 24);
  CHECK(decode_scan(bytes_of_scan({})).has_value());

  CHECK_FALSE(decode_scan(""));
  CHECK_FALSE(decode_scan(std::string_view(whole).substr(0, 8)));
  CHECK_FALSE(decode_scan(std::string_view(whole).substr(0, whole.size() - 1)));
  CHECK_FALSE(decode_scan(bytes_of_scan({}, 0)));
  CHECK_FALSE(decode_scan(bytes_of_scan({{8, 0}})));
  CHECK_FALSE(decode_scan(bytes_of_scan({{4, 8}})));
  CHECK_FALSE(decode_scan(bytes_of_scan({{8, 12}})));
  CHECK_FALSE(decode_scan(bytes_of_scan({{8, 16}, {16, 8}})));
  CHECK(decode_scan(bytes_of_scan({{0, layout::kMaxPayload_bytes}})).has_value());
  CHECK_FALSE(decode_scan(bytes_of_scan({{8, layout::kMaxPayload_bytes}})));
  CHECK_FALSE(decode_scan(bytes_of_scan({{8, 0xffff'fff8}})));
  std::vector<ScanPart> many;
  for (std::uint32_t i = 0; i <= kMaxScanParts; ++i) many.push_back({8 * i, 8});
  CHECK_FALSE(decode_scan(bytes_of_scan(many)));
}

TEST_CASE("records of a reply come out in groups of one header word", "[calls]") {
  std::string reply;
  ScanWriter writer(reply, kParts);
  writer.add(header_of(5), 64, row_of(1).data());
  writer.add(header_of(5), 128, row_of(2).data());
  writer.add({}, 192, nullptr);
  writer.add(header_of(6), 256, row_of(3).data());
  writer.finish(300);

  auto groups = ScannedGroups::create(reply, bytes_of(kParts));
  REQUIRE(groups.has_value());
  CHECK(groups->after() == 300);
  ScannedGroup group;
  REQUIRE(groups->next(group));
  CHECK(group.header == header_of(5));
  REQUIRE(group.count == 2);
  CHECK(group.entry(1).location == 128);
  CHECK(group.parts(0)[0] == 1 + 8);
  CHECK(group.parts(1)[0] == 2 + 8);
  CHECK(group.parts(1)[16] == 2 + 40);
  REQUIRE(groups->next(group));
  CHECK(group.header.value() == 0);
  REQUIRE(group.count == 1);
  CHECK(group.entry(0).location == 192);
  REQUIRE(groups->next(group));
  CHECK(group.header == header_of(6));
  CHECK(group.parts(0)[0] == 3 + 8);
  CHECK(groups->empty());

  // Cut anywhere it is not readable, or has fewer whole groups.
  for (std::size_t length = 0; length < reply.size(); ++length) {
    auto cut = ScannedGroups::create(std::string_view(reply).substr(0, length), bytes_of(kParts));
    if (!cut) continue;
    std::size_t records = 0;
    while (!cut->empty() && cut->next(group)) records += group.count;
    CHECK(records < 4);
  }
}

TEST_CASE("a reply takes records until it is full, and a long one in any case", "[calls]") {
  std::string reply;
  ScanWriter writer(reply, kParts);
  std::size_t records = 0;
  for (; writer.has_room(); ++records) writer.add(header_of(5), 64, row_of(1).data());
  CHECK(records > 3000);
  CHECK(reply.size() <= kScanReply_bytes);
}

}  // namespace namdb::calls

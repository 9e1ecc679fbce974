#include "common/calls/find_calls.h"

#include <array>
#include <catch2/catch.hpp>

#include "common/layout/record.h"

namespace namdb::calls {
namespace {

constexpr RegionLength kRegion{4096, 8192};

std::string bytes_of(const FindRequest& lookup) {
  std::string bytes;
  append(bytes, lookup);
  return bytes;
}

}  // namespace

TEST_CASE("lookups come out as they went in", "[calls]") {
  const auto lookups = decode_find(bytes_of({192, 7, 48, false}) + bytes_of({8000, 8, 56, true}), kRegion);
  REQUIRE(lookups.has_value());
  REQUIRE(lookups->size() == 2);
  CHECK((*lookups)[0].bucket_offset == 192);
  CHECK((*lookups)[0].key_hash == 7);
  CHECK((*lookups)[0].record_bytes == 48);
  CHECK_FALSE((*lookups)[0].leases);
  CHECK((*lookups)[1].leases);
}

TEST_CASE("a malformed list of lookups, or one beyond the region, is refused", "[calls]") {
  CHECK_FALSE(decode_find("", kRegion));
  const std::string whole = bytes_of({192, 7, 48, false});
  for (std::size_t length = 0; length < whole.size(); ++length)
    CHECK_FALSE(decode_find(std::string_view(whole).substr(0, length), kRegion));
  CHECK_FALSE(decode_find(bytes_of({8008, 7, 48, false}), kRegion));
  CHECK_FALSE(decode_find(bytes_of({~std::uint64_t{7}, 7, 48, false}), kRegion));
  CHECK_FALSE(decode_find(bytes_of({196, 7, 48, false}), kRegion));
  CHECK_FALSE(decode_find(bytes_of({192, 0, 48, false}), kRegion));
  CHECK_FALSE(decode_find(bytes_of({192, 7, 0, false}), kRegion));
  CHECK_FALSE(decode_find(bytes_of({192, 7, 44, false}), kRegion));
  CHECK_FALSE(decode_find(bytes_of({192, 7, 1U << 30, false}), kRegion));
  // The longest record, and behind it the words of its waiter and its readers.
  const std::uint32_t longest =
      layout::RecordLayout{.payload_bytes = layout::kMaxPayload_bytes}.current_bytes() + 8 +
      8 * layout::kReaderWords;
  CHECK(decode_find(bytes_of({192, 7, longest, false}), kRegion));
  CHECK_FALSE(decode_find(bytes_of({192, 7, longest + 8, false}), kRegion));
}

TEST_CASE("the pieces found are taken one by one, each only where it was asked for", "[calls]") {
  const std::array<std::byte, layout::kBucket_bytes> first{std::byte{1}};
  const std::array<std::byte, layout::kBucket_bytes> second{std::byte{2}};
  const std::array<std::byte, 48> record{std::byte{3}};
  std::string reply;
  FoundWriter writer;
  writer.add_bucket(192, first.data());
  writer.add_bucket(384, second.data());
  writer.add_record(1000, 77, record.data(), record.size());
  writer.finish(reply);
  FoundWriter().finish(reply);
  const std::string whole = reply;

  std::string_view rest = whole;
  auto found = FoundPieces::take(rest, 48);
  REQUIRE(found.has_value());
  CHECK(found->take_bucket(384).empty());
  CHECK(found->take_record(1008).empty());
  CHECK(found->take_bucket(192).at(0) == 1);
  CHECK(found->take_bucket(384).at(0) == 2);
  CHECK(found->take_bucket(384).empty());
  const std::string_view taken = found->take_record(1000);
  REQUIRE(taken.size() == 8 + 48);
  CHECK(taken[0] == 77);
  CHECK(taken[8] == 3);
  CHECK(found->take_record(1000).empty());

  const auto nothing = FoundPieces::take(rest, 48);
  REQUIRE(nothing.has_value());
  CHECK(rest.empty());
  CHECK_FALSE(FoundPieces::take(rest, 48).has_value());

  for (std::size_t length = 0; length + 8 < whole.size(); ++length) {
    std::string_view cut = std::string_view(whole).substr(0, length);
    CHECK_FALSE(FoundPieces::take(cut, 48).has_value());
  }
}

}  // namespace namdb::calls

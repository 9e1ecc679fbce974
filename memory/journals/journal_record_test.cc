#include "memory/journals/journal_record.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "common/base/random.h"
#include "memory/journals/testing/journal_owner.h"

namespace namdb::memory {
namespace {

using testing::JournalOwner;
using testing::JournalRegion;

std::vector<std::byte> record_of(const JournalOwner::Part& part, const std::vector<std::byte>& room = {}) {
  const auto head = journal_record_head({20, 0, part.begin}, 0x1234'5678'9abcULL);
  std::vector<std::byte> record(head.begin(), head.end());
  record.insert(record.end(), part.bytes.begin(), part.bytes.end());
  record.insert(record.end(), room.begin(), room.end());
  return record;
}

}  // namespace

TEST_CASE("a journal record begins with slot, epoch and position", "[journals]") {
  const auto head = journal_record_head({20, 3, 640}, 0x1234'5678'9abcULL);
  const unsigned char expected[] = {0xbc, 0x9a, 0x78, 0x56, 20, 0, 0, 0, 0x80, 0x02, 0, 0, 0, 0, 0, 0};
  REQUIRE(head.size() == sizeof expected);
  CHECK(std::memcmp(head.data(), expected, sizeof expected) == 0);
}

TEST_CASE("a journal entry comes out of its record as it went in", "[journals]") {
  JournalRegion memory;
  JournalOwner owner(*memory.region, 20, 0, 4096);
  (void)owner.place(1, 64);
  const auto part = owner.place(2, 64, 1);
  const auto bytes = record_of(part);
  const auto record = read_journal_record(bytes, 0);
  REQUIRE(record.has_value());
  CHECK(record->epoch == 0x5678'9abcU);
  CHECK(record->entry.stamp == layout::Stamp{20, 2});
  CHECK(record->entry.through == 1);
  CHECK(record->entry.position == part.begin);
  REQUIRE(record->entry.items.size() == 1);
  CHECK(record->entry.items[0].writes.size() == 1);
  CHECK_FALSE(read_journal_record(bytes, 1).has_value());  // another host's
}

TEST_CASE("a journal record has the items that stood in a room", "[journals]") {
  JournalRegion memory;
  JournalOwner owner(*memory.region, 20, 0, 4096);
  std::vector<std::byte> room;
  const auto part = owner.place_with_room(7, 65536, 8192, room);
  const auto bytes = record_of(part, room);
  const auto record = read_journal_record(bytes, 0);
  REQUIRE(record.has_value());
  REQUIRE(record->entry.items.size() == 1);
  REQUIRE(record->entry.items[0].writes.size() == 1);
  CHECK(record->entry.items[0].writes[0].bytes.size() == 8192);
  CHECK_FALSE(read_journal_record(record_of(part), 0).has_value());
}

TEST_CASE("a journal record that is shorter, longer or changed is malformed", "[journals]") {
  JournalRegion memory;
  JournalOwner owner(*memory.region, 20, 0, 4096);
  const auto part = owner.place(2, 64, 1);
  const auto bytes = record_of(part);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    REQUIRE_FALSE(read_journal_record(cut, 0).has_value());
  }
  auto longer = bytes;
  longer.resize(bytes.size() + 8);
  CHECK_FALSE(read_journal_record(longer, 0).has_value());
  for (std::size_t at = 4; at < bytes.size(); ++at) {  // the epoch in front is not sealed
    auto changed = bytes;
    changed[at] ^= std::byte{4};
    REQUIRE_FALSE(read_journal_record(changed, 0).has_value());
  }
}

}  // namespace namdb::memory

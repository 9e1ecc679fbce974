#include "common/layout/journal.h"

#include <catch2/catch.hpp>

#include "common/base/checksum.h"
#include "common/base/random.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"

namespace namdb::layout {
namespace {

std::vector<std::byte> example_entry(GlobalAddress place) {
  std::vector<std::byte> displaced(56, std::byte{6});
  seal_body(displaced, GlobalAddress(1, 4096), {.stamp = {19, 1}});
  const std::vector<std::byte> body(56, std::byte{7});
  const std::vector<std::byte> record(64, std::byte{8});
  const std::vector<std::byte> bucket(184, std::byte{9});
  std::vector<std::byte> buffer(4096);
  JournalWriter writer(buffer, Stamp{20, 33});
  writer.update(GlobalAddress(1, 4096), 3, displaced, body, ImageForm::whole);
  writer.chain(GlobalAddress(0, 192), 1, 2);
  writer.chain_write(GlobalAddress(0, 640), record);
  writer.chain_write(GlobalAddress(0, 200), bucket);
  buffer.resize(writer.finish(place));
  return buffer;
}

}  // namespace

TEST_CASE("a journal entry reads back as it was written", "[journal]") {
  const GlobalAddress place(0, 1 << 20);
  const auto bytes = example_entry(place);
  CHECK(bytes.size() == JournalWriter::kFrame_bytes + JournalWriter::update_bytes(56) +
                            JournalWriter::kChain_bytes + JournalWriter::chain_write_bytes(64) +
                            JournalWriter::chain_write_bytes(184));
  const auto entry = read_journal_entry(bytes, place);
  REQUIRE(entry);
  CHECK(entry->stamp == Stamp{20, 33});
  REQUIRE(entry->items.size() == 2);
  CHECK(entry->items[0].kind == JournalItem::Kind::update);
  CHECK(entry->items[0].ring_slot == 3);
  CHECK(entry->items[0].displaced == HeaderWord(Stamp{19, 1}));
  CHECK(entry->items[0].image.size() == 56);
  REQUIRE(entry->items[1].writes.size() == 2);
  CHECK(entry->items[1].writes[1].address == GlobalAddress(0, 200));
  CHECK(entry->items[1].writes[1].bytes.size() == 184);
}

TEST_CASE("a new record is named by the entry of a bucket that a chain's item writes", "[journal]") {
  const GlobalAddress place(0, 1 << 20);
  const GlobalAddress record(0, 640);
  std::vector<std::byte> image(64);
  seal_body(std::span(image).subspan(8), record, {.stamp = {20, 33}, .incarnation = 0x10005});
  std::vector<std::byte> piece(24);
  store_word(piece.data() + 8, BucketEntry::make(77, record.offset(), 4).location);
  store_word(piece.data() + 16, BucketEntry::make(77, record.offset(), 5).location);
  std::vector<std::byte> buffer(4096);
  JournalWriter writer(buffer, Stamp{20, 33});
  writer.chain(GlobalAddress(0, 192), 1, 2);
  writer.chain_write(record, image);
  writer.chain_write(GlobalAddress(0, 224), piece);
  buffer.resize(writer.finish(place));
  const auto entry = read_journal_entry(buffer, place);
  REQUIRE(entry);
  const JournalItem& item = entry->items[0];
  CHECK(item.new_records == 1);
  const auto name = item.name_of(item.writes[0]);
  REQUIRE(name);
  CHECK(name->address == GlobalAddress(0, 240));
  CHECK(name->word == BucketEntry::make(77, record.offset(), 5).location);
  CHECK_FALSE(item.name_of({record + 64, item.writes[0].bytes}));
}

TEST_CASE("an entry that lacks a word, is cut, or stands elsewhere is no entry", "[journal]") {
  const GlobalAddress place(0, 1 << 20);
  const auto bytes = example_entry(place);
  CHECK_FALSE(read_journal_entry(bytes, place + 64));
  for (std::size_t word = 0; word < bytes.size(); word += 8) {
    auto torn = bytes;
    store_word(torn.data() + word, ~load_word(torn.data() + word));
    CHECK_FALSE(read_journal_entry(torn, place));
    CHECK_FALSE(read_journal_entry(std::span(bytes).first(word), place));
  }
}

TEST_CASE("random bytes with a good checksum never lead outside the entry", "[journal]") {
  Random random(1);
  const GlobalAddress place(0, 1 << 20);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> buffer(32 + 8 * random.below(20));
    for (auto& byte : buffer) byte = static_cast<std::byte>(random.below(random.chance(0.5) ? 3 : 256));
    JournalWriter writer(buffer, Stamp{20, 1});  // overwrites the first 24 bytes
    store_word(buffer.data(), (std::uint64_t{kJournalMagic} << 32) | buffer.size());
    store_word(buffer.data() + 16, random.below(4));
    const auto covered = std::span(buffer).first(buffer.size() - 8);
    store_word(buffer.data() + covered.size(), checksum64(covered, place.value));
    const auto entry = read_journal_entry(buffer, place);
    if (!entry) continue;
    for (const JournalItem& item : entry->items) CHECK(item.image.size() <= buffer.size());
  }
}

}  // namespace namdb::layout

#include "common/layout/journal.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>

#include "common/base/checksum.h"
#include "common/base/random.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"

namespace namdb::layout {
namespace {

constexpr StreamPlace kPlace{20, 1, 448};
constexpr ServerId kRegions[] = {1, 3};

EntryHead head_of(std::span<const ServerId> regions) {
  return {.configuration = 1, .flags = 0, .through = 30, .regions = regions};
}

void add_items(JournalItems& items) {
  std::vector<std::byte> displaced(56, std::byte{6});
  seal_body(displaced, GlobalAddress(1, 4096), {.stamp = {19, 1}});
  const std::vector<std::byte> body(56, std::byte{7});
  const std::vector<std::byte> record(64, std::byte{8});
  const std::vector<std::byte> bucket(184, std::byte{9});
  items.update(GlobalAddress(1, 4096), 3, displaced, body, ImageForm::whole);
  items.chain(GlobalAddress(1, 192), 1, 2);
  items.chain_record(GlobalAddress(1, 640), 77, record);
  items.chain_write(GlobalAddress(1, 200), bucket);
}

void check_items(std::span<const JournalItem> items) {
  REQUIRE(items.size() == 2);
  CHECK(items[0].kind == JournalItem::Kind::update);
  CHECK(items[0].lock == GlobalAddress(1, 4096));
  CHECK(items[0].ring_slot == 3);
  CHECK(items[0].displaced == HeaderWord(Stamp{19, 1}));
  CHECK(items[0].image.size() == 56);
  CHECK(items[1].kind == JournalItem::Kind::chain);
  CHECK(items[1].new_records == 1);
  REQUIRE(items[1].writes.size() == 2);
  CHECK(items[1].writes[0].address == GlobalAddress(1, 640));
  CHECK(items[1].writes[0].grant == 77);
  CHECK(items[1].writes[0].bytes.size() == 64);
  CHECK(items[1].writes[1].address == GlobalAddress(1, 200));
  CHECK(items[1].writes[1].grant == 0);
  CHECK(items[1].writes[1].bytes.size() == 184);
}

std::vector<std::byte> example_entry(StreamPlace place) {
  std::vector<std::byte> buffer(4096);
  JournalWriter writer(buffer, Stamp{20, 33}, Stamp{20, 33}, head_of(kRegions));
  add_items(writer);
  buffer.resize(writer.finish(place));
  return buffer;
}

std::vector<std::byte> shortest_entry(StreamPlace place, std::uint32_t counter) {
  std::vector<std::byte> buffer(JournalWriter::kLeast_bytes);
  const Stamp stamp{place.slot, counter};
  JournalWriter writer(buffer, stamp, stamp, head_of(std::span(kRegions).first(1)));
  buffer.resize(writer.finish(place));
  return buffer;
}

}  // namespace

TEST_CASE("the bytes of a journal entry are as format version 2 has them", "[journal]") {
  const std::vector<std::byte> record(8, std::byte{8});
  const std::vector<std::byte> bucket(8, std::byte{9});
  std::vector<std::byte> buffer(4096);
  JournalWriter writer(buffer, Stamp{20, 33}, Stamp{20, 7}, head_of(kRegions));
  writer.chain(GlobalAddress(1, 192), 1, 2);
  writer.chain_record(GlobalAddress(1, 640), 0x0001'0000'0000'0005ULL, record);
  writer.chain_write(GlobalAddress(1, 200), bucket);
  const std::uint32_t told = writer.length_bytes();
  const std::uint32_t length = writer.finish(kPlace);
  CHECK(told == length);
  const std::uint64_t words[] = {0x4a4e'4c32'0000'0088ULL, (20ULL << 35) | (33 << 3),
                                 0x0000'0007'0000'0001ULL, 448,
                                 0x0000'0001'0000'0002ULL, 0x0000'001e'0000'0000ULL,
                                 0x0000'0000'0003'0001ULL, 0x0200'0002'0000'0001ULL,
                                 0x0001'0000'0000'00c0ULL, 8,
                                 0x0001'0000'0000'0280ULL, 0x0001'0000'0000'0005ULL,
                                 0x0808'0808'0808'0808ULL, 8,
                                 0x0001'0000'0000'00c8ULL, 0x0909'0909'0909'0909ULL,
                                 0xa4b8'843d'fdbd'aa18ULL};
  REQUIRE(length == 8 * std::size(words));
  for (std::size_t i = 0; i < std::size(words); ++i) {
    INFO("word " << i);
    CHECK(load_word(buffer.data() + 8 * i) == words[i]);
  }
}

TEST_CASE("the bytes of a pad are as format version 2 has them", "[journal]") {
  const auto pad = journal_pad(192, kPlace);
  CHECK(load_word(pad.data()) == 0x4a50'4144'0000'00c0ULL);
  CHECK(load_word(pad.data() + 8) == 0x0793'a692'1715'eba2ULL);
}

TEST_CASE("a journal entry reads back as it was written", "[journal]") {
  const auto bytes = example_entry(kPlace);
  CHECK(bytes.size() == JournalWriter::frame_bytes(2) + JournalWriter::update_bytes(56) +
                            JournalWriter::kChain_bytes + JournalWriter::chain_record_bytes(64) +
                            JournalWriter::chain_write_bytes(184));
  const auto entry = read_journal_entry(bytes, kPlace);
  REQUIRE(entry);
  CHECK(entry->stamp == Stamp{20, 33});
  CHECK(entry->lock == Stamp{20, 33});
  CHECK(entry->position == 448);
  CHECK(entry->length_bytes == bytes.size());
  CHECK(entry->end() == 448 + journal_stream_bytes(bytes.size()));
  CHECK(entry->configuration == 1);
  CHECK(entry->flags == 0);
  CHECK(entry->through == 30);
  CHECK(entry->regions == RegionIds{1, 3});
  CHECK_FALSE(entry->room);
  check_items(entry->items);
  CHECK(journal_entry_place(bytes, 1) == kPlace);
}

TEST_CASE("a journal entry names any number of regions", "[journal]") {
  for (std::size_t count = 1; count <= 11; ++count) {
    RegionIds regions;
    for (std::size_t i = 0; i < count; ++i) regions.push_back(static_cast<ServerId>(0xfff0 + i));
    std::vector<std::byte> buffer(4096, std::byte{0xff});
    JournalWriter writer(buffer, Stamp{20, 33}, Stamp{20, 34},
                         {.configuration = 7, .flags = 0x8001, .through = 0xffff'fffe, .regions = regions});
    add_items(writer);
    buffer.resize(writer.finish(kPlace));
    const auto entry = read_journal_entry(buffer, kPlace);
    REQUIRE(entry);
    CHECK(entry->lock == Stamp{20, 34});
    CHECK(entry->configuration == 7);
    CHECK(entry->flags == 0x8001);
    CHECK(entry->through == 0xffff'fffe);
    CHECK(entry->regions == regions);
    check_items(entry->items);
  }
}

TEST_CASE("items that are too long for the ring read back from their room", "[journal]") {
  std::vector<std::byte> room(1024);
  JournalItems items(room);
  add_items(items);
  const std::uint32_t length = items.used_bytes();
  std::vector<std::byte> buffer(JournalWriter::frame_bytes(2) + JournalWriter::kRoom_bytes);
  JournalWriter writer(buffer, Stamp{20, 33}, Stamp{20, 33}, head_of(kRegions));
  writer.room(GlobalAddress(1, 1 << 20), length,
              journal_room_checksum(std::span(room).first(length), kPlace));
  CHECK(writer.finish(kPlace) == buffer.size());

  auto entry = read_journal_entry(buffer, kPlace);
  REQUIRE(entry);
  CHECK(entry->items.empty());
  REQUIRE(entry->room);
  CHECK(entry->room->address == GlobalAddress(1, 1 << 20));
  CHECK(entry->room->length_bytes == length);
  REQUIRE(read_journal_room(room, kPlace, *entry));
  check_items(entry->items);

  // Bytes in the room count for that entry only, and whole.
  CHECK_FALSE(read_journal_room(room, {20, 1, 512}, *entry));
  CHECK(entry->items.empty());
  CHECK_FALSE(read_journal_room(std::span(room).first(length - 8), kPlace, *entry));
  for (std::size_t word = 0; word < length; word += 8) {
    auto torn = room;
    store_word(torn.data() + word, ~load_word(torn.data() + word));
    CHECK_FALSE(read_journal_room(torn, kPlace, *entry));
    CHECK(entry->items.empty());
  }
}

TEST_CASE("a new record is named by the entry of a bucket that a chain's item writes", "[journal]") {
  const GlobalAddress record(1, 640);
  std::vector<std::byte> image(64);
  seal_body(std::span(image).subspan(8), record, {.stamp = {20, 33}, .incarnation = 0x10005});
  std::vector<std::byte> piece(24);
  store_word(piece.data() + 8, BucketEntry::make(77, record.offset(), 4).location);
  store_word(piece.data() + 16, BucketEntry::make(77, record.offset(), 5).location);
  std::vector<std::byte> buffer(4096);
  JournalWriter writer(buffer, Stamp{20, 33}, Stamp{20, 33}, head_of(kRegions));
  writer.chain(GlobalAddress(1, 192), 1, 2);
  writer.chain_record(record, 0, image);
  writer.chain_write(GlobalAddress(1, 224), piece);
  buffer.resize(writer.finish(kPlace));
  const auto entry = read_journal_entry(buffer, kPlace);
  REQUIRE(entry);
  const JournalItem& item = entry->items[0];
  CHECK(item.new_records == 1);
  const auto name = item.name_of(item.writes[0]);
  REQUIRE(name);
  CHECK(name->address == GlobalAddress(1, 240));
  CHECK(name->word == BucketEntry::make(77, record.offset(), 5).location);
  CHECK_FALSE(item.name_of({record + 64, item.writes[0].bytes}));
}

TEST_CASE("an entry that lacks a word, is cut, or stands elsewhere is no entry", "[journal]") {
  const auto bytes = example_entry(kPlace);
  CHECK_FALSE(read_journal_entry(bytes, {20, 1, 512}));
  CHECK_FALSE(read_journal_entry(bytes, {21, 1, 448}));
  CHECK_FALSE(read_journal_entry(bytes, {20, 2, 448}));
  for (std::size_t word = 0; word < bytes.size(); word += 8) {
    auto torn = bytes;
    store_word(torn.data() + word, ~load_word(torn.data() + word));
    CHECK_FALSE(read_journal_entry(torn, kPlace));
    CHECK_FALSE(read_journal_entry(std::span(bytes).first(word), kPlace));
  }
}

// The place in the ring is the same, and so may the bytes be, except the position.
TEST_CASE("an entry of an earlier lap never certifies, with another position written in it either",
          "[journal]") {
  constexpr std::uint64_t kRing_bytes = 1024;
  for (std::uint64_t lap = 0; lap < 100; ++lap) {
    const StreamPlace old{20, 1, 64 + lap * kRing_bytes};
    auto bytes = shortest_entry(old, 5);
    REQUIRE(read_journal_entry(bytes, old));
    for (std::uint64_t later = lap + 1; later < 100; ++later) {
      const StreamPlace place{20, 1, 64 + later * kRing_bytes};
      CHECK_FALSE(read_journal_entry(bytes, place));
      store_word(bytes.data() + 24, place.position);
      CHECK_FALSE(read_journal_entry(bytes, place));
    }
    CHECK_FALSE(read_journal_pad(bytes, old));
  }
}

TEST_CASE("a stream reads on over pads at every possible rest of a lap", "[journal]") {
  constexpr std::uint64_t kRing_bytes = 1024;
  for (std::uint32_t rest = 64; rest < kRing_bytes; rest += 64) {
    std::vector<std::byte> ring(kRing_bytes, std::byte{0x5a});
    const StreamPlace before{20, 1, 3 * kRing_bytes - rest};
    const auto pad = journal_pad(rest, before);
    std::copy(pad.begin(), pad.end(), ring.end() - rest);
    const StreamPlace behind{20, 1, before.position + rest};
    const auto entry = shortest_entry(behind, 9);
    std::copy(entry.begin(), entry.end(), ring.begin());

    const auto at = [&](StreamPlace place) { return std::span(ring).subspan(place.position % kRing_bytes); };
    CHECK_FALSE(read_journal_entry(at(before), before));
    const auto length = read_journal_pad(at(before), before);
    REQUIRE(length);
    CHECK(before.position + *length == behind.position);
    REQUIRE(read_journal_entry(at(behind), behind));
    // Neither stands there for another lap, host or slot.
    CHECK_FALSE(read_journal_pad(at(before), {20, 1, before.position + kRing_bytes}));
    CHECK_FALSE(read_journal_pad(at(before), {20, 0, before.position}));
    CHECK_FALSE(read_journal_pad(at(before), {19, 1, before.position}));
    CHECK_FALSE(read_journal_pad(at(behind), behind));
  }
}

TEST_CASE("places of which two of slot, host and position are the same have seeds of their own",
          "[journal]") {
  std::vector<std::uint64_t> seeds;
  for (std::uint32_t slot = 16; slot < 32; ++slot) {
    for (ServerId host = 0; host < 16; ++host) {
      for (std::uint64_t position = 0; position < 1024; position += 64)
        seeds.push_back(StreamPlace{slot, host, position}.seed());
    }
  }
  std::ranges::sort(seeds);
  CHECK(std::ranges::adjacent_find(seeds) == seeds.end());
}

TEST_CASE("random bytes with a good checksum never lead outside the entry", "[journal]") {
  Random random(1);
  std::size_t read = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> buffer(64 + 8 * random.below(random.chance(0.5) ? 5 : 20));
    for (auto& byte : buffer) byte = static_cast<std::byte>(random.below(random.chance(0.5) ? 3 : 256));
    JournalWriter writer(buffer, Stamp{20, 1}, Stamp{20, 1}, head_of(kRegions));  // the first 56 bytes
    store_word(buffer.data(), (std::uint64_t{kJournalMagic} << 32) | buffer.size());
    store_word(buffer.data() + 16, random.below(4));
    store_word(buffer.data() + 24, kPlace.position);
    store_word(buffer.data() + 32, random.chance(0.9) ? 1 + random.below(4) : random.below(0x10000));
    if (random.chance(0.8)) store_word(buffer.data() + 56, (random.below(5) << 56) | random.below(2));
    const auto covered = std::span(buffer).first(buffer.size() - 8);
    store_word(buffer.data() + covered.size(), checksum64(covered, kPlace.seed()));
    auto entry = read_journal_entry(buffer, kPlace);
    if (!entry) continue;
    ++read;
    for (const JournalItem& item : entry->items) CHECK(item.image.size() <= buffer.size());
    CHECK(2 * entry->regions.size() <= buffer.size());
    if (!entry->room) continue;
    // A room of hostile items, cut or not.
    std::vector<std::byte> room(8 * random.below(20));
    for (auto& byte : room) byte = static_cast<std::byte>(random.below(3));
    entry->room->length_bytes = static_cast<std::uint32_t>(room.size() + 8 * random.below(2));
    entry->room->checksum = journal_room_checksum(room, kPlace);
    if (!read_journal_room(room, kPlace, *entry)) CHECK(entry->items.empty());
  }
  CHECK(read > 50);
}

TEST_CASE("random bytes with a good checksum are a pad only if their length moves a stream on", "[journal]") {
  for (std::uint32_t length = 0; length < 1024; ++length) {
    std::vector<std::byte> bytes(kJournalPad_bytes);
    store_word(bytes.data(), (std::uint64_t{kJournalPadMagic} << 32) | length);
    store_word(bytes.data() + 8, checksum64(std::span(bytes).first(8), kPlace.seed()));
    const auto pad = read_journal_pad(bytes, kPlace);
    CHECK(pad.has_value() == (length != 0 && length % 64 == 0));
    CHECK_FALSE(read_journal_pad(std::span(bytes).first(8), kPlace));
  }
}

}  // namespace namdb::layout

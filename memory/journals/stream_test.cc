// The host's view of a stream: which bytes are an entry, and when a place is free.
#include "memory/journals/stream.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <ranges>
#include <set>

#include "common/base/random.h"
#include "common/layout/words.h"
#include "memory/journals/testing/journal_owner.h"

namespace namdb::memory {
namespace stream_test {

using testing::JournalOwner;
using testing::JournalRegion;

constexpr std::uint32_t kStreamSlot = 20;
constexpr std::uint64_t kRing_bytes = 4096;

// A stream and its owner.
struct Ring {
  explicit Ring(JournalRegion& memory_of_ring)
      : memory(memory_of_ring),
        block(*memory.region->blocks().allocate(kRing_bytes)),
        stream(*memory.region, block, {kStreamSlot, 0, 0}, 7, "compute", charged_bytes),
        owner(*memory.region, kStreamSlot, block.offset, block.bytes) {}

  // As a reader without a log does.
  std::uint32_t read_all(std::uint64_t log_end = 0) {
    std::uint32_t found = 0;
    std::vector<std::byte> bytes;
    while (true) {
      bytes.clear();
      const auto entry = stream.next(bytes);
      if (!entry) return found;
      stream.accept(*entry, log_end, log_end);
      ++found;
    }
  }

  JournalRegion& memory;
  std::uint64_t charged_bytes = 0;
  Block block;
  JournalStream stream;
  JournalOwner owner;
};

TEST_CASE("a stream goes on behind a pad for every rest of a lap", "[journals]") {
  for (std::uint64_t rest = 64; rest < kRing_bytes; rest += 64) {
    JournalRegion memory;
    Ring ring(memory);
    std::uint32_t counter = 0;
    const std::uint64_t filled = kRing_bytes - rest;
    if (filled == 64) continue;  // no entry with an item is that short
    // Up to the rest with entries of 128 bytes and one of 192 if it must be, then one that does not fit
    // there.
    while (ring.owner.position() != filled) {
      ++counter;
      ring.owner.write(ring.owner.place(counter, filled % 128 != 0 && counter == 1 ? 40 : 8, counter));
      REQUIRE(ring.read_all() == 1);
    }
    ++counter;
    const auto part = ring.owner.place(counter, rest, counter);
    REQUIRE(part.pad_begin == kRing_bytes - rest);
    REQUIRE(part.begin == kRing_bytes);
    ring.owner.write_pad(part);
    CHECK(ring.read_all() == 0);
    CHECK(ring.stream.certified() == kRing_bytes);
    ring.owner.write(part);
    CHECK(ring.read_all() == 1);
    CHECK(ring.stream.certified() == part.end);
    CHECK(ring.stream.freed() == part.end);
  }
}

TEST_CASE("an entry in a ring has the bytes of the documentation's example", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  for (std::uint32_t counter = 1; counter <= 5; ++counter) ring.owner.write(ring.owner.place(counter, 8));
  ring.owner.write(ring.owner.place(7, 8, 5));
  const std::uint64_t words[] = {0x4a4e4c32'00000068,
                                 0x000000a0'00000038,
                                 0x00000000'00000001,
                                 0x280,
                                 0x00000001'00000001,
                                 0x00000005'00000000,
                                 0,
                                 0x02000001'00000000,
                                 0x2000,
                                 8,
                                 0x2008};
  std::uint64_t offset = ring.block.offset + 640;
  for (const std::uint64_t word : words) {
    CHECK(memory.region->load(offset) == word);
    offset += 8;
  }
  CHECK(ring.read_all() == 6);
  CHECK(ring.stream.certified() == 768);
  CHECK(ring.stream.freed() == 640);
}

TEST_CASE("an entry is found only when its last word is there", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  const auto part = ring.owner.place(1, 64);
  for (std::size_t missing = 0; missing < part.bytes.size() / 8; ++missing) {
    memory.region->zero(ring.block.offset, kRing_bytes);
    bool was_zero = true;
    for (std::size_t word = 0; word < part.bytes.size() / 8; ++word) {
      if (word != missing) ring.owner.write_word(part, word);
    }
    for (std::size_t i = 0; i < 8; ++i) was_zero = was_zero && part.bytes[8 * missing + i] == std::byte{};
    if (was_zero) continue;  // nothing is missing
    CHECK(ring.read_all() == 0);
    CHECK(ring.stream.certified() == 0);
  }
  memory.region->zero(ring.block.offset, kRing_bytes);
  ring.owner.write(part);
  CHECK(ring.read_all() == 1);
}

TEST_CASE("an entry that goes on behind the end of its lap is malformed", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  // Takes memory that is not its own for the rest of the ring.
  JournalOwner hostile(*memory.region, kStreamSlot, ring.block.offset, 2 * kRing_bytes);
  const std::uint64_t last = kRing_bytes - 64;
  for (std::uint32_t counter = 1; hostile.position() != last; ++counter) {
    hostile.write(hostile.place(counter, counter == 1 ? 40 : 8, counter));
    REQUIRE(ring.read_all() == 1);
  }
  const auto part = hostile.place(100, 8, 100);
  REQUIRE(part.begin == last);
  REQUIRE(part.end == kRing_bytes + 64);
  hostile.write(part);
  CHECK(ring.read_all() == 0);
  CHECK(ring.stream.certified() == last);
}

TEST_CASE("a pad that goes on behind the end of its lap is malformed", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  const std::uint64_t last = kRing_bytes - 64;
  for (std::uint32_t counter = 1; ring.owner.position() != last; ++counter) {
    ring.owner.write(ring.owner.place(counter, counter == 1 ? 40 : 8, counter));
    REQUIRE(ring.read_all() == 1);
  }
  const auto pad = [&](std::uint32_t length_bytes) {
    const auto bytes = layout::journal_pad(length_bytes, {kStreamSlot, 0, last});
    memory.region->store(ring.block.offset + last, layout::load_word(bytes.data()));
    memory.region->store(ring.block.offset + last + 8, layout::load_word(bytes.data() + 8));
    CHECK(ring.read_all() == 0);
  };
  pad(128);
  CHECK(ring.stream.certified() == last);
  pad(64);
  CHECK(ring.stream.certified() == kRing_bytes);
}

TEST_CASE("bytes that earlier laps left are never an entry of a later one", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  for (std::uint32_t lap = 0; lap < 20; ++lap) {
    for (std::uint32_t i = 0; i < kRing_bytes / 128; ++i) {
      ring.owner.write(ring.owner.place(1 + lap, 8, 1 + lap));
      REQUIRE(ring.read_all() == 1);
      // The whole ring has entries of this lap and of the one before.
      REQUIRE(ring.read_all() == 0);
      REQUIRE(ring.stream.certified() == ring.owner.position());
      REQUIRE_FALSE(ring.stream.may_have_next());
    }
  }
}

TEST_CASE("entries of other slots, hosts and positions are not taken", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  JournalOwner stranger(*memory.region, kStreamSlot + 1, ring.block.offset, kRing_bytes);
  stranger.write(stranger.place(1, 8));
  CHECK(ring.read_all() == 0);
  const auto part = ring.owner.place(1, 8);
  JournalOwner late(*memory.region, kStreamSlot, ring.block.offset, kRing_bytes);
  (void)late.place(1, 8);
  auto moved = late.place(2, 8);
  moved.pad_begin = moved.begin = 0;  // sealed for 128, WRITTEN at 0
  late.write(moved);
  CHECK(ring.read_all() == 0);
  ring.owner.write(part);
  CHECK(ring.read_all() == 1);
}

TEST_CASE("the cursor never comes into places that are not free", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  for (std::uint32_t counter = 1; counter <= kRing_bytes / 128; ++counter)
    ring.owner.write(ring.owner.place(counter, 8));
  CHECK(ring.read_all() == kRing_bytes / 128);
  CHECK(ring.stream.certified() == kRing_bytes);
  CHECK(ring.stream.limit() == kRing_bytes);
  // An owner without regard for what is free.
  ring.owner.write(ring.owner.place(100, 8));
  CHECK_FALSE(ring.stream.may_have_next());
  CHECK(ring.read_all() == 0);
  ring.stream.learn_through(1);
  CHECK(ring.stream.may_have_next());
  CHECK(ring.read_all() == 1);
  CHECK(ring.stream.certified() == kRing_bytes + 128);
  // An entry that reaches from a free place into one that is not.
  ring.stream.learn_through(2);
  ring.owner.write(ring.owner.place(101, 64));
  CHECK(ring.read_all() == 0);
  ring.stream.learn_through(3);
  CHECK(ring.read_all() == 1);
}

TEST_CASE("no bytes of a ring make reading or memory unbounded", "[journals]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    JournalRegion memory;
    Ring ring(memory);
    std::uint32_t counter = 0;
    for (int step = 0; step < 200; ++step) {
      if (random.chance(0.5)) {
        ++counter;
        const auto part = ring.owner.place(counter, 8 * random.below(80),
                                           static_cast<std::uint32_t>(random.below(counter + 1)));
        ring.owner.write(part);
      }
      for (std::uint64_t flips = random.below(4); flips != 0; --flips) {
        const std::uint64_t offset = ring.block.offset + 8 * random.below(kRing_bytes / 8);
        memory.region->store(offset, random.chance(0.3)
                                         ? random.next()
                                         : memory.region->load(offset) ^ (1ULL << random.below(64)));
      }
      const std::uint32_t found = ring.read_all();
      REQUIRE(found <= kRing_bytes / 64 + 1);
      REQUIRE(ring.stream.certified() <= ring.stream.limit());
      REQUIRE(ring.stream.certified() - ring.stream.freed() <= kRing_bytes);
      REQUIRE(ring.stream.entries().size() <= kRing_bytes / 64);
      REQUIRE(ring.stream.certified() % 64 == 0);
    }
  }
}

TEST_CASE("sealed heads with any length and number stay within the ring", "[journals]") {
  Random random(3);
  JournalRegion memory;
  Ring ring(memory);
  const auto part = ring.owner.place(1, 256);
  for (int i = 0; i < 5'000; ++i) {
    auto forged = part;
    // The head's words, with the length and the seal that an owner who lies would give them.
    const std::size_t word = random.below(7);
    std::uint64_t value = random.chance(0.5) ? random.next() : random.below(1U << 16);
    if (word == 0) value = (std::uint64_t{layout::kJournalMagic} << 32) | (8 * random.below(1U << 20));
    std::memcpy(forged.bytes.data() + 8 * word, &value, 8);
    const std::uint64_t seal = layout::journal_room_checksum(
        std::span(forged.bytes).first(forged.bytes.size() - 8), {kStreamSlot, 0, 0});
    std::memcpy(forged.bytes.data() + forged.bytes.size() - 8, &seal, 8);
    ring.owner.write(forged);
    std::vector<std::byte> bytes;
    if (const auto entry = ring.stream.next(bytes)) CHECK(entry->end() <= kRing_bytes);
    REQUIRE(bytes.size() <= kRing_bytes);
    REQUIRE(ring.stream.certified() <= kRing_bytes);
  }
}

TEST_CASE("a place is free when it and all before it are durable and decided, and not before", "[journals]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    JournalRegion memory;
    Ring ring(memory);
    struct Known {
      std::uint32_t counter;
      std::uint64_t begin;
      std::uint64_t log_end;
    };
    std::vector<Known> known;
    std::set<std::uint32_t> verdicts;
    std::uint32_t through = 0;
    std::uint64_t log_end = 0;
    std::uint64_t log_durable = 0;
    std::uint32_t next_counter = 1;
    for (int step = 0; step < 150; ++step) {
      const std::uint64_t action = random.below(4);
      if (action == 0) {
        // Counters are taken before places, so they are in no order.
        const std::uint32_t counter = next_counter++ ^ static_cast<std::uint32_t>(random.below(4));
        const std::uint64_t payload = 8 * random.below(40);
        if (ring.owner.position() + ring.owner.needs_bytes(payload) > ring.stream.limit()) continue;
        const auto part = ring.owner.place(counter, payload);
        ring.owner.write(part);
        log_end += 1 + random.below(5);
        REQUIRE(ring.read_all(log_end) == 1);
        known.push_back({counter, part.begin, log_end});
      } else if (action == 1 && next_counter > 4) {
        const auto told = static_cast<std::uint32_t>(random.below(next_counter));  // late news change nothing
        through = std::max(through, told);
        ring.stream.learn_through(told);
      } else if (action == 2) {
        const auto counter = static_cast<std::uint32_t>(random.below(next_counter + 2));
        verdicts.insert(counter);
        ring.stream.decide(counter, random.chance(0.5) ? Verdict::voided : Verdict::committed);
      } else {
        log_durable = std::max(log_durable, random.below(log_end + 1));
        ring.stream.log_is_durable(log_durable);
      }
      std::uint64_t freed = ring.stream.certified();
      std::uint64_t durable = ring.stream.certified();
      std::optional<std::uint64_t> undecided;
      for (const Known& entry : known | std::views::reverse) {
        const bool decided = entry.counter <= through || verdicts.contains(entry.counter);
        if (entry.log_end > log_durable) durable = entry.begin;
        if (entry.log_end > log_durable || !decided) freed = entry.begin;
        if (!decided) undecided = entry.log_end;
      }
      REQUIRE(ring.stream.freed() == freed);
      REQUIRE(ring.stream.durable() == durable);
      REQUIRE(ring.stream.oldest_undecided_log_begin() == undecided);
    }
  }
}

TEST_CASE("a room is free again with the place of its entry", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  const std::uint64_t alone_bytes = ring.charged_bytes;
  const Block room = *memory.region->blocks().allocate(16U << 10);
  ring.stream.add_room(room);
  CHECK(ring.charged_bytes == alone_bytes + room.bytes);
  std::vector<std::byte> items;
  const auto part = ring.owner.place_with_room(1, room.offset, 8192, items);
  memory.region->write(room.offset, items);
  ring.owner.write(part);
  std::vector<std::byte> bytes;
  const auto entry = ring.stream.next(bytes);
  REQUIRE(entry.has_value());
  REQUIRE(ring.stream.take_room(*entry));
  ring.stream.accept(*entry, 0, 5);
  CHECK_FALSE(ring.stream.give_back_room(room.offset));
  const auto again = ring.stream.read_again(ring.stream.entries().front());
  REQUIRE(again.has_value());
  CHECK(again->bytes.size() == part.bytes.size() + items.size());
  ring.stream.learn_through(1);
  CHECK(ring.charged_bytes == alone_bytes + room.bytes);
  ring.stream.log_is_durable(5);
  CHECK(ring.charged_bytes == alone_bytes);
  CHECK(ring.stream.freed() == part.end);
}

TEST_CASE("an entry that names no room of its own breaks the stream", "[journals]") {
  const auto broken_by = [](auto name_room) {
    JournalRegion memory;
    Ring ring(memory);
    const Block room = *memory.region->blocks().allocate(4096);
    ring.stream.add_room(room);
    std::vector<std::byte> items;
    ring.owner.write(name_room(ring, room, items));
    std::vector<std::byte> bytes;
    const auto entry = ring.stream.next(bytes);
    REQUIRE(entry.has_value());
    CHECK_FALSE(ring.stream.take_room(*entry));
    CHECK_FALSE(ring.stream.may_have_next());
    return !ring.stream.broken().ok() && !ring.stream.next(bytes);
  };
  CHECK(broken_by([](Ring& ring, const Block& room, std::vector<std::byte>& items) {
    return ring.owner.place_with_room(1, room.offset + 64, 64, items);
  }));
  CHECK(broken_by([](Ring& ring, const Block& room, std::vector<std::byte>& items) {
    return ring.owner.place_with_room(1, room.offset, 8192, items);  // longer than the room
  }));
  CHECK(broken_by([](Ring& ring, const Block& room, std::vector<std::byte>& items) {
    ring.owner.write(ring.owner.place_with_room(1, room.offset, 64, items));
    std::vector<std::byte> bytes;
    const auto entry = ring.stream.next(bytes);
    REQUIRE(ring.stream.take_room(*entry));
    ring.stream.accept(*entry, 0, 0);
    return ring.owner.place_with_room(2, room.offset, 64, items);  // another's already
  }));
}

TEST_CASE("entries behind a hole are found once the owner is gone", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  std::vector<JournalOwner::Part> parts;
  for (std::uint32_t counter = 1; counter <= 6; ++counter)
    parts.push_back(ring.owner.place(counter, 8 * counter));
  for (const std::size_t there : {0U, 2U, 3U, 5U}) ring.owner.write(parts[there]);
  CHECK(ring.read_all() == 1);
  ring.stream.abandon();
  std::vector<std::uint32_t> found;
  std::vector<std::byte> bytes;
  while (const auto entry = ring.stream.next_of_abandoned(bytes)) {
    found.push_back(entry->stamp.counter);
    ring.stream.accept(*entry, 0, 0);
  }
  CHECK(found == std::vector<std::uint32_t>{3, 4, 6});
  CHECK(ring.stream.certified() == parts[5].end);
}

TEST_CASE("an entry is read again only as it was", "[journals]") {
  JournalRegion memory;
  Ring ring(memory);
  const auto part = ring.owner.place(1, 64);
  ring.owner.write(part);
  REQUIRE(ring.read_all() == 1);
  const KeptEntry kept = ring.stream.entries().front();
  const auto again = ring.stream.read_again(kept);
  REQUIRE(again.has_value());
  CHECK(std::ranges::equal(again->bytes, part.bytes));
  memory.region->store(ring.block.offset + 72, 5);
  CHECK_FALSE(ring.stream.read_again(kept).has_value());
  JournalOwner other(*memory.region, kStreamSlot, ring.block.offset, kRing_bytes);
  other.write(other.place(2, 64));  // another commit at the same position
  CHECK_FALSE(ring.stream.read_again(kept).has_value());
}

}  // namespace stream_test
}  // namespace namdb::memory

#include "common/layout/journal_ring.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "common/base/random.h"

namespace namdb::layout {
namespace {

constexpr std::uint32_t kRingSlot = 20;
constexpr ServerId kRingHost = 1;

// An owner's stream in a ring.
struct OwnedRing {
  std::vector<std::byte> bytes = std::vector<std::byte>(2048);
  std::uint64_t position = 0;
  struct Written {
    std::uint64_t position;
    std::uint32_t counter;
  };
  std::deque<Written> written;

  StreamPlace place() const { return {kRingSlot, kRingHost, position}; }
  std::byte* at_position() { return bytes.data() + position % bytes.size(); }
  // An entry of that many bytes at least.
  void write(std::uint32_t counter, std::uint32_t length_bytes) {
    const std::vector<std::byte> filler(length_bytes, std::byte{0x33});
    const ServerId regions[] = {kRingHost};
    std::vector<std::byte> entry(length_bytes + 128);
    const Stamp stamp{kRingSlot, counter};
    JournalWriter writer(entry, stamp, stamp, {.regions = regions});
    if (length_bytes != 0) {
      writer.chain(GlobalAddress(kRingHost, 192), 0, 1);
      writer.chain_write(GlobalAddress(kRingHost, 640), filler);
    }
    const std::uint64_t taken = journal_stream_bytes(writer.length_bytes());
    const std::uint64_t rest = bytes.size() - position % bytes.size();
    if (rest < taken) {
      const auto pad = journal_pad(static_cast<std::uint32_t>(rest), place());
      std::ranges::copy(pad, at_position());
      position += rest;
    }
    entry.resize(writer.finish(place()));
    std::ranges::copy(entry, at_position());
    written.push_back({position, counter});
    position += taken;
    while (written.front().position + bytes.size() < position) written.pop_front();
  }
};

}  // namespace

TEST_CASE("a reader of a whole ring finds what its owner has not overwritten, lap for lap", "[journal]") {
  Random random(7);
  OwnedRing ring;
  for (std::uint32_t counter = 1; counter < 2000; ++counter) {
    ring.write(counter, static_cast<std::uint32_t>(8 * random.below(random.chance(0.1) ? 110 : 20)));
    const auto found = read_journal_ring(ring.bytes, kRingSlot, kRingHost);
    REQUIRE(found.size() == ring.written.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].position == ring.written[i].position);
      CHECK(found[i].stamp.counter == ring.written[i].counter);
    }
  }
  CHECK(ring.position > 100 * ring.bytes.size());
  CHECK(read_journal_ring(ring.bytes, kRingSlot + 1, kRingHost).empty());
  CHECK(read_journal_ring(ring.bytes, kRingSlot, kRingHost + 1).empty());
}

TEST_CASE("a reader of a whole ring passes over an entry that is not whole", "[journal]") {
  OwnedRing ring;
  for (std::uint32_t counter = 1; counter <= 5; ++counter) ring.write(counter, 128);
  for (const auto& torn : ring.written) {
    auto bytes = ring.bytes;
    bytes[torn.position + 40] ^= std::byte{1};
    const auto found = read_journal_ring(bytes, kRingSlot, kRingHost);
    CHECK(found.size() == 4);
    for (const JournalEntry& entry : found) CHECK(entry.stamp.counter != torn.counter);
  }
}

TEST_CASE("bytes that look like an entry in the midst of another are none", "[journal]") {
  OwnedRing ring;
  ring.write(1, 0);
  OwnedRing forged;
  forged.position = 320;
  forged.write(7, 0);
  // An entry whose bytes hold the forged one where it certifies.
  const ServerId regions[] = {kRingHost};
  std::vector<std::byte> entry(1024);
  const Stamp stamp{kRingSlot, 2};
  JournalWriter writer(entry, stamp, stamp, {.regions = regions});
  writer.chain(GlobalAddress(kRingHost, 192), 0, 1);
  const std::uint64_t begin = ring.position + writer.used_bytes() + 16;
  std::vector<std::byte> payload(320 - begin, std::byte{});
  payload.insert(payload.end(), forged.bytes.begin() + 320, forged.bytes.begin() + 384);
  writer.chain_write(GlobalAddress(kRingHost, 640), payload);
  entry.resize(writer.finish(ring.place()));
  std::ranges::copy(entry, ring.at_position());

  REQUIRE(read_journal_entry(std::span(ring.bytes).subspan(320), {kRingSlot, kRingHost, 320}));
  const auto found = read_journal_ring(ring.bytes, kRingSlot, kRingHost);
  REQUIRE(found.size() == 2);
  CHECK(found[0].stamp.counter == 1);
  CHECK(found[1].stamp.counter == 2);
}

TEST_CASE("an empty ring has no entries", "[journal]") {
  const std::vector<std::byte> bytes(1024);
  CHECK(read_journal_ring(bytes, kRingSlot, kRingHost).empty());
}

}  // namespace namdb::layout

// Credit and places of a slot's journal streams.
#include "compute/txn/journal_streams.h"

#include <catch2/catch.hpp>
#include <vector>

#include "common/base/random.h"

namespace namdb::txn {
namespace {

using layout::GlobalAddress;
using layout::journal_stream_bytes;

constexpr std::uint64_t kStreamRing_bytes = 4096;
constexpr GlobalAddress kStreamRing(3, 1 << 20);

JournalStream stream_at(std::uint64_t position) {
  return {{.slot = 17, .host = 3, .position = position}, kStreamRing, kStreamRing_bytes};
}

}  // namespace

TEST_CASE("places follow each other without gaps, and never wrap", "[journal_streams]") {
  JournalStream stream = stream_at(0);
  Random random(3);
  std::uint64_t next = 0;
  for (std::uint32_t counter = 1; counter < 5000; ++counter) {
    const auto length = static_cast<std::uint32_t>(8 + 8 * random.below(stream.longest_bytes() / 8));
    const std::uint64_t credit = journal_stream_bytes(length);
    REQUIRE(stream.has_credit(credit));
    stream.take_credit(credit);
    const JournalPlace place = stream.place(counter, credit, length);
    if (place.pad_bytes != 0) {
      CHECK(place.pad.position == next);
      CHECK(place.pad_address == kStreamRing + next % kStreamRing_bytes);
      next += place.pad_bytes;
      CHECK(next % kStreamRing_bytes == 0);
      CHECK(place.pad_bytes < credit);
    }
    CHECK(place.entry == layout::StreamPlace{17, 3, next});
    CHECK(place.address == kStreamRing + next % kStreamRing_bytes);
    CHECK(next % kStreamRing_bytes + length <= kStreamRing_bytes);
    next += credit;
    stream.finish_through(counter);
    REQUIRE(stream.free_to(stream.finished()));
  }
  CHECK(next > 1000 * kStreamRing_bytes);
}

// place() checks that no place overlaps one that is needed.
TEST_CASE("the holders of credit take their places in any order, however the ring stands",
          "[journal_streams]") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    JournalStream stream = stream_at(64 * random.below(200));
    struct Open {
      std::uint32_t counter;
      std::uint64_t credit;  // 0: it has its place
    };
    std::vector<Open> open;
    std::uint32_t counter = 0;
    std::uint64_t most = 0;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t bytes = 64 * (1 + random.below(random.chance(0.2) ? 32 : 6));
      if (stream.has_credit(bytes)) {
        stream.take_credit(bytes);
        open.push_back({++counter, bytes});
      }
      most = std::max<std::uint64_t>(most, open.size());
      if (open.empty()) continue;
      Open& one = open[random.below(open.size())];
      if (one.credit != 0 && random.chance(0.2)) {
        stream.give_back(one.credit);
        one.credit = 0;
      } else if (one.credit != 0) {
        const std::uint64_t length = random.chance(0.5) ? one.credit : 8 + 8 * random.below(one.credit / 8);
        static_cast<void>(stream.place(one.counter, one.credit, static_cast<std::uint32_t>(length)));
        one.credit = 0;
      }
      // Counters finish in order, when all before them have.
      while (!open.empty() && open.front().credit == 0 && random.chance(0.7)) {
        stream.finish_through(open.front().counter);
        open.erase(open.begin());
      }
      // The host frees what is finished, sooner or later.
      if (random.chance(0.5)) REQUIRE(stream.free_to(stream.finished()));
    }
    CHECK(most > 3);
    // A commit that waits gets its credit in the end.
    for (const Open& one : open) {
      if (one.credit != 0) stream.give_back(one.credit);
    }
    stream.finish_through(counter);
    REQUIRE(stream.free_to(stream.finished()));
    CHECK(stream.has_credit(stream.longest_bytes()));
  }
}

TEST_CASE("a place can be freed when its counter and those of all places before it are finished",
          "[journal_streams]") {
  JournalStream stream = stream_at(0);
  for (int i = 0; i < 4; ++i) stream.take_credit(1024);
  CHECK_FALSE(stream.has_credit(64));
  static_cast<void>(stream.place(4, 1024, 1024));
  static_cast<void>(stream.place(1, 1024, 1024));
  static_cast<void>(stream.place(2, 1024, 1024));
  stream.finish_through(3);
  CHECK(stream.freeable_bytes() == 0);
  stream.finish_through(4);
  CHECK(stream.freeable_bytes() == 3 * 1024);
  CHECK(stream.finished() == 3 * 1024);
}

TEST_CASE("a place that is finished is not taken again before its host has freed it", "[journal_streams]") {
  JournalStream stream = stream_at(0);
  for (std::uint32_t counter = 1; counter <= 4; ++counter) {
    stream.take_credit(1024);
    static_cast<void>(stream.place(counter, 1024, 1024));
  }
  stream.finish_through(4);
  CHECK_FALSE(stream.has_credit(64));
  REQUIRE(stream.free_to(1024));
  CHECK(stream.has_credit(1024));
  CHECK_FALSE(stream.has_credit(1024 + 64));
  CHECK_FALSE(stream.free_to(960));
  CHECK_FALSE(stream.free_to(4096 + 64));
}

TEST_CASE("credit is taken at all hosts or at none, and an abort leaves nothing", "[journal_streams]") {
  JournalStreams streams;
  for (layout::ServerId host = 0; host < 3; ++host) {
    streams.open({17, host, 0}, GlobalAddress(host, 1 << 20), kStreamRing_bytes);
  }
  const HostBytes full{1, kStreamRing_bytes / 2};
  const HostBytes both[] = {{0, 1024}, full};
  REQUIRE(streams.take_credit({both, 1}));
  REQUIRE(streams.take_credit({&full, 1}));
  REQUIRE(streams.take_credit({&full, 1}));
  CHECK_FALSE(streams.take_credit(both));
  CHECK(streams.at(0).has_credit(kStreamRing_bytes / 2));
  CHECK(streams.at(2).has_credit(kStreamRing_bytes / 2));
  streams.give_back({&full, 1});
  REQUIRE(streams.take_credit(both));
  streams.give_back(both);
  // The next place is that of the first entry on each host.
  for (layout::ServerId host = 0; host < 2; ++host) {
    const HostBytes part = both[host];
    CHECK(streams.place(9, part, 64).entry == layout::StreamPlace{17, host, 0});
  }
}

}  // namespace namdb::txn

#include "common/layout/version_image.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "common/base/checksum.h"
#include "common/base/random.h"

namespace namdb::layout {
namespace {

const GlobalAddress kRecord(1, 8192);

struct Pair {
  std::vector<std::byte> older;
  std::vector<std::byte> newer;
};

// Two versions of a record with `words` words of payload, some of which differ.
Pair versions(Random& random, std::size_t words, double changed) {
  Pair pair;
  pair.older.resize(kBodyPrefix_bytes + 8 * words);
  for (std::size_t at = kBodyPrefix_bytes; at < pair.older.size(); at += 8)
    store_word(pair.older.data() + at, random.next());
  pair.newer = pair.older;
  for (std::size_t at = kBodyPrefix_bytes; at < pair.newer.size(); at += 8) {
    if (random.chance(changed)) store_word(pair.newer.data() + at, random.next());
  }
  seal_body(pair.older, kRecord, {.stamp = {17, 5}, .table = 7, .incarnation = 3, .ring_slot = 1});
  seal_body(pair.newer, kRecord,
            {.stamp = {18, 1},
             .displaced = HeaderWord(Stamp{17, 5}),
             .table = 7,
             .incarnation = 3,
             .ring_slot = 2});
  return pair;
}

// A ring slot with the image of `body` and what was there before behind it.
std::vector<std::byte> slot_with(const std::vector<std::byte>& body, const std::vector<std::byte>& neighbour,
                                 std::uint32_t* length = nullptr) {
  std::vector<std::byte> image(body.size());
  const std::uint32_t used = encode_image(body, neighbour, kRecord, image);
  std::vector<std::byte> slot(body.size(), std::byte{0x5a});
  std::copy_n(image.begin(), used, slot.begin());
  if (length != nullptr) *length = used;
  return slot;
}

}  // namespace

TEST_CASE("each of two neighbours is given back by its image and the other", "[image]") {
  Random random(1);
  for (int round = 0; round < 500; ++round) {
    const Pair pair = versions(random, random.below(60), random.unit());
    for (const bool back : {true, false}) {
      const std::vector<std::byte>& wanted = back ? pair.older : pair.newer;
      std::vector<std::byte> body = back ? pair.newer : pair.older;
      const auto slot = slot_with(wanted, body);
      REQUIRE(certify_image(slot, kRecord));
      CHECK(decode_body_header(slot.data()).stamp == decode_body_header(wanted.data()).stamp);
      CHECK(decode_body_header(slot.data()).ring_slot == decode_body_header(wanted.data()).ring_slot);
      REQUIRE(restore_body(slot, kRecord, body));
      CHECK(body == wanted);
    }
  }
}

TEST_CASE("an image is never longer than the body, and short when little changed", "[image]") {
  Random random(2);
  std::uint32_t length = 0;
  Pair pair = versions(random, 40, 1.0);
  slot_with(pair.older, pair.newer, &length);
  CHECK(length == pair.older.size());
  pair = versions(random, 40, 0.0);
  slot_with(pair.older, pair.newer, &length);
  CHECK(length == kImageRuns_offset);
  store_word(pair.newer.data() + kBodyPrefix_bytes + 80, 1);
  seal_body(pair.newer, kRecord, {.stamp = {18, 1}, .table = 7});
  slot_with(pair.older, pair.newer, &length);
  CHECK(length == kImageRuns_offset + 16);
}

TEST_CASE("an image with a changed word, or of another record, does not certify", "[image]") {
  Random random(3);
  const Pair pair = versions(random, 40, 0.1);
  std::uint32_t length = 0;
  const auto slot = slot_with(pair.older, pair.newer, &length);
  REQUIRE(length < pair.older.size());
  CHECK_FALSE(certify_image(slot, kRecord + 64));
  for (std::size_t at = 0; at < length; at += 8) {
    auto torn = slot;
    store_word(torn.data() + at, ~load_word(torn.data() + at));
    CHECK_FALSE(certify_image(torn, kRecord));
  }
}

TEST_CASE("a change to any body but its neighbour's gives no body that certifies", "[image]") {
  Random random(4);
  const Pair pair = versions(random, 40, 0.1);
  const auto slot = slot_with(pair.older, pair.newer);
  for (std::size_t at = kBodyPrefix_bytes; at < pair.newer.size(); at += 8) {
    std::vector<std::byte> other = pair.newer;
    store_word(other.data() + at, ~load_word(other.data() + at));
    const bool overwritten = load_word(pair.older.data() + at) != load_word(pair.newer.data() + at);
    CHECK(restore_body(slot, kRecord, other) == overwritten);
  }
}

TEST_CASE("a change completes a body of which any part has landed already", "[image]") {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const Pair pair = versions(random, 40, 0.2);
    const auto slot = slot_with(pair.newer, pair.older);
    std::vector<std::byte> mixed = pair.older;
    for (std::size_t at = 0; at < mixed.size(); at += 8) {
      if (random.chance(0.5)) store_word(mixed.data() + at, load_word(pair.newer.data() + at));
    }
    REQUIRE(restore_body(slot, kRecord, mixed));
    CHECK(mixed == pair.newer);
  }
}

TEST_CASE("changed runs cover what differs, joined over small gaps only", "[image]") {
  Random random(6);
  for (int round = 0; round < 300; ++round) {
    const Pair pair = versions(random, 50, 0.15);
    const auto gap_bytes = static_cast<std::uint32_t>(8 * random.below(6));
    std::vector<bool> covered(pair.older.size() / 8);
    ChangedRuns runs(pair.newer, pair.older, kBodyPrefix_bytes, gap_bytes);
    std::uint32_t last = 0;
    for (ChangedRun run; runs.next(run);) {
      REQUIRE((run.begin < run.end && run.end <= pair.older.size()));
      if (last != 0) CHECK(run.begin - last > gap_bytes);
      last = run.end;
      for (const std::uint32_t edge : {run.begin, run.end - 8})
        CHECK(load_word(pair.newer.data() + edge) != load_word(pair.older.data() + edge));
      for (std::uint32_t at = run.begin; at < run.end; at += 8) covered[at / 8] = true;
    }
    for (std::size_t at = kBodyPrefix_bytes; at < pair.older.size(); at += 8) {
      const bool differs = load_word(pair.newer.data() + at) != load_word(pair.older.data() + at);
      if (differs) CHECK(covered[at / 8]);
    }
  }
}

TEST_CASE("an image that certifies and is nonsense never leads outside of image and body", "[image]") {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::byte> slot(kImageRuns_offset + 8 * random.below(12));
    for (auto& byte : slot) byte = static_cast<std::byte>(random.below(random.chance(0.5) ? 2 : 256));
    store_word(slot.data() + kBodyMeta_offset, load_word(slot.data() + kBodyMeta_offset) | kChange_bit);
    store_word(slot.data() + kImageLength_offset, slot.size());
    store_word(slot.data() + kImageChecksum_offset,
               checksum64(std::span(slot).subspan(kImageLength_offset),
                          checksum64(std::span(slot).first(kBodyPrefix_bytes), kRecord.value)));
    REQUIRE(certify_image(slot, kRecord));
    std::vector<std::byte> body(slot.size());
    CHECK_FALSE(restore_body(slot, kRecord, body));
  }
}

}  // namespace namdb::layout

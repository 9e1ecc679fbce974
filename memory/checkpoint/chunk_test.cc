#include "memory/checkpoint/chunk.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/base/checksum.h"
#include "common/base/random.h"
#include "common/layout/words.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kChunkExtent = 3U << 20;
const RecordBlock kFirstBlock{5, kChunkExtent, 4096, 17};
const RecordBlock kSecondBlock{6, kChunkExtent + 8192, 8192, 23};
constexpr ChunkShape kShape{64, 40};

std::vector<std::byte> chunk_body(std::uint8_t fill) {
  return std::vector<std::byte>(kShape.body_bytes, std::byte{fill});
}

std::vector<std::byte> two_sections() {
  ChunkWriter writer(kChunkExtent);
  const auto one = chunk_body(1);
  const auto two = chunk_body(2);
  writer.place(kFirstBlock, kShape, {kFirstBlock.offset, 20, one});
  writer.place(kFirstBlock, kShape, {kFirstBlock.offset + 3 * 64, 21, {}});
  writer.place(kSecondBlock, kShape, {kSecondBlock.offset + 64, 25, two});
  return writer.finish();
}

// With a checksum that fits.
std::vector<std::byte> resealed(std::vector<std::byte> bytes) {
  const auto content = std::span<const std::byte>(bytes).first(bytes.size() - 8);
  layout::store_word(bytes.data() + content.size(), checksum64(content, kChunkExtent));
  return bytes;
}

}  // namespace

TEST_CASE("the bytes of a chunk", "[chunk]") {
  const std::vector<std::byte> bytes = two_sections();
  const auto word = [&bytes](std::size_t index) { return layout::load_word(bytes.data() + 8 * index); };
  REQUIRE(bytes.size() == 24 + 2 * 40 + 3 * 16 + 2 * 40 + 8);
  CHECK(word(0) == 0x4e43'484b'0000'0001);
  CHECK(word(1) == kChunkExtent);
  CHECK(word(2) == 2);
  CHECK(word(3) == 0x5'0000'0002);
  CHECK(word(4) == kFirstBlock.offset);
  CHECK(word(5) == 4096);
  CHECK(word(6) == 17);
  CHECK(word(7) == 0x40'0000'0028);
  CHECK(word(8) == 0x28);
  CHECK(word(9) == 20);
  CHECK(word(10) == 0x0101'0101'0101'0101);
  CHECK(word(15) == 0x3'0000'0000);
  CHECK(word(16) == 21);
  CHECK(word(17) == 0x6'0000'0001);
  CHECK(word(bytes.size() / 8 - 1) ==
        checksum64(std::span<const std::byte>(bytes).first(bytes.size() - 8), kChunkExtent));
}

TEST_CASE("a chunk is read back as it was written", "[chunk]") {
  const std::vector<std::byte> bytes = two_sections();
  const auto chunk = decode_chunk(kChunkExtent, bytes);
  REQUIRE(chunk.ok());
  REQUIRE(chunk->sections.size() == 2);
  const ChunkSection& first = chunk->sections[0];
  CHECK(first.block == kFirstBlock);
  CHECK(first.shape == kShape);
  REQUIRE(first.places.size() == 2);
  CHECK(first.places[0].offset == kFirstBlock.offset);
  CHECK(first.places[0].life == 20);
  CHECK(std::ranges::equal(first.places[0].body, chunk_body(1)));
  CHECK(first.places[1].offset == kFirstBlock.offset + 192);
  CHECK(first.places[1].life == 21);
  CHECK(first.places[1].body.empty());
  CHECK(chunk->sections[1].block == kSecondBlock);
  REQUIRE(chunk->sections[1].places.size() == 1);
  CHECK(std::ranges::equal(chunk->sections[1].places[0].body, chunk_body(2)));
}

TEST_CASE("every cut and every flipped bit of a chunk is found", "[chunk]") {
  const std::vector<std::byte> bytes = two_sections();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = decode_chunk(kChunkExtent, std::span(bytes).first(length));
    REQUIRE_FALSE(cut.ok());
    CHECK(cut.status().code() == ErrorCode::corrupt_data);
  }
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::vector<std::byte> flipped = bytes;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto chunk = decode_chunk(kChunkExtent, flipped);
    REQUIRE_FALSE(chunk.ok());
    CHECK(chunk.status().code() == ErrorCode::corrupt_data);
  }
  std::vector<std::byte> longer = bytes;
  longer.resize(bytes.size() + 8);
  CHECK_FALSE(decode_chunk(kChunkExtent, longer).ok());
  CHECK_FALSE(decode_chunk(kChunkExtent + 4096, bytes).ok());
}

TEST_CASE("a chunk of another format is refused by name", "[chunk]") {
  std::vector<std::byte> bytes = two_sections();
  bytes[0] = std::byte{2};
  const auto chunk = decode_chunk(kChunkExtent, resealed(bytes));
  REQUIRE_FALSE(chunk.ok());
  CHECK(chunk.status().code() == ErrorCode::configuration);
}

TEST_CASE("a chunk of hostile bytes is read within its bounds", "[chunk]") {
  const std::vector<std::byte> bytes = two_sections();
  Random random(3);
  int decoded = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> hostile = bytes;
    for (std::uint64_t i = random.below(3) + 1; i > 0; --i) {
      const std::size_t at = 16 + 8 * random.below((bytes.size() - 16) / 8);
      const std::uint64_t values[] = {0,
                                      1,
                                      8,
                                      ~std::uint64_t{0},
                                      1U << 31,
                                      std::uint64_t{1} << 63,
                                      random.next(),
                                      layout::load_word(bytes.data() + at) + 1};
      layout::store_word(hostile.data() + at, values[random.below(std::size(values))]);
    }
    const auto chunk = decode_chunk(kChunkExtent, resealed(hostile));
    if (!chunk.ok()) continue;
    ++decoded;
    for (const ChunkSection& section : chunk->sections) {
      for (const ChunkPlace& place : section.places) {
        REQUIRE(place.offset >= section.block.offset);
        REQUIRE(place.offset - section.block.offset + section.shape.record_bytes <= section.block.bytes);
        REQUIRE((place.body.empty() || place.body.size() == section.shape.body_bytes));
      }
    }
  }
  CHECK(decoded > 100);
}

}  // namespace namdb::memory

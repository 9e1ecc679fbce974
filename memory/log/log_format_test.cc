// The bytes of segments, blocks, records and manifests: golden ones, and what is not taken for one.
#include "memory/log/log_format.h"

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/checksum.h"
#include "common/base/random.h"
#include "memory/log/manifest.h"

namespace namdb::memory {
namespace log_format_test {

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned>(byte));
    text += digits;
  }
  return text;
}

const LogIdentity kIdentity{0x1122334455667788, {0xd0d1d2d3d4d5d6d7, 3}};

TEST_CASE("the bytes of a segment's header, a block and a record are these") {
  const PageBuffer page(kDiskPage_bytes);
  write_segment_header({kIdentity, 5, 64U << 20}, page.span());
  CHECK(hex(page.span().subspan(8, 48)) ==
        "010000004745534e"
        "8877665544332211"
        "d7d6d5d4d3d2d1d0"
        "0300000000000000"
        "0500000000000000"
        "0000000400000000");

  const PageBuffer block(kDiskPage_bytes);
  const std::string text = "twelve bytes";
  write_record_header({7, static_cast<std::uint32_t>(text.size())}, block.data() + kBlockHeader_bytes);
  std::memcpy(block.data() + kBlockHeader_bytes + kRecordHeader_bytes, text.data(), text.size());
  BlockHeader header;
  header.place = 0x5001000;
  header.sequence = 9;
  header.previous = 0xabcdef;
  header.position = 0x300;
  header.continued_bytes = 0;
  header.payload_bytes = 24;
  const std::uint64_t checksum = seal_block(kIdentity.log_id, header, block.span());
  CHECK(hex(block.span().subspan(8, 80)) ==
        "180000004b4c424e"
        "8877665544332211"
        "0010000500000000"
        "0900000000000000"
        "efcdab0000000000"
        "0003000000000000"
        "0000000000000000"
        "0c0000000700524e"
        "7477656c76652062"
        "7974657300000000");
  CHECK(checksum == 0x6c4a649653a4d706);
  const auto certified = certify_block(kIdentity.log_id, header.place, block.span());
  REQUIRE(certified);
  CHECK(certified->checksum == checksum);
  CHECK(certified->header.position == 0x300);
  CHECK(certified->payload.size() == 24);
}

TEST_CASE("a block of another log or place is refused") {
  const PageBuffer block(kDiskPage_bytes);
  BlockHeader header;
  header.place = 0x2000;
  header.payload_bytes = 16;
  seal_block(1, header, block.span());
  CHECK(block_bytes_at(1, 0x2000, block.span(), kDiskPage_bytes) == kDiskPage_bytes);
  CHECK(block_bytes_at(2, 0x2000, block.span(), kDiskPage_bytes) == 0);
  CHECK(block_bytes_at(1, 0x3000, block.span(), kDiskPage_bytes) == 0);
  CHECK(certify_block(1, 0x2000, block.span()));
  CHECK_FALSE(certify_block(2, 0x2000, block.span()));
  CHECK_FALSE(certify_block(1, 0x3000, block.span()));
}

TEST_CASE("every flipped bit of a block's header and payload shows") {
  const PageBuffer block(kDiskPage_bytes);
  BlockHeader header;
  header.place = 0x2000;
  header.payload_bytes = 40;
  seal_block(1, header, block.span());
  for (std::uint64_t bit = 0; bit < (kBlockHeader_bytes + 40) * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1U << bit % 8)};
    block.data()[bit / 8] ^= mask;
    const bool whole = block_bytes_at(1, 0x2000, block.span(), kDiskPage_bytes) == kDiskPage_bytes &&
                       certify_block(1, 0x2000, block.span());
    CHECK_FALSE(whole);
    block.data()[bit / 8] ^= mask;
  }
}

TEST_CASE("a segment's header that is damaged or newer is refused by name") {
  const PageBuffer page(kDiskPage_bytes);
  write_segment_header({kIdentity, 5, 64U << 20}, page.span());
  REQUIRE(read_segment_header("a/segment", page.span()).ok());
  CHECK(read_segment_header("a/segment", page.span())->identity == kIdentity);
  for (std::uint64_t bit = 0; bit < 64 * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1U << bit % 8)};
    page.data()[bit / 8] ^= mask;
    CHECK_FALSE(read_segment_header("a/segment", page.span()).ok());
    page.data()[bit / 8] ^= mask;
  }
  page.data()[8] = std::byte{2};
  const std::uint64_t checksum = checksum64(page.span().subspan(8, 56), 0x4e534547);
  std::memcpy(page.data(), &checksum, 8);
  const Result<SegmentHeader> newer = read_segment_header("a/segment", page.span());
  REQUIRE_FALSE(newer.ok());
  CHECK(newer.status().code() == ErrorCode::configuration);
  CHECK(newer.status().message() == "a/segment has format 2 of the log, and this program knows 1");
}

TEST_CASE("a manifest and a chunk are read back, and no flipped bit of either passes") {
  Manifest manifest;
  manifest.identity = kIdentity;
  manifest.generation = 4;
  manifest.redo_from = 0x1234;
  manifest.chunks = {{0x10, 3, 100, 7}, {0x20, 4, 200, 8}};
  manifest.state.assign(13, std::byte{0x5a});
  const PageBuffer file = write_manifest(manifest);
  const Result<Manifest> read = read_manifest("a/manifest", file.span());
  REQUIRE(read.ok());
  CHECK(read.value().chunks == manifest.chunks);
  CHECK(read.value().state == manifest.state);
  CHECK(read.value().find(0x20)->checksum == 8);
  CHECK(read.value().find(0x18) == nullptr);
  for (std::uint64_t bit = 0; bit < (72 + 64 + 13) * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1U << bit % 8)};
    file.data()[bit / 8] ^= mask;
    CHECK_FALSE(read_manifest("a/manifest", file.span()).ok());
    file.data()[bit / 8] ^= mask;
  }

  ChunkRef ref{0x30, 6, 50, 0};
  const std::vector<std::byte> payload(50, std::byte{0x11});
  const PageBuffer chunk = write_chunk(1, ref, payload);
  REQUIRE(read_chunk(1, ref, chunk.span()));
  for (std::uint64_t bit = 0; bit < (kChunkHeader_bytes + 50) * 8; ++bit) {
    const std::byte mask{static_cast<unsigned char>(1U << bit % 8)};
    chunk.data()[bit / 8] ^= mask;
    CHECK_FALSE(read_chunk(1, ref, chunk.span()));
    chunk.data()[bit / 8] ^= mask;
  }
}

TEST_CASE("hostile bytes are no manifest and no block") {
  Random random(7);
  const PageBuffer page(kDiskPage_bytes);
  for (int round = 0; round < 2000; ++round) {
    for (std::size_t i = 0; i < 128; ++i) page.data()[i] = static_cast<std::byte>(random.below(256));
    CHECK_FALSE(read_manifest("a/manifest", page.span()).ok());
    CHECK(block_bytes_at(1, 0, page.span(), kDiskPage_bytes) == 0);
  }
  CHECK(segment_number(segment_name(0xabc)) == 0xabc);
  CHECK_FALSE(segment_number("segment-00000000000000zz"));
  CHECK_FALSE(segment_number("memoryd.log"));
  CHECK(parse_chunk_name(chunk_name(5, 6))->generation == 6);
  CHECK_FALSE(parse_chunk_name("chunk-1-2"));
  CHECK(manifest_generation(manifest_name(9)) == 9);
}

}  // namespace log_format_test
}  // namespace namdb::memory

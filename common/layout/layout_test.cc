#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "common/base/random.h"
#include "common/layout/bucket.h"
#include "common/layout/record.h"
#include "common/layout/record_trailer.h"
#include "common/layout/region_map.h"
#include "common/layout/stamp.h"

namespace namdb::layout {
namespace {

std::vector<std::byte> sealed_body(GlobalAddress address, const BodyHeader& header) {
  std::vector<std::byte> body(kBodyPrefix_bytes + 16);
  for (std::size_t i = 0; i < 16; ++i) body[kBodyPrefix_bytes + i] = static_cast<std::byte>(i);
  seal_body(body, address, header);
  return body;
}

}  // namespace

TEST_CASE("a header word gives back its fields, at their extremes too", "[layout]") {
  const Stamp stamp{kMaxSlot, kMaxCounter};
  const HeaderWord word(stamp, true, true, true);
  CHECK(word.value() == ~std::uint64_t{0});
  CHECK(word.stamp() == stamp);
  CHECK(HeaderWord(Stamp{1, 2}).value() == 0x0000'0008'0000'0010ULL);
  CHECK_FALSE(HeaderWord(Stamp{1, 2}).locked());
  CHECK(HeaderWord(Stamp{1, 2}).with_moved().moved());
}

TEST_CASE("the bytes of a body are as format version 1 has them", "[layout]") {
  const auto body = sealed_body(GlobalAddress(3, 4096), {.stamp = {17, 5},
                                                         .deleted = true,
                                                         .displaced = HeaderWord(Stamp{16, 9}),
                                                         .table = 7,
                                                         .incarnation = 0xabcdef,
                                                         .ring_slot = 2});
  CHECK(load_word(body.data()) == ((17ULL << 35) | (5 << 3) | 2));
  CHECK(load_word(body.data() + 8) == ((16ULL << 35) | (9 << 3)));
  CHECK(load_word(body.data() + 16) == 0x00000007'abcdef'02ULL);
  CHECK(load_word(body.data() + 24) == 0x13c8d757f17cf044ULL);
}

TEST_CASE("a body certifies only whole and only at its own address", "[layout]") {
  const GlobalAddress address(0, 8192);
  auto body = sealed_body(address, {.stamp = {20, 1}, .table = 3});
  REQUIRE(certify_body(body, address));
  CHECK_FALSE(certify_body(body, address + 64));
  for (std::size_t word = 0; word < body.size(); word += 8) {
    auto torn = body;
    store_word(torn.data() + word, load_word(torn.data() + word) + 1);
    CHECK_FALSE(certify_body(torn, address));
  }
  const BodyHeader header = decode_body_header(body.data());
  CHECK(header.birth());
  CHECK(header.header_word() == HeaderWord(Stamp{20, 1}));
}

TEST_CASE("the parts of a record do not overlap and fill it", "[layout]") {
  const RecordLayout layout{.payload_bytes = 24, .ring_slots = 3};
  CHECK(layout.body_bytes() == 56);
  CHECK(overflow_head_offset(layout) == 64);
  CHECK(layout.ring_header_offset(0) == 72);
  CHECK(layout.locked_bytes() == layout.ring_header_offset(3));
  CHECK(layout.ring_payload_offset(0) == layout.locked_bytes());
  CHECK(layout.record_bytes() % 64 == 0);
  CHECK(layout.record_bytes() >= layout.ring_payload_offset(3));
}

TEST_CASE("a new record's ring is free and its header word is its body's stamp", "[layout]") {
  const RecordLayout layout{.payload_bytes = 16, .ring_slots = 2};
  std::vector<std::byte> record(layout.locked_bytes(), std::byte{0xff});
  const auto body = sealed_body(GlobalAddress(0, 64), {.stamp = {20, 1}, .table = 3});
  std::memcpy(record.data() + 8, body.data(), body.size());
  frame_new_record(record, layout);
  CHECK(HeaderWord(load_word(record.data())) == HeaderWord(Stamp{20, 1}));
  CHECK(load_word(record.data() + overflow_head_offset(layout)) == 0);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const HeaderWord ring(load_word(record.data() + layout.ring_header_offset(i)));
    CHECK(ring.moved());
    CHECK(ring.stamp().none());
  }
}

TEST_CASE("reader words lie behind the word of the waiter, and nobody has those of a new record",
          "[layout]") {
  const RecordLayout layout{.payload_bytes = 16, .reader_words = kReaderWords};
  CHECK(layout.reader_offset(0) == waiter_offset(layout) + 8);
  CHECK(layout.locked_bytes() == layout.reader_offset(kReaderWords));
  CHECK(layout.record_bytes() >= layout.locked_bytes());
  std::vector<std::byte> record(layout.locked_bytes(), std::byte{0xff});
  const auto body = sealed_body(GlobalAddress(0, 64), {.stamp = {20, 1}, .table = 3});
  std::memcpy(record.data() + 8, body.data(), body.size());
  frame_new_record(record, layout);
  for (std::uint32_t i = 0; i < kReaderWords; ++i)
    CHECK(load_word(record.data() + layout.reader_offset(i)) == 0);
}

TEST_CASE("a bucket certifies whatever its lock word is, and only whole", "[layout]") {
  Bucket bucket{};
  bucket.table = 9;
  bucket.entries[4] = BucketEntry::make(123, 4096, 0x12345);
  bucket.seal(GlobalAddress(1, 192));
  bucket.lock_word = 77;
  CHECK(bucket.certified(GlobalAddress(1, 192)));
  CHECK_FALSE(bucket.certified(GlobalAddress(0, 192)));
  CHECK(bucket.entries[4].offset() == 4096);
  CHECK(bucket.entries[4].incarnation() == 0x2345);
  bucket.next_offset = 8;
  CHECK_FALSE(bucket.certified(GlobalAddress(1, 192)));
}

TEST_CASE("hashes of random keys spread evenly over the buckets", "[layout]") {
  std::vector<int> counts(100);
  for (std::uint64_t key = 0; key < 100'000; ++key) {
    const std::uint64_t hash = hash_key(1, std::as_bytes(std::span(&key, 1)));
    ++counts.at(bucket_index(hash, counts.size()));
  }
  for (const int count : counts) CHECK(std::abs(count - 1000) < 200);
}

TEST_CASE("doubling a server's buckets sends chain i to chains 2i and 2i + 1 and no key to another server",
          "[layout]") {
  for (const std::uint64_t servers : {1U, 2U, 3U, 7U}) {
    for (const std::uint64_t count : {1U, 5U, 64U, 1001U}) {
      const BucketArray before{192, count, 4};
      const BucketArray after = before.doubled(8192);
      CHECK(after == BucketArray{8192, 2 * count, 5});
      for (std::uint64_t key = 0; key < 1000; ++key) {
        const std::uint64_t hash =
            key == 0 ? ~std::uint64_t{0} : hash_key(1, std::as_bytes(std::span(&key, 1)));
        const std::uint64_t index = before.index_of(hash, servers);
        REQUIRE(index < count);
        REQUIRE(bucket_index(hash, servers * count) == bucket_index(hash, servers) * count + index);
        REQUIRE(after.index_of(hash, servers) / 2 == index);
      }
    }
  }
}

TEST_CASE("a forward has no entry and names the array that it leads to", "[layout]") {
  Bucket bucket = Bucket::forward(9, 3, 4096);
  bucket.seal(GlobalAddress(1, 192));
  CHECK(bucket.certified(GlobalAddress(1, 192)));
  CHECK(bucket.forwarded());
  CHECK(bucket.forward_base() == 4096);
  for (const BucketEntry& entry : bucket.entries) CHECK(entry.free());
  bucket.next_offset = 4096;
  CHECK_FALSE(bucket.forwarded());
}

TEST_CASE("a region map certifies only its own format version", "[layout]") {
  RegionMap map{};
  map.magic = kRegionMagic;
  map.format_version = kRegionFormatVersion;
  map.epoch = 5;
  map.seal();
  CHECK(map.certified());
  map.format_version = kRegionFormatVersion - 1;
  map.seal();
  CHECK_FALSE(map.certified());
}

}  // namespace namdb::layout

// Bytes that no memory server would hold: random ones, and random ones that certify, so that they are
// examined.
#pragma once

#include <cstring>
#include <vector>

#include "common/base/checksum.h"
#include "common/base/random.h"
#include "common/layout/record_trailer.h"
#include "compute/testing/bytes.h"

namespace namdb::protocol::testing {

// Words near to valid ones, and any others.
inline std::uint64_t hostile_word(Random& random) {
  switch (random.below(8)) {
    case 0:
      return 0;
    case 1:
      return ~std::uint64_t{0} - random.below(1024);
    case 2:
      return random.below(kRegion_bytes);
    case 3:
      return random.below(kRegion_bytes / 8) * 8;
    case 4:
      return kRegion_bytes - 8 * random.below(64);
    case 5:
      return std::uint64_t{1} << random.below(64);
    case 6:
      return std::uint64_t{random.below(20)} << 48 | random.below(kRegion_bytes / 8) * 8;
    default:
      return random.next();
  }
}

class Fuzzer {
 public:
  Fuzzer(TestWorker& worker, Random& random)
      : worker_(worker), table_(*worker.table), bytes_(worker), random_(random) {}

  void scribble(layout::GlobalAddress address, std::size_t length_bytes) {
    for (std::size_t at = 0; at < length_bytes; at += 8) bytes_.word(address + at, hostile_word(random_));
  }
  // A bucket with any content that certifies, mostly of the table and its generation.
  void bucket(layout::GlobalAddress address) {
    layout::Bucket bucket{};
    bucket.lock_word = hostile_word(random_);
    bucket.table = random_.chance(0.95) ? kTable : 8;
    bucket.generation = kGeneration + static_cast<std::uint32_t>(random_.below(20) == 0);
    bucket.next_offset = random_.chance(0.3) ? 0 : random_.chance(0.5) ? place() : hostile_word(random_);
    for (layout::BucketEntry& entry : bucket.entries) {
      const std::uint64_t location = random_.chance(0.5) ? place() : hostile_word(random_);
      if (random_.chance(0.4)) continue;
      entry = {random_.chance(0.4) ? bytes_.hash(1) : hostile_word(random_), location};
      if (random_.chance(0.8)) entry = layout::BucketEntry::make(entry.key_hash, entry.offset(), 0x105);
    }
    bytes_.put(address, bucket);
  }
  // A body with any content that certifies, mostly of the table and with the key.
  void record(layout::GlobalAddress address) {
    const std::uint32_t body_bytes = table_.record.body_bytes();
    scribble(address, 8 + body_bytes);
    std::vector<std::byte> body(body_bytes);
    std::memcpy(body.data(), worker_.fabric.at(address + 8), body.size());
    if (random_.chance(0.8)) {
      const layout::Row row = row_of(table_, 1, 1);
      std::ranges::copy(row.bytes(), body.begin() + layout::kBodyPrefix_bytes);
    }
    const layout::HeaderWord stamp(hostile_word(random_));
    layout::seal_body(
        body, address,
        {.stamp = stamp.stamp(),
         .deleted = random_.chance(0.2),
         .displaced = layout::HeaderWord(hostile_word(random_)),
         .table = kTable,
         .incarnation = random_.chance(0.8) ? 0x105U : 0x106U,
         .ring_slot = static_cast<std::uint32_t>(random_.below(random_.chance(0.8) ? 5 : 128))});
    bytes_.write(address + 8, body);
    old_versions(address, body);
  }

 private:
  // A ring of random versions, now and then of the body's; and links to anywhere.
  void old_versions(layout::GlobalAddress record, const std::vector<std::byte>& body) {
    const layout::RecordLayout& layout = table_.record;
    scribble(record + layout::overflow_head_offset(layout), layout::versions_bytes(layout));
    if (random_.chance(0.5)) return;
    const layout::BodyHeader current = layout::decode_body_header(body.data());
    if (current.ring_slot >= layout.ring_slots) return;
    std::vector<std::byte> older = body;
    layout::seal_body(older, record,
                      {.stamp = current.displaced.stamp(),
                       .displaced = layout::HeaderWord(hostile_word(random_)),
                       .table = kTable,
                       .incarnation = current.incarnation,
                       .ring_slot = static_cast<std::uint32_t>(random_.below(layout.ring_slots + 1))});
    std::vector<std::byte> image = older;
    if (random_.chance(0.5)) nonsense_change(record, older, image);
    bytes_.write(record + layout.ring_payload_offset(current.ring_slot), image);
  }
  // A change that certifies as an image: its runs are anything.
  void nonsense_change(layout::GlobalAddress record, const std::vector<std::byte>& older,
                       std::vector<std::byte>& image) {
    for (std::size_t at = layout::kImageRuns_offset; at + 8 <= image.size(); at += 8)
      layout::store_word(image.data() + at, hostile_word(random_));
    std::memcpy(image.data(), older.data(), layout::kBodyPrefix_bytes);
    layout::store_word(image.data() + layout::kBodyMeta_offset,
                       layout::load_word(image.data() + layout::kBodyMeta_offset) | layout::kChange_bit);
    layout::store_word(image.data() + layout::kImageLength_offset, image.size());
    const std::span<const std::byte> bytes(image);
    layout::store_word(image.data() + layout::kImageChecksum_offset,
                       checksum64(bytes.subspan(layout::kImageLength_offset),
                                  checksum64(bytes.first(layout::kBodyPrefix_bytes), record.value)));
  }
  std::uint64_t place() {
    return random_.chance(0.5) ? kRecord.offset() : random_.chance(0.5) ? kBucketBehind.offset() : 0x50000;
  }

  TestWorker& worker_;
  const storage::Table& table_;
  Bytes bytes_;
  Random& random_;
};

// The bucket chain of the key 1, its records, and their old versions.
inline void fill_with_hostile_bytes(TestWorker& worker, Random& random) {
  Fuzzer fuzzer(worker, random);
  for (const layout::GlobalAddress bucket : {Bytes(worker).main_bucket(1), kBucketBehind}) {
    if (random.chance(0.9)) {
      fuzzer.bucket(bucket);
    } else {
      fuzzer.scribble(bucket, layout::kBucket_bytes);
    }
  }
  for (const layout::GlobalAddress record : {kRecord, kOtherRecord}) {
    if (random.chance(0.9)) {
      fuzzer.record(record);
    } else {
      fuzzer.scribble(record, 512);
    }
  }
}

}  // namespace namdb::protocol::testing

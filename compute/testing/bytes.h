// The bytes of records, their old versions and buckets, as memory servers have them: written with
// common/layout, so that a test describes each in a line.
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "common/layout/bucket.h"
#include "common/layout/overflow_group.h"
#include "common/layout/record.h"
#include "common/layout/record_trailer.h"
#include "common/layout/row.h"
#include "common/layout/version_image.h"
#include "compute/testing/test_worker.h"

namespace namdb::protocol::testing {

// Addresses on memory server 0 that nothing else uses.
inline constexpr layout::GlobalAddress kRecord(0, 0x40000);
inline constexpr layout::GlobalAddress kOtherRecord(0, 0x50000);
inline constexpr layout::GlobalAddress kBucketBehind(0, 0x30000);
inline constexpr layout::GlobalAddress kBucketBehindThat(0, 0x31000);
inline constexpr std::uint64_t kGroup_offset = 0x60000;
inline constexpr std::uint64_t kOlderGroup_offset = 0x70000;
inline constexpr std::uint64_t kNextArray_offset = 0x20000;
inline constexpr std::uint64_t kNextButOneArray_offset = 0x24000;

constexpr layout::HeaderWord free_word(layout::Stamp stamp) {
  return layout::HeaderWord(stamp);
}
constexpr layout::HeaderWord tombstone_word(layout::Stamp stamp) {
  return layout::HeaderWord(stamp, true);
}
constexpr layout::HeaderWord lock_word(layout::Stamp stamp) {
  return layout::HeaderWord(stamp, false, true);
}

// One version of the row with that key.
struct Version {
  layout::Stamp stamp{16, 10};
  std::int64_t value = 0;
  layout::Stamp displaced{};  // none: the birth marker
  bool deleted = false;
  std::uint64_t timestamp = 0;  // where versions have one; then nothing says what was displaced
  std::uint32_t ring_slot = 0;
  std::uint32_t incarnation = 0x20105;
  std::int64_t key = 1;
  std::uint32_t table = kTable;
};

inline layout::Row row_of(const storage::Table& table, std::int64_t key, std::int64_t value) {
  layout::Row row(table.schema);
  REQUIRE(row.writer().set_integer(0, key).ok());
  REQUIRE(row.writer().set_integer(1, value).ok());
  return row;
}

inline std::vector<std::byte> key_of(const storage::Table& table, std::int64_t key) {
  const layout::Row row = row_of(table, key, 0);
  return {row.key().begin(), row.key().end()};
}

inline std::int64_t value_of(const storage::Table& table, std::span<const std::byte> payload) {
  return layout::RowView(table.schema, payload).integer(1);
}

inline layout::BodyHeader header_of(const storage::Table& table, const Version& version) {
  const bool timestamps = table.record.timestamps;
  return {
      .stamp = version.stamp,
      .deleted = version.deleted,
      .displaced = timestamps ? layout::HeaderWord(version.timestamp) : layout::HeaderWord(version.displaced),
      .table = version.table,
      .incarnation = version.incarnation,
      .ring_slot = version.ring_slot};
}

inline std::vector<std::byte> body_of(const storage::Table& table, layout::GlobalAddress record,
                                      const Version& version) {
  std::vector<std::byte> body(table.record.body_bytes());
  const layout::Row row = row_of(table, version.key, version.value);
  std::ranges::copy(row.bytes(), body.begin() + layout::kBodyPrefix_bytes);
  layout::seal_body(body, record, header_of(table, version));
  return body;
}

// Bytes of one table on a worker's memory servers.
class Bytes {
 public:
  explicit Bytes(TestWorker& worker) : worker_(worker), table_(*worker.table) {}

  void write(layout::GlobalAddress address, std::span<const std::byte> bytes) {
    std::memcpy(worker_.fabric.at(address), bytes.data(), bytes.size());
  }
  void word(layout::GlobalAddress address, std::uint64_t value) { worker_.fabric.set_word(address, value); }
  std::uint64_t word(layout::GlobalAddress address) { return worker_.fabric.word(address); }
  layout::HeaderWord header(layout::GlobalAddress address) { return layout::HeaderWord(word(address)); }

  // --- records ---
  void record(layout::GlobalAddress record, const Version& version) {
    this->record(record, header_of(table_, version).header_word(), version);
  }
  void record(layout::GlobalAddress record, layout::HeaderWord header, const Version& version) {
    word(record, header.value());
    write(record + 8, body_of(table_, record, version));
  }
  // Half of one version, half of another: no valid body.
  void torn_record(layout::GlobalAddress record, layout::HeaderWord header, std::int64_t mark = 1) {
    this->record(record, header, {.value = 41});
    word(record + 8 + layout::kBodyPrefix_bytes + 16, 0x7042 + static_cast<std::uint64_t>(mark));
  }
  void lease(layout::GlobalAddress record, std::uint64_t timestamp) {
    word(record + layout::lease_offset(table_.record), timestamp);
  }
  std::uint64_t lease(layout::GlobalAddress record) {
    return word(record + layout::lease_offset(table_.record));
  }
  // The old version in that ring slot, as a whole.
  void ring(layout::GlobalAddress record, std::uint32_t slot, const Version& version) {
    write(record + table_.record.ring_payload_offset(slot), body_of(table_, record, version));
    word(record + table_.record.ring_header_offset(slot), header_of(table_, version).header_word().value());
  }
  void overflow_head(layout::GlobalAddress record, layout::OverflowLink link) {
    word(record + layout::overflow_head_offset(table_.record), link.word());
  }
  layout::OverflowLink link(std::uint64_t group_offset, std::uint32_t place) const {
    return {group_offset, place, entry_bytes()};
  }
  // At that place of the group; `next` counts in the first place only.
  void overflow(std::uint64_t group_offset, std::uint32_t place, layout::OverflowLink next,
                layout::GlobalAddress record, const Version& version) {
    const layout::GlobalAddress entry(0, group_offset + std::uint64_t{place} * entry_bytes());
    word(entry + layout::kOverflowNext_offset, next.word());
    word(entry + layout::kOverflowStamp_offset, header_of(table_, version).header_word().value());
    write(entry + layout::kOverflowBody_offset, body_of(table_, record, version));
  }
  std::uint32_t entry_bytes() const { return layout::overflow_entry_bytes(table_.record.body_bytes()); }

  // --- buckets ---
  struct BucketOf {
    layout::HeaderWord lock = free_word({16, 1});
    std::vector<layout::BucketEntry> entries;
    std::uint64_t next_offset = 0;
    std::uint32_t table = kTable;
    std::uint32_t generation = kGeneration;
  };
  void bucket(layout::GlobalAddress address, const BucketOf& content) {
    layout::Bucket bucket{};
    bucket.lock_word = content.lock.value();
    bucket.table = content.table;
    bucket.generation = content.generation;
    bucket.next_offset = content.next_offset;
    std::ranges::copy(content.entries, bucket.entries.begin());
    put(address, bucket);
  }
  void forward(layout::GlobalAddress address, std::uint64_t base_offset, layout::HeaderWord lock,
               std::uint32_t generation = kGeneration) {
    layout::Bucket bucket = layout::Bucket::forward(kTable, generation, base_offset);
    bucket.lock_word = lock.value();
    put(address, bucket);
  }
  // Seals it.
  void put(layout::GlobalAddress address, layout::Bucket bucket) {
    bucket.seal(address);
    write(address, std::as_bytes(std::span(&bucket, 1)));
  }
  // A changed word, not sealed again.
  void tear_bucket(layout::GlobalAddress address, std::uint64_t mark = 1) {
    word(address + offsetof(layout::Bucket, entries) + 8, 0x7042 + mark);
  }
  layout::Bucket bucket_at(layout::GlobalAddress address) {
    layout::Bucket bucket{};
    std::memcpy(&bucket, worker_.fabric.at(address), sizeof bucket);
    return bucket;
  }

  std::uint64_t hash(std::int64_t key) const { return table_.hash_of(key_of(table_, key)); }
  // The main bucket of a key, in the table's array or a later one of twice the size, and so on.
  layout::GlobalAddress main_bucket(std::int64_t key) const { return main_bucket(key, table_.arrays[0]); }
  layout::GlobalAddress main_bucket(std::int64_t key, const layout::BucketArray& array) const {
    return {0, array.bucket_offset(array.index_of(hash(key), table_.arrays.size()))};
  }
  layout::BucketEntry entry(std::int64_t key, layout::GlobalAddress record,
                            std::uint32_t incarnation = Version().incarnation) const {
    return layout::BucketEntry::make(hash(key), record.offset(), incarnation);
  }
  // A bucket full of entries of other keys.
  static std::vector<layout::BucketEntry> others(std::size_t count = layout::kBucketEntries) {
    std::vector<layout::BucketEntry> entries;
    for (std::size_t i = 0; i < count; ++i)
      entries.push_back(layout::BucketEntry::make(1000 + i, kOtherRecord.offset(), 1));
    return entries;
  }

 private:
  TestWorker& worker_;
  const storage::Table& table_;
};

}  // namespace namdb::protocol::testing

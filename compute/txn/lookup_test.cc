#include "compute/txn/lookup.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/testing/lookup_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;
using layout::Stamp;

constexpr Stamp kSomebody{30, 7};

struct LookupRow {
  const char* name;
  std::function<void(LookupScene&)> put;  // bytes, and what is done to them before later READs
  std::string decision;
  std::uint32_t looks = 1;  // at what is being written
};

// Each row decides alike where the memory server looks for the record.
void check(const std::vector<LookupRow>& rows, const std::function<void(LookupScene&)>& start) {
  for (const char* const stages : {"one-sided", "find"}) {
    for (const LookupRow& row : rows) {
      INFO(row.name << ", " << stages);
      LookupScene scene({.stages = stages});
      row.put(scene);
      start(scene);
      CHECK(scene.run(row.looks) == row.decision);
      CHECK(scene.worker.fabric.outside() == 0);
    }
  }
}

// Before each of the next READs the bytes are others.
void keep_changing(LookupScene& scene, const std::function<void(std::uint64_t)>& change) {
  for (std::uint64_t i = 0; i < 40; ++i) scene.worker.fabric.before_batch(i, [change, i] { change(i); });
}

}  // namespace

TEST_CASE("buckets and what a lookup by key decides", "[lookup]") {
  const std::vector<LookupRow> rows = {
      {"an entry leads to the record", [](LookupScene& s) { s.stored({.value = 41}); }, "present 41"},
      {"no entry in the only bucket: absent",
       [](LookupScene& s) { s.bytes.bucket(s.bytes.main_bucket(1), {.entries = Bytes::others(3)}); },
       "absent, chain of 1"},
      {"an entry in the second bucket leads to the record",
       [](LookupScene& s) {
         s.stored({.value = 42});
         s.bytes.bucket(s.bytes.main_bucket(1),
                        {.entries = Bytes::others(), .next_offset = kBucketBehind.offset()});
         s.bytes.bucket(kBucketBehind, {.entries = {s.bytes.entry(1, kRecord)}});
       },
       "present 42"},
      {"absent needs the end of the chain",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.next_offset = kBucketBehind.offset()});
         s.bytes.bucket(kBucketBehind, {.next_offset = kBucketBehindThat.offset()});
         s.bytes.bucket(kBucketBehindThat, {});
       },
       "absent, chain of 3"},
      {"a half-written bucket is waited for, with the chain's lock",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.lock = lock_word(kSomebody)});
         s.bytes.tear_bucket(s.bytes.main_bucket(1));
       },
       "waits for chain 30.7 locked"},
      {"a half-written bucket behind the first: the lock is that of the chain",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1),
                        {.lock = lock_word(kSomebody), .next_offset = kBucketBehind.offset()});
         s.bytes.bucket(kBucketBehind, {});
         s.bytes.tear_bucket(kBucketBehind);
       },
       "waits for chain 30.7 locked"},
      {"a half-written bucket that is not locked is read again",
       [](LookupScene& s) { s.bytes.tear_bucket(s.bytes.main_bucket(1)); }, "reads again"},
      {"the same half of a bucket, not locked, seven times: it may be written yet",
       [](LookupScene& s) { s.bytes.tear_bucket(s.bytes.main_bucket(1)); }, "reads again",
       SteadyBytes::kLooks - 1},
      {"the same half of a bucket, not locked, eight times: damaged",
       [](LookupScene& s) { s.bytes.tear_bucket(s.bytes.main_bucket(1)); }, "damaged", SteadyBytes::kLooks},
      {"halves that differ from READ to READ are not damage",
       [](LookupScene& s) {
         const GlobalAddress main = s.bytes.main_bucket(1);
         keep_changing(s, [&s, main](std::uint64_t i) { s.bytes.tear_bucket(main, i); });
       },
       "reads again", 30},
      {"a half-written bucket is not damage while another transaction holds the chain",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.lock = lock_word(kSomebody)});
         s.bytes.tear_bucket(s.bytes.main_bucket(1));
       },
       "waits for chain 30.7 locked", 30},
      {"a bucket that was locked in between has eight looks again",
       [](LookupScene& s) {
         const GlobalAddress main = s.bytes.main_bucket(1);
         s.bytes.tear_bucket(main);
         s.worker.fabric.before_batch(6, [&s, main] { s.bytes.word(main, lock_word(kSomebody).value()); });
         s.worker.fabric.before_batch(7, [&s, main] { s.bytes.word(main, 0); });
       },
       "reads again", 14},
      {"a damaged bucket behind the first is damage, though the chain is begun again on the way",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.next_offset = kBucketBehind.offset()});
         s.bytes.tear_bucket(kBucketBehind);
       },
       "damaged", 30},
      {"a bucket certifies at its own address only",
       [](LookupScene& s) {
         s.stored({.value = 41});
         const layout::Bucket other = s.bytes.bucket_at(s.bytes.main_bucket(1));
         s.bytes.bucket(kBucketBehind, {});
         s.bytes.write(kBucketBehind, std::as_bytes(std::span(&other, 1)));
         s.bytes.bucket(s.bytes.main_bucket(1), {.next_offset = kBucketBehind.offset()});
       },
       "reads again"},
      {"a bucket of another table: this one is gone",
       [](LookupScene& s) { s.bytes.bucket(s.bytes.main_bucket(1), {.table = kTable + 1}); },
       "catalog_changed"},
      {"a bucket of an older generation says nothing about absence",
       [](LookupScene& s) { s.bytes.bucket(s.bytes.main_bucket(1), {.generation = kGeneration - 1}); },
       "catalog_changed"},
      {"a bucket of a later generation says nothing about absence",
       [](LookupScene& s) { s.bytes.bucket(s.bytes.main_bucket(1), {.generation = kGeneration + 1}); },
       "catalog_changed"},
      {"a bucket behind the first has the generation of the chain, or it is another chain's",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.next_offset = kBucketBehind.offset()});
         s.bytes.bucket(kBucketBehind, {.generation = kGeneration + 1});
       },
       "catalog_changed"},
      {"an array that was replaced while the READ was under way is left before its bytes are examined",
       [](LookupScene& s) {
         s.bytes.tear_bucket(s.bytes.main_bucket(1));
         const layout::BucketArray next = s.table.arrays[0].doubled(kNextArray_offset);
         s.bytes.bucket(s.bytes.main_bucket(1, next),
                        {.entries = {s.bytes.entry(1, kRecord)}, .generation = next.generation});
         s.bytes.record(kRecord, {.value = 43});
         s.worker.fabric.before_batch(0, [&s, next] { s.table.arrays[0] = next; });
       },
       "present 43"},
      {"a forward leads to the chain in the array of twice the size",
       [](LookupScene& s) {
         const layout::BucketArray next = s.table.arrays[0].doubled(kNextArray_offset);
         s.bytes.forward(s.bytes.main_bucket(1), kNextArray_offset, free_word({1, 3}));
         s.bytes.bucket(s.bytes.main_bucket(1, next),
                        {.entries = {s.bytes.entry(1, kRecord)}, .generation = next.generation});
         s.bytes.record(kRecord, {.value = 44});
       },
       "present 44"},
      {"a chain that was forwarded twice is followed twice",
       [](LookupScene& s) {
         const layout::BucketArray next = s.table.arrays[0].doubled(kNextArray_offset);
         const layout::BucketArray last = next.doubled(kNextButOneArray_offset);
         s.bytes.forward(s.bytes.main_bucket(1), kNextArray_offset, free_word({1, 3}));
         s.bytes.forward(s.bytes.main_bucket(1, next), kNextButOneArray_offset, free_word({1, 4}),
                         next.generation);
         s.bytes.bucket(s.bytes.main_bucket(1, last), {.generation = last.generation});
       },
       "absent, chain of 1"},
      {"a forward does not lead into an array of the same generation",
       [](LookupScene& s) {
         const layout::BucketArray next = s.table.arrays[0].doubled(kNextArray_offset);
         s.bytes.forward(s.bytes.main_bucket(1), kNextArray_offset, free_word({1, 3}));
         s.bytes.bucket(s.bytes.main_bucket(1, next), {.generation = kGeneration});
       },
       "catalog_changed"},
      {"a forward that leads out of the region is corrupt",
       [](LookupScene& s) { s.bytes.forward(s.bytes.main_bucket(1), kRegion_bytes - 8, {}); },
       "corrupt_data"},
      {"a next bucket between two words is corrupt",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.next_offset = kBucketBehind.offset() + 4});
       },
       "corrupt_data"},
      {"a next bucket beyond the region is corrupt",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.next_offset = kRegion_bytes - layout::kBucket_bytes + 8});
       },
       "corrupt_data"},
      {"a next bucket whose end goes round is corrupt",
       [](LookupScene& s) { s.bytes.bucket(s.bytes.main_bucket(1), {.next_offset = ~std::uint64_t{7}}); },
       "corrupt_data"},
      {"an entry that leads out of the region is corrupt",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1),
                        {.entries = {s.bytes.entry(1, GlobalAddress(0, kRegion_bytes - 8))}});
       },
       "corrupt_data"},
      {"an entry that leads between two words is corrupt",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1),
                        {.entries = {s.bytes.entry(1, GlobalAddress(0, kRecord.offset() + 4))}});
       },
       "corrupt_data"},
      {"a chain that leads back to itself has no end",
       [](LookupScene& s) {
         const GlobalAddress main = s.bytes.main_bucket(1);
         s.bytes.bucket(main, {.next_offset = main.offset()});
       },
       "corrupt_data"},
      {"a chain of entries with the same values is too long, not corrupt",
       [](LookupScene& s) {
         s.table.schema.chain_by_partition();
         const GlobalAddress main = s.bytes.main_bucket(1);
         s.bytes.bucket(main, {.next_offset = main.offset()});
       },
       "limit_exceeded"},
  };
  check(rows, [](LookupScene& scene) { scene.start(); });
}

TEST_CASE("entries that lead elsewhere, and what a lookup by key decides", "[lookup]") {
  const std::vector<LookupRow> rows = {
      {"another key with the same hash is passed over",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1),
                        {.entries = {s.bytes.entry(1, kOtherRecord), s.bytes.entry(1, kRecord)}});
         s.bytes.record(kOtherRecord, {.value = 1, .key = 2});
         s.bytes.record(kRecord, {.value = 41});
       },
       "present 41"},
      {"another key with the same hash only: absent",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1), {.entries = {s.bytes.entry(1, kOtherRecord)}});
         s.bytes.record(kOtherRecord, {.value = 1, .key = 2});
       },
       "absent, chain of 1"},
      {"another key with the same hash in the first bucket, the key's own in the next",
       [](LookupScene& s) {
         s.bytes.bucket(s.bytes.main_bucket(1),
                        {.entries = {s.bytes.entry(1, kOtherRecord)}, .next_offset = kBucketBehind.offset()});
         s.bytes.bucket(kBucketBehind, {.entries = {s.bytes.entry(1, kRecord)}});
         s.bytes.record(kOtherRecord, {.value = 1, .key = 2});
         s.bytes.record(kRecord, {.value = 45});
       },
       "present 45"},
      {"a record of another incarnation was reclaimed: the chain is read again, and again, with a bound",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.record(kRecord, {.value = 41, .incarnation = Version().incarnation + 1});
       },
       "version_collected"},
      {"a record that was reclaimed since its bucket was read: the chain says that it is gone",
       [](LookupScene& s) {
         s.stored({.value = 41, .incarnation = Version().incarnation + 1});
         s.worker.fabric.before_batch(
             2, [&s] { s.bytes.bucket(s.bytes.main_bucket(1), {.lock = free_word({1, 5})}); });
       },
       "absent, chain of 1"},
      {"a record of another table was reclaimed, whatever its key and incarnation",
       [](LookupScene& s) {
         s.stored({.value = 41});
         s.bytes.record(kRecord, {.value = 41, .table = kTable + 1});
       },
       "version_collected"},
      {"a key that is not in a chain that another transaction holds may be there: the chain is read again",
       [](LookupScene& s) {
         s.visibility().absence_in_locked_chains = false;
         s.bytes.bucket(s.bytes.main_bucket(1), {.lock = lock_word(kSomebody)});
       },
       "waits for chain 30.7 locked"},
      {"a key that is not in a chain that is not locked is not there",
       [](LookupScene& s) {
         s.visibility().absence_in_locked_chains = false;
         s.bytes.bucket(s.bytes.main_bucket(1), {.lock = free_word(kSomebody)});
       },
       "absent, chain of 1"},
      {"a key that is in a chain that another transaction holds is there",
       [](LookupScene& s) {
         s.visibility().absence_in_locked_chains = false;
         s.stored({.value = 46});
         s.bytes.bucket(s.bytes.main_bucket(1),
                        {.lock = lock_word(kSomebody), .entries = {s.bytes.entry(1, kRecord)}});
       },
       "present 46"},
  };
  // The memory server reads the record in the same step as the chain.
  for (const LookupRow& row : rows) {
    INFO(row.name);
    LookupScene scene;
    row.put(scene);
    scene.start();
    CHECK(scene.run(row.looks) == row.decision);
  }
}

TEST_CASE("a lookup of a chain without the key tells all that an insert needs", "[lookup]") {
  LookupScene scene;
  const GlobalAddress main = scene.bytes.main_bucket(1);
  scene.bytes.bucket(main, {.lock = free_word({17, 9}),
                            .entries = {scene.bytes.entry(1, kOtherRecord, 0x0105)},
                            .next_offset = kBucketBehind.offset()});
  scene.bytes.bucket(kBucketBehind, {});
  scene.bytes.record(kOtherRecord, {.incarnation = 0x0105, .key = 2});
  scene.start();
  REQUIRE(scene.run() == "absent, chain of 2");
  const Lookup& lookup = scene.lookup;
  CHECK(std::ranges::equal(lookup.chain(), std::vector{main, kBucketBehind}));
  CHECK(lookup.chain_lock() == free_word({17, 9}));
  CHECK(lookup.array() == scene.table.arrays[0]);
  CHECK(lookup.collisions() == std::vector{scene.bytes.entry(1, kOtherRecord, 0x0105).location});
  REQUIRE(lookup.chain_checksums().size() == 2);
  CHECK(lookup.chain_checksums()[0] == scene.bytes.bucket_at(main).checksum);
  CHECK(lookup.chain_checksums()[1] == scene.bytes.bucket_at(kBucketBehind).checksum);
}

}  // namespace namdb::protocol::testing

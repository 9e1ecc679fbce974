#include "compute/commit/chain_locks.h"

#include <catch2/catch.hpp>
#include <deque>
#include <functional>

#include "compute/testing/lookup_scene.h"
#include "compute/txn/access.h"

namespace namdb::protocol::testing {
namespace {

using layout::BucketEntry;
using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;

constexpr Stamp kCommit{kOwnSlot, 1000};
constexpr Stamp kRival{30, 7};
constexpr HeaderWord kBefore = free_word({16, 1});

// A commit that inserts rows, from its lookups on.
struct ChainScene {
  explicit ChainScene(const TestOptions& options = {})
      : look(options),
        batches(look.worker.cluster),
        chains(look.worker.state, batches, look.worker.counters) {}

  // The row is not there, as its bucket says now.
  Access& insert(std::int64_t key) {
    const std::vector<std::byte> bytes_of_key = key_of(look.table, key);
    Access& access = accesses.emplace_back(look.worker.table, bytes_of_key, look.bytes.hash(key));
    access.lookup.start(look.worker.state, *access.table, access.key, access.key_hash);
    while (!access.lookup.done()) {
      access.lookup.add_read(batches);
      REQUIRE(run().ok());
      access.lookup.advance(look.worker.state, look.visibility());
    }
    REQUIRE(access.lookup.state() == Lookup::State::absent);
    access.write = WriteKind::insert;
    access.image = txn::RowBuffer(look.worker.cluster.pool(), access.table->record.locked_bytes());
    const layout::Row row = row_of(*access.table, key, 100 + key);
    std::ranges::copy(row.bytes(), access.image_row().begin());
    chains.add(access);
    return access;
  }
  Status run() { return look.worker.run(batches.run(look.worker.counters)); }
  // The first look at all locks.
  void lock() {
    REQUIRE(look.worker.run(chains.reserve_space()).ok());
    for (std::size_t i = 0; i < chains.size(); ++i) chains.post(i, kCommit);
    REQUIRE(run().ok());
    chains.check();
  }
  std::string taken(GlobalAddress main) const {
    const auto from = chains.taken_from(main);
    return from ? "from " + words_of(*from) : "no";
  }
  Status retry_and_place() {
    if (Status status = look.worker.run(chains.retry(kCommit)); !status.ok()) return status;
    return look.worker.run(chains.place());
  }
  std::string finish() {
    const Status status = retry_and_place();
    return status.ok() ? "ok" : std::string(status.info().name);
  }
  // The changes that the commit would install.
  void install() {
    for (std::size_t i = 0; i < chains.size(); ++i) chains.build_records(i, kCommit, 0);
    for (std::size_t i = 0; i < chains.size(); ++i) chains.install(i, kCommit);
    REQUIRE(run().ok());
  }
  GlobalAddress main(std::int64_t key) const { return look.bytes.main_bucket(key); }
  // A key of another chain at a higher address than that of the key 1, or at a lower one.
  std::int64_t key_apart(bool behind) const {
    std::int64_t key = 2;
    while (behind ? main(key) <= main(1) : main(key) >= main(1)) REQUIRE(++key < 1000);
    return key;
  }

  LookupScene look;
  txn::BatchSet batches;
  std::deque<Access> accesses;
  ChainLocks chains;
};

struct ChainRow {
  const char* name;
  std::function<void(ChainScene&)> change;  // of the bytes, between the lookup and the lock
  std::string taken;                        // at the first look
  std::string end;
  bool noted = false;  // the rival's lock
};

}  // namespace

TEST_CASE("a chain's bytes behind the CAS, and what its lock decides", "[chains]") {
  // The chain as the lookup saw it: empty, with that lock word.
  const auto content = [](HeaderWord lock, std::vector<BucketEntry> entries = {}) {
    return Bytes::BucketOf{.lock = lock, .entries = std::move(entries)};
  };
  const std::vector<ChainRow> rows = {
      {"the word that the lookup saw: taken", [](ChainScene&) {}, "from 16.1", "ok"},
      {"another commit was there meanwhile: asked for again, from what is there",
       [&](ChainScene& s) { s.look.bytes.bucket(s.main(1), content(free_word({17, 5}))); }, "no", "ok"},
      {"another commit holds it, and goes: waited for",
       [&](ChainScene& s) {
         const GlobalAddress main = s.main(1);
         s.look.bytes.bucket(main, content(lock_word(kRival)));
         s.look.worker.fabric.before_batch(
             20, [&s, main, content] { s.look.bytes.bucket(main, content(free_word(kRival))); });
       },
       "no", "ok", true},
      {"another commit holds it, and aborts: the word is what it was, and the lock is free",
       [&](ChainScene& s) {
         const GlobalAddress main = s.main(1);
         s.look.bytes.word(main, lock_word(kRival).value());
         s.look.worker.fabric.before_batch(5, [&s, main] { s.look.bytes.word(main, kBefore.value()); });
       },
       "no", "ok", true},
      {"another commit holds it and does not go: a conflict, after a while",
       [](ChainScene& s) { s.look.bytes.word(s.main(1), lock_word(kRival).value()); }, "no",
       "serialization_failure", true},
      {"the memory server holds it for a moment: waited for, and not reported",
       [](ChainScene& s) {
         const GlobalAddress main = s.main(1);
         const Stamp collector{layout::kCollectorSlot, 4};
         s.look.bytes.word(main, lock_word(collector).value());
         s.look.worker.fabric.before_batch(
             9, [&s, main, collector] { s.look.bytes.word(main, free_word(collector).value()); });
       },
       "no", "ok"},
      {"behind the own lock a bucket is whole, or damaged",
       [](ChainScene& s) { s.look.bytes.tear_bucket(s.main(1)); }, "from 16.1", "corrupt_data"},
      {"a bucket of another table: this one is gone",
       [](ChainScene& s) { s.look.bytes.bucket(s.main(1), {.lock = kBefore, .table = kTable + 1}); },
       "from 16.1", "catalog_changed"},
      {"a bucket of another generation is of another chain",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.lock = kBefore, .generation = kGeneration + 1});
       },
       "from 16.1", "catalog_changed"},
      {"an entry of the same hash that came since is a rival, though it may be another key's",
       [&](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), content(free_word(kRival), {s.look.bytes.entry(1, kOtherRecord)}));
       },
       "no", "serialization_failure"},
      {"a rival with the lock word of before: words of one READ are of different moments",
       [&](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), content(kBefore, {s.look.bytes.entry(1, kOtherRecord)}));
       },
       "from 16.1", "serialization_failure"},
      {"entries of other keys that came since are no conflict",
       [&](ChainScene& s) { s.look.bytes.bucket(s.main(1), content(free_word(kRival), Bytes::others(9))); },
       "no", "ok"},
      {"the chain has grown since: the rest is read, and a rival there found",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.lock = free_word(kRival), .next_offset = kBucketBehind.offset()});
         s.look.bytes.bucket(kBucketBehind, {.entries = {s.look.bytes.entry(1, kOtherRecord)}});
       },
       "no", "serialization_failure"},
      {"the chain has grown since by a bucket that is half written",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.lock = free_word(kRival), .next_offset = kBucketBehind.offset()});
         s.look.bytes.bucket(kBucketBehind, {});
         s.look.bytes.tear_bucket(kBucketBehind);
       },
       "no", "corrupt_data"},
      {"a chain that leads back to itself has no end",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.lock = kBefore, .next_offset = s.main(1).offset()});
       },
       "from 16.1", "corrupt_data"},
      {"a next bucket beyond the region is corrupt",
       [](ChainScene& s) { s.look.bytes.bucket(s.main(1), {.lock = kBefore, .next_offset = kRegion_bytes}); },
       "from 16.1", "corrupt_data"},
      {"a next bucket between two words is corrupt",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.lock = kBefore, .next_offset = kBucketBehind.offset() + 4});
       },
       "from 16.1", "corrupt_data"},
      {"a next bucket whose end goes round is corrupt",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.lock = kBefore, .next_offset = ~std::uint64_t{7}});
       },
       "from 16.1", "corrupt_data"},
      {"a chain that was forwarded: its rows go on to the next array",
       [](ChainScene& s) {
         const layout::BucketArray next = s.look.table.arrays[0].doubled(kNextArray_offset);
         s.look.bytes.forward(s.main(1), kNextArray_offset, free_word({1, 3}));
         s.look.bytes.bucket(s.look.bytes.main_bucket(1, next), {.generation = next.generation});
       },
       "no", "ok"},
      {"a chain that was forwarded is of no use, locked or not: no wait",
       [](ChainScene& s) {
         const layout::BucketArray next = s.look.table.arrays[0].doubled(kNextArray_offset);
         s.look.bytes.forward(s.main(1), kNextArray_offset, lock_word(kRival));
         s.look.bytes.bucket(s.look.bytes.main_bucket(1, next), {.generation = next.generation});
       },
       "no", "ok"},
      {"a forward is followed to a chain of a later generation only",
       [](ChainScene& s) {
         const layout::BucketArray next = s.look.table.arrays[0].doubled(kNextArray_offset);
         s.look.bytes.forward(s.main(1), kNextArray_offset, free_word({1, 3}));
         s.look.bytes.bucket(s.look.bytes.main_bucket(1, next), {.generation = kGeneration});
       },
       "no", "catalog_changed"},
      {"a forward that leads out of the region",
       [](ChainScene& s) { s.look.bytes.forward(s.main(1), kRegion_bytes - 8, free_word({1, 3})); }, "no",
       "corrupt_data"},
      {"a forward of another generation than the chain's is not followed",
       [](ChainScene& s) { s.look.bytes.forward(s.main(1), kNextArray_offset, kBefore, kGeneration + 1); },
       "from 16.1", "catalog_changed"},
  };
  for (const ChainRow& row : rows) {
    INFO(row.name);
    ChainScene scene;
    scene.look.bytes.bucket(scene.main(1), content(kBefore));
    scene.insert(1);
    row.change(scene);
    scene.lock();
    CHECK(scene.taken(scene.main(1)) == row.taken);
    CHECK(scene.finish() == row.end);
    CHECK(scene.look.worker.locks.has(scene.main(1), lock_word(kRival)) == row.noted);
    CHECK(scene.look.worker.fabric.outside() == 0);
    // Its locks go, whatever it ended in.
    scene.chains.release(kCommit);
    REQUIRE(scene.run().ok());
    CHECK(scene.look.bytes.header(scene.main(1)) != lock_word(kCommit));
    scene.chains.give_back_space();
  }
}

TEST_CASE("a released chain has a word that it never had before", "[chains]") {
  ChainScene scene;
  scene.look.bytes.bucket(scene.main(1), {.lock = kBefore});
  scene.insert(1);
  scene.lock();
  CHECK(scene.look.bytes.header(scene.main(1)) == lock_word(kCommit));
  scene.chains.release(kCommit);
  REQUIRE(scene.run().ok());
  CHECK(scene.look.bytes.header(scene.main(1)) == free_word(kCommit));
  scene.chains.give_back_space();
}

TEST_CASE("a chain that was forwarded under the own lock is released, and the next one taken", "[chains]") {
  ChainScene scene;
  const layout::BucketArray next = scene.look.table.arrays[0].doubled(kNextArray_offset);
  const GlobalAddress old = scene.main(1);
  const GlobalAddress fresh = scene.look.bytes.main_bucket(1, next);
  scene.look.bytes.bucket(old, {.lock = kBefore});
  scene.insert(1);
  scene.look.bytes.forward(old, kNextArray_offset, kBefore);
  scene.look.bytes.bucket(fresh, {.lock = free_word({18, 2}), .generation = next.generation});
  scene.lock();
  CHECK(scene.look.bytes.header(old) == lock_word(kCommit));
  REQUIRE(scene.finish() == "ok");
  CHECK(scene.look.bytes.header(old) == free_word(kCommit));
  CHECK(scene.taken(old) == "no");
  CHECK(scene.look.bytes.header(fresh) == lock_word(kCommit));
  scene.install();
  CHECK(scene.look.bytes.header(fresh) == free_word(kCommit));
}

TEST_CASE("a commit that waits for a chain holds none behind it, and releases those as they were",
          "[chains]") {
  struct OrderRow {
    const char* name;
    bool behind;  // the other chain, which is free, is behind the one that is waited for
    HeaderWord held;
    HeaderWord while_waiting;  // of the other chain
  };
  const HeaderWord other = free_word({19, 3});
  const std::vector<OrderRow> rows = {
      {"a free chain behind a busy one is given back", true, lock_word(kRival), other},
      {"a free chain before a busy one is kept", false, lock_word(kRival), lock_word(kCommit)},
      {"the memory server waits for no lock: chains behind its own are kept", true,
       lock_word({layout::kCollectorSlot, 4}), lock_word(kCommit)},
  };
  for (const OrderRow& row : rows) {
    INFO(row.name);
    ChainScene scene;
    Bytes& bytes = scene.look.bytes;
    const std::int64_t key = scene.key_apart(row.behind);
    const GlobalAddress busy = scene.main(1);
    const GlobalAddress free = scene.main(key);
    bytes.bucket(busy, {.lock = kBefore});
    bytes.bucket(free, {.lock = other});
    scene.insert(1);
    scene.insert(key);
    bytes.word(busy, row.held.value());
    HeaderWord seen;
    scene.look.worker.fabric.before_batch(7, [&] { seen = bytes.header(free); });
    scene.look.worker.fabric.before_batch(8, [&] { bytes.word(busy, kBefore.value()); });
    scene.lock();
    CHECK(scene.taken(free) == "from 19.3");
    CHECK(scene.finish() == "ok");
    CHECK(seen == row.while_waiting);
    CHECK(scene.taken(busy) == "from 16.1");
    CHECK(scene.taken(free) == "from 19.3");
    scene.chains.release(kCommit);
    REQUIRE(scene.run().ok());
    scene.chains.give_back_space();
  }
}

TEST_CASE("where in a chain a new row gets its entry", "[chains]") {
  struct PlaceRow {
    const char* name;
    std::function<void(ChainScene&)> put;  // what stands in the chain
    std::vector<std::int64_t> keys;
    std::size_t bucket;  // of the chain, from 0
    std::vector<std::uint32_t> entries;
    std::string end = "ok";
  };
  const std::vector<PlaceRow> rows = {
      {"the first free one",
       [](ChainScene& s) { s.look.bytes.bucket(s.main(1), {.entries = Bytes::others(3)}); },
       {1},
       0,
       {3}},
      {"a free one in front of others",
       [](ChainScene& s) {
         std::vector<BucketEntry> entries = Bytes::others();
         entries[4] = {};
         s.look.bytes.bucket(s.main(1), {.entries = entries});
       },
       {1},
       0,
       {4}},
      {"one in the next bucket, where the first is full",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.entries = Bytes::others(), .next_offset = kBucketBehind.offset()});
         s.look.bytes.bucket(kBucketBehind, {.entries = Bytes::others(1)});
       },
       {1},
       1,
       {1}},
      {"one in a fresh bucket, where all are full",
       [](ChainScene& s) { s.look.bytes.bucket(s.main(1), {.entries = Bytes::others()}); },
       {1},
       1,
       {0}},
      {"beside another key with the same hash that the lookup has compared",
       [](ChainScene& s) {
         s.look.bytes.bucket(s.main(1), {.entries = {s.look.bytes.entry(1, kOtherRecord)}});
         s.look.bytes.record(kOtherRecord, {.key = 2});
       },
       {1},
       0,
       {1}},
  };
  for (const PlaceRow& row : rows) {
    INFO(row.name);
    ChainScene scene;
    row.put(scene);
    for (const std::int64_t key : row.keys) scene.insert(key);
    scene.lock();
    REQUIRE(scene.finish() == row.end);
    scene.install();
    GlobalAddress address = scene.main(1);
    for (std::size_t i = 0; i < row.bucket; ++i)
      address = {0, scene.look.bytes.bucket_at(address).next_offset};
    const layout::Bucket bucket = scene.look.bytes.bucket_at(address);
    CHECK(bucket.certified(address));
    CHECK(bucket.table == kTable);
    CHECK(bucket.generation == kGeneration);
    for (std::size_t i = 0; i < row.keys.size(); ++i) {
      const BucketEntry& entry = bucket.entries[row.entries[i]];
      CHECK(entry.key_hash == scene.look.bytes.hash(row.keys[i]));
      // A new row is found by what was installed.
      LookupScene& look = scene.look;
      look.start();
      CHECK(look.run() == "present 101");
      CHECK(look.lookup.current().birth());
      CHECK(look.lookup.record().offset() == entry.offset());
    }
  }
}

TEST_CASE("two rows of one commit with the same hash are no rivals", "[chains]") {
  ChainScene scene;
  scene.look.bytes.bucket(scene.main(1), {.lock = kBefore});
  scene.insert(1);
  Access& twin = scene.insert(1);
  scene.lock();
  REQUIRE(scene.finish() == "ok");
  scene.install();
  const layout::Bucket bucket = scene.look.bytes.bucket_at(scene.main(1));
  CHECK(bucket.entries[0].key_hash == twin.key_hash);
  CHECK(bucket.entries[1].key_hash == twin.key_hash);
  CHECK(bucket.entries[0].offset() != bucket.entries[1].offset());
}

TEST_CASE("many rows of one commit fill the buckets of their chain, and one rival among them is a conflict",
          "[chains]") {
  for (const bool rival : {false, true}) {
    ChainScene scene;
    scene.look.bytes.bucket(scene.main(1), {.lock = kBefore, .entries = Bytes::others(2)});
    std::vector<std::int64_t> keys;
    for (std::int64_t key = 1; keys.size() < 3 * layout::kBucketEntries; ++key) {
      if (scene.main(key) == scene.main(1)) keys.push_back(key);
    }
    for (const std::int64_t key : keys) scene.insert(key);
    if (rival) {
      std::vector<BucketEntry> entries = Bytes::others(2);
      entries.push_back(scene.look.bytes.entry(keys.back(), kOtherRecord));
      scene.look.bytes.bucket(scene.main(1), {.lock = kBefore, .entries = entries});
    }
    scene.lock();
    const std::string end = scene.finish();
    INFO(end);
    CHECK((end == "ok") != rival);
    if (rival) {
      CHECK(end == "serialization_failure");
      continue;
    }
    scene.install();
    GlobalAddress address = scene.main(1);
    std::size_t filled = 0;
    while (!address.null() && address.offset() != 0) {
      const layout::Bucket bucket = scene.look.bytes.bucket_at(address);
      for (const BucketEntry& entry : bucket.entries) filled += entry.free() ? 0 : 1;
      address = bucket.next_offset == 0 ? GlobalAddress() : GlobalAddress(0, bucket.next_offset);
    }
    CHECK(filled == 2 + keys.size());
  }
}

TEST_CASE("a new row with timestamps says that it is the first of its record", "[chains]") {
  ChainScene scene({.protocol = "mvcc"});
  scene.look.bytes.bucket(scene.main(1), {.lock = kBefore});
  const Access& access = scene.insert(1);
  scene.lock();
  REQUIRE(scene.finish() == "ok");
  for (std::size_t i = 0; i < scene.chains.size(); ++i) scene.chains.build_records(i, kCommit, 500);
  const layout::BodyHeader header = layout::decode_body_header(access.image_body().data());
  CHECK(header.timestamp() == 500);
  CHECK(header.ring_slot == layout::kNoRingSlot);
  CHECK(header.stamp == kCommit);
  scene.chains.release(kCommit);
  REQUIRE(scene.run().ok());
  scene.chains.give_back_space();
}

}  // namespace namdb::protocol::testing

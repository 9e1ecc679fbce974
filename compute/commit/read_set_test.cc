#include "compute/commit/read_set.h"

#include <catch2/catch.hpp>
#include <functional>

#include "compute/commit/chain_locks.h"
#include "compute/commit/engine_transaction.h"
#include "compute/protocol/registry.h"
#include "compute/testing/lookup_scene.h"

namespace namdb::protocol::testing {
namespace {

using layout::GlobalAddress;
using layout::Stamp;

constexpr Stamp kOwnCommit{kOwnSlot, 1000};
constexpr Stamp kOther{30, 7};
constexpr Stamp kRead{16, 10};

// A transaction that has read key 1, or that it is not there, and validates.
struct ReadScene {
  ReadScene()
      : optimistic(make_protocol("occ", look.worker.state)),
        transaction(look.worker.state, session, *optimistic),
        batches(look.worker.cluster),
        chains(look.worker.state, batches, look.worker.counters) {}
  ~ReadScene() {
    chains.release(kOwnCommit);
    REQUIRE(look.worker.run(batches.run(look.worker.counters)).ok());
    transaction.abort();
  }

  void read() {
    look.start();
    look.run();
    REQUIRE(look.lookup.done());
    reads.add(look.lookup);
  }
  // As one of its rows, which it may lock.
  void read_row() {
    row = transaction.get(look.worker.table, key_of(look.table, 1));
    REQUIRE(look.worker.run(transaction.fetch()).ok());
    reads.add(transaction.accesses()[row].lookup);
  }
  void lock_chain() {
    inserted.emplace(look.worker.table, key_of(look.table, 1), look.bytes.hash(1));
    inserted->lookup.start(look.worker.state, *inserted->table, inserted->key, inserted->key_hash);
    while (!inserted->lookup.done()) {
      inserted->lookup.add_read(batches);
      REQUIRE(look.worker.run(batches.run(look.worker.counters)).ok());
      inserted->lookup.advance(look.worker.state, look.visibility());
    }
    chains.add(*inserted);
    for (std::size_t i = 0; i < chains.size(); ++i) chains.post(i, kOwnCommit);
    REQUIRE(look.worker.run(batches.run(look.worker.counters)).ok());
    chains.check();
  }
  bool holds() { return look.worker.run(reads.validate(&transaction, lock_word(kOwnCommit), &chains)).ok(); }
  GlobalAddress main() { return look.bytes.main_bucket(1); }

  LookupScene look;
  SessionState session;
  std::unique_ptr<WorkerProtocol> optimistic;
  EngineTransaction transaction;
  txn::BatchSet batches;
  std::optional<Access> inserted;
  ChainLocks chains;
  ReadSet reads;
  txn::RowId row = 0;
};

struct ReadRow {
  const char* name;
  std::function<void(ReadScene&)> read;    // reads, from bytes that it puts there
  std::function<void(ReadScene&)> change;  // until validation
  bool holds;
  GlobalAddress noted;  // the lock of kOther is noted there; null: none is
};

void read_record(ReadScene& scene) {
  scene.look.stored({.stamp = kRead});
  scene.read();
}

void read_own_record(ReadScene& scene) {
  scene.look.stored({.stamp = kRead});
  scene.read_row();
}

// Two buckets, with a lock word.
void read_chain(ReadScene& scene) {
  scene.look.bytes.bucket(scene.main(), {.lock = free_word(kRead), .next_offset = kBucketBehind.offset()});
  scene.look.bytes.bucket(kBucketBehind, {.entries = Bytes::others(2)});
  scene.read();
}

void nothing(ReadScene& /*scene*/) {}

}  // namespace

TEST_CASE("a read holds or not by the bytes at validation", "[read_set]") {
  const GlobalAddress main = LookupScene().bytes.main_bucket(1);
  const std::vector<ReadRow> rows = {
      {"a record with the header of the version that was read", read_record, nothing, true, {}},
      {"a record that was locked and given back as it was: the same value is the same body",
       read_record,
       [](ReadScene& s) { s.look.bytes.record(kRecord, {.stamp = kRead}); },
       true,
       {}},
      {"a record with a newer version",
       read_record,
       [](ReadScene& s) { s.look.bytes.record(kRecord, {.stamp = {16, 11}, .displaced = kRead}); },
       false,
       {}},
      {"a record with another slot's version of the same counter",
       read_record,
       [](ReadScene& s) { s.look.bytes.record(kRecord, {.stamp = {17, 10}, .displaced = kRead}); },
       false,
       {}},
      {"a record that was deleted",
       read_record,
       [](ReadScene& s) { s.look.bytes.record(kRecord, {.stamp = {16, 11}, .deleted = true}); },
       false,
       {}},
      {"a tombstone of the same stamp is not the version that was read",
       read_record,
       [](ReadScene& s) { s.look.bytes.word(kRecord, tombstone_word(kRead).value()); },
       false,
       {}},
      {"a record that another holds: it may have committed", read_record,
       [](ReadScene& s) { s.look.bytes.word(kRecord, lock_word(kOther).value()); }, false, kRecord},
      {"a record that another transaction holds with the stamp that was read",
       read_record,
       [](ReadScene& s) { s.look.bytes.word(kRecord, lock_word(kRead).value()); },
       false,
       {}},
      {"the own lock on a record that is none of the transaction's rows",
       read_record,
       [](ReadScene& s) { s.look.bytes.word(kRecord, lock_word(kOwnCommit).value()); },
       false,
       {}},
      {"the own lock, taken from the version that was read",
       read_own_record,
       [](ReadScene& s) { s.look.bytes.word(kRecord, lock_word(kOwnCommit).value()); },
       true,
       {}},
      {"the own stamp without a lock is a version that was not read",
       read_own_record,
       [](ReadScene& s) { s.look.bytes.word(kRecord, free_word(kOwnCommit).value()); },
       false,
       {}},
      {"the own lock, taken from another version than was read",
       [](ReadScene& s) {
         s.look.stored({.stamp = kRead});
         s.read();
         s.look.bytes.record(kRecord, {.stamp = {16, 11}});
         s.row = s.transaction.get(s.look.worker.table, key_of(s.look.table, 1));
         REQUIRE(s.look.worker.run(s.transaction.fetch()).ok());
       },
       [](ReadScene& s) { s.look.bytes.word(kRecord, lock_word(kOwnCommit).value()); },
       false,
       {}},
      {"a chain without the key, as it was", read_chain, nothing, true, {}},
      {"a chain into which another transaction has inserted since",
       read_chain,
       [](ReadScene& s) {
         s.look.bytes.bucket(s.main(), {.lock = free_word(kOther),
                                        .entries = {s.look.bytes.entry(1, kRecord)},
                                        .next_offset = kBucketBehind.offset()});
       },
       false,
       {}},
      {"a chain whose lock word is newer: its buckets may be of before",
       read_chain,
       [](ReadScene& s) { s.look.bytes.word(s.main(), free_word(kOther).value()); },
       false,
       {}},
      {"a chain that another transaction holds", read_chain,
       [](ReadScene& s) { s.look.bytes.word(s.main(), lock_word(kOther).value()); }, false, main},
      {"a later bucket of the chain that was changed",
       read_chain,
       [](ReadScene& s) { s.look.bytes.bucket(kBucketBehind, {.entries = Bytes::others(3)}); },
       false,
       {}},
      {"the first word of a later bucket is no lock",
       read_chain,
       [](ReadScene& s) { s.look.bytes.word(kBucketBehind, lock_word(kOther).value()); },
       true,
       {}},
      {"a chain that was forwarded",
       read_chain,
       [](ReadScene& s) { s.look.bytes.forward(s.main(), kNextArray_offset, free_word(kRead)); },
       false,
       {}},
      {"a chain that the transaction itself holds, locked as it was read",
       [](ReadScene& s) {
         read_chain(s);
         s.lock_chain();
       },
       nothing,
       true,
       {}},
      {"a chain that the transaction itself holds, locked from a later word",
       [](ReadScene& s) {
         read_chain(s);
         s.look.bytes.word(s.main(), free_word(kOther).value());
         s.lock_chain();
       },
       nothing,
       false,
       {}},
      {"a forward that a scan has seen is for good",
       [](ReadScene& s) {
         s.look.bytes.forward(s.main(), kNextArray_offset, free_word(kRead));
         s.reads.add(s.main(), s.look.bytes.bucket_at(s.main()), true);
       },
       [](ReadScene& s) { s.look.bytes.word(s.main(), lock_word(kOther).value()); },
       true,
       {}},
      {"a bucket that a scan has seen, as it was",
       [](ReadScene& s) {
         s.look.bytes.bucket(s.main(), {.lock = free_word(kRead), .entries = Bytes::others(2)});
         s.reads.add(s.main(), s.look.bytes.bucket_at(s.main()), true);
       },
       nothing,
       true,
       {}},
      {"a bucket that a scan has seen, changed under the same lock word",
       [](ReadScene& s) {
         s.look.bytes.bucket(s.main(), {.lock = free_word(kRead), .entries = Bytes::others(2)});
         s.reads.add(s.main(), s.look.bytes.bucket_at(s.main()), true);
       },
       [](ReadScene& s) {
         s.look.bytes.bucket(s.main(), {.lock = free_word(kRead), .entries = Bytes::others(3)});
       },
       false,
       {}},
      {"what was forgotten does not count",
       [](ReadScene& s) {
         s.look.stored({.stamp = kRead});
         const ReadSet::Mark mark = s.reads.mark();
         s.read();
         s.reads.forget(mark);
       },
       [](ReadScene& s) { s.look.bytes.word(kRecord, lock_word(kOther).value()); },
       true,
       {}},
  };
  for (const ReadRow& row : rows) {
    INFO(row.name);
    ReadScene scene;
    row.read(scene);
    row.change(scene);
    scene.look.worker.locks.notes.clear();
    CHECK(scene.holds() == row.holds);
    if (row.noted.null()) {
      for (const NotedLocks::Note& note : scene.look.worker.locks.notes)
        CHECK(note.word != lock_word(kOther));
    } else {
      CHECK(scene.look.worker.locks.has(row.noted, lock_word(kOther)));
    }
  }
}

TEST_CASE("records read in one READ are of one moment", "[read_set]") {
  ReadScene scene;
  CHECK(scene.reads.single());
  read_record(scene);
  CHECK(scene.reads.single());
  scene.read();
  CHECK_FALSE(scene.reads.single());
  ReadScene chain;
  read_chain(chain);
  CHECK_FALSE(chain.reads.single());
}

TEST_CASE("neighbouring buckets are READ together and checked one by one", "[read_set]") {
  for (const std::size_t changed : {0, 1, 2, 3}) {
    INFO("bucket " << changed);
    ReadScene scene;
    for (std::size_t i = 0; i < kBuckets; ++i) {
      const GlobalAddress bucket(0, kArray_offset + i * layout::kBucket_bytes);
      scene.look.bytes.bucket(bucket, {.lock = free_word(kRead)});
      scene.reads.add(bucket, scene.look.bytes.bucket_at(bucket), true);
    }
    CHECK(scene.holds());
    const GlobalAddress bucket(0, kArray_offset + changed * layout::kBucket_bytes);
    scene.look.bytes.bucket(bucket, {.lock = free_word(kRead), .entries = Bytes::others(1)});
    CHECK_FALSE(scene.holds());
  }
}

}  // namespace namdb::protocol::testing

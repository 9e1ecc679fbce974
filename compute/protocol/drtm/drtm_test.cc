#include "compute/protocol/drtm/drtm.h"

#include <catch2/catch.hpp>
#include <functional>

#include "common/layout/record_trailer.h"
#include "compute/testing/protocol_scene.h"

namespace namdb::protocol::testing {
namespace {

using drtm::ReadAccess;
using drtm::RecordState;
using drtm::WriteAccess;
using layout::GlobalAddress;
using layout::HeaderWord;
using layout::Stamp;

constexpr Stamp kFirstRow{16, 10};
constexpr Stamp kChangedRow{16, 11};
constexpr Stamp kWriter{30, 7};
constexpr Stamp kReclaimer{layout::kCollectorSlot, 3};
// A bucket and then the record are READ first; the lease is asked for in the third batch.
constexpr std::size_t kLeaseBatch = 2;

struct LeaseScene : ProtocolScene {
  LeaseScene() : ProtocolScene({.protocol = "drtm"}) {
    worker.state.read_locks = txn::ReadLocks::automatic;
    worker.executor.advance(kSecond_ns);
    tell_time();
    no_rows();
    stored({.stamp = kFirstRow, .value = 5});
  }
  // The memory server's clock is the worker's, and both know it.
  void tell_time() { time().follow(worker.executor.now_ns(), worker.executor.now_ns()); }
  txn::SoftTime& time() { return worker.cluster.soft_time(); }
  std::uint64_t now_ns() { return time().now().latest_ns; }
  GlobalAddress lease_word() const { return kRecord + layout::lease_offset(worker.table->record); }
  std::uint64_t lease_ns() { return layout::load_word(worker.fabric.at(lease_word())); }
  void known(HeaderWord header) {
    worker.cluster.saw_memory(kRecord, worker.table->record.record_bytes());
    worker.locations.insert(bytes.entry(1, kRecord));
    static_cast<LockingProtocol&>(*worker.worker_protocol)
        .lockers()
        .guesses.note(kRecord, header, worker.registry.learned());
  }
  // A lease that another compute server has taken, and that lasts so much longer.
  std::uint64_t leased_for(std::uint64_t left_ns) {
    const std::uint64_t end_ns = now_ns() + left_ns;
    bytes.word(lease_word(), end_ns);
    return end_ns;
  }
  Status commit() { return worker.run(transaction->commit()); }
};

constexpr std::uint64_t kNow_ns = 50 * kMillisecond_ns;
// DELTA is 1,000 ns.
constexpr txn::TimeBounds kBounds{kNow_ns - 1'000, kNow_ns + 1'000};
constexpr std::uint64_t kLasting_ns = kNow_ns + 500 * kMicrosecond_ns;

}  // namespace

// Figure 9, EXPIRED and VALID: neither is true within DELTA of a lease's end.
TEST_CASE("a lease has expired, or is valid, beyond DELTA only", "[drtm]") {
  struct EndRow {
    std::uint64_t end_ns;
    bool expired;
    bool valid;
  };
  const std::vector<EndRow> rows = {
      {0, true, false},
      {kNow_ns - 1'001, true, false},
      {kNow_ns - 1'000, false, false},
      {kNow_ns, false, false},
      {kNow_ns + 1'000, false, false},
      {kNow_ns + 1'001, false, true},
      {kBounds.latest_ns + drtm::kLongestLease_ns, false, true},
      // No reader asks for that: it is of another life of the clock.
      {kBounds.latest_ns + drtm::kLongestLease_ns + 1, true, false},
  };
  for (const EndRow& row : rows) {
    CAPTURE(row.end_ns);
    CHECK(drtm::expired(row.end_ns, kBounds) == row.expired);
    CHECK(drtm::valid(row.end_ns, kBounds) == row.valid);
  }
}

// Figure 10 (a), REMOTE_READ and REMOTE_WRITE, by the state that they find.
TEST_CASE("reads and writes of a record by its state", "[drtm]") {
  const HeaderWord unlocked = free_word(kFirstRow);
  struct StateRow {
    const char* name;
    RecordState state;
    ReadAccess read;
    WriteAccess write;
  };
  const std::vector<StateRow> rows = {
      {"INIT", {unlocked, 0}, ReadAccess::take, WriteAccess::take},
      {"an expired lease", {unlocked, kNow_ns - 2'000}, ReadAccess::take, WriteAccess::take},
      {"an unexpired lease", {unlocked, kLasting_ns}, ReadAccess::share, WriteAccess::leased},
      {"a lease that ends within DELTA", {unlocked, kNow_ns}, ReadAccess::take, WriteAccess::leased},
      {"write locked", {lock_word(kWriter), 0}, ReadAccess::locked, WriteAccess::locked},
      {"write locked, with a lease",
       {lock_word(kWriter), kLasting_ns},
       ReadAccess::locked,
       WriteAccess::locked},
  };
  for (const StateRow& row : rows) {
    INFO(row.name);
    CHECK(drtm::read_access(row.state, kBounds) == row.read);
    CHECK(drtm::write_access(row.state, kBounds) == row.write);
    CHECK(row.state.write_locked() == (row.read == ReadAccess::locked));
  }
}

// Table IV, in the order of Figure 8 (c) and (d): the remote access comes first. On the software path local
// records are accessed like remote ones.
TEST_CASE("which accesses share a record, and which conflict", "[drtm]") {
  const RecordState read_by_other{free_word(kFirstRow), kLasting_ns};
  const RecordState written_by_other{lock_word(kWriter), 0};
  CHECK(drtm::read_access(read_by_other, kBounds) == ReadAccess::share);        // R_RD, L_RD
  CHECK(drtm::write_access(read_by_other, kBounds) == WriteAccess::leased);     // R_RD, L_WR
  CHECK(drtm::read_access(written_by_other, kBounds) == ReadAccess::locked);    // R_WR, L_RD
  CHECK(drtm::write_access(written_by_other, kBounds) == WriteAccess::locked);  // R_WR, L_WR
}

TEST_CASE("the meaning of a met lock under DRTM, by the bytes of the record", "[drtm]") {
  struct MetRow {
    const char* name;
    HeaderWord header;
    const char* decision;
  };
  const std::vector<MetRow> rows = {
      {"it is not locked", free_word(kFirstRow), "visible"},
      {"header and body of two versions", free_word(kChangedRow), "torn"},
      {"another transaction holds it: no waiting", lock_word(kWriter), "conflict"},
      {"the memory server holds it for a moment", lock_word(kReclaimer), "locked by other"},
  };
  for (const MetRow& row : rows) {
    INFO(row.name);
    LeaseScene scene;
    scene.stored({.stamp = kFirstRow, .value = 8, .key = 2}, kOtherRecord);
    REQUIRE(scene.fetched(scene.get(2)) == "8");
    CHECK(scene.decide(row.header, {.stamp = kFirstRow}) == row.decision);
    const HeaderWord own_lock = scene.bytes.header(kOtherRecord);
    REQUIRE(own_lock.locked());
    CHECK(scene.decide(own_lock, {.stamp = kFirstRow}) == "visible");
  }
}

TEST_CASE("the lease of a row that is only read, by the bytes that READ and CAS find", "[drtm]") {
  struct ReadRow {
    const char* name;
    std::function<void(LeaseScene&)> put;
    std::string seen;
    bool leased;
    bool raised;  // the lease in the record
  };
  const auto unlocked = free_word(kFirstRow);
  const std::vector<ReadRow> rows = {
      {"no lease: taken", [](LeaseScene&) {}, "5", true, true},
      {"a lease that has ended: taken from that",
       [](LeaseScene& s) { s.bytes.word(s.lease_word(), s.now_ns() - 1); }, "5", true, true},
      {"a lease of others that lasts: shared",
       [](LeaseScene& s) { s.leased_for(drtm::kReadOnlyLease_ns / 2); }, "5", true, false},
      {"a lease of others that is about to end: extended",
       [](LeaseScene& s) { s.leased_for(drtm::kLeastLeft_ns / 2); }, "5", true, true},
      {"a lease of an earlier clock: taken", [](LeaseScene& s) { s.leased_for(10 * kSecond_ns); }, "5", true,
       true},
      {"the CAS finds a lease that lasts: shared",
       [](LeaseScene& s) {
         s.worker.fabric.before_batch(kLeaseBatch, [&s] { s.leased_for(drtm::kReadOnlyLease_ns / 2); });
       },
       "5", true, false},
      {"the CAS finds a lease that has ended: taken in the next round",
       [](LeaseScene& s) {
         s.worker.fabric.before_batch(kLeaseBatch, [&s] { s.bytes.word(s.lease_word(), 77); });
       },
       "5", true, true},
      {"locked: a conflict", [](LeaseScene& s) { s.bytes.word(kRecord, lock_word(kWriter).value()); },
       "serialization_failure", false, false},
      {"locked behind the READ: a conflict",
       [](LeaseScene& s) {
         s.worker.fabric.before_batch(kLeaseBatch,
                                      [&s] { s.bytes.word(kRecord, lock_word(kWriter).value()); });
       },
       "serialization_failure", false, true},
      {"the memory server holds it: waited for",
       [](LeaseScene& s) {
         s.bytes.word(kRecord, lock_word(kReclaimer).value());
         s.worker.fabric.before_batch(20,
                                      [&s] { s.bytes.record(kRecord, {.stamp = kFirstRow, .value = 5}); });
       },
       "5", true, true},
      {"changed behind the READ: read again",
       [](LeaseScene& s) {
         s.worker.fabric.before_batch(kLeaseBatch,
                                      [&s] { s.bytes.record(kRecord, {.stamp = kChangedRow, .value = 6}); });
       },
       "6", true, true},
      {"deleted: validated, not leased",
       [](LeaseScene& s) { s.stored({.stamp = kFirstRow, .deleted = true}); }, "not found", false, false},
      {"the header word is known: the lease is sent with the READ",
       [unlocked](LeaseScene& s) {
         s.known(unlocked);
         s.worker.fabric.before_batch(1, [&s] { s.bytes.word(kRecord, 0); });  // there is none
       },
       "5", true, true},
      {"the header word is known, and others hold the record: a conflict",
       [unlocked](LeaseScene& s) {
         s.known(unlocked);
         s.bytes.word(kRecord, lock_word(kWriter).value());
       },
       "serialization_failure", false, true},
      {"the time is not known closely: validated, not leased",
       [](LeaseScene& s) { s.time().follow(5, s.worker.executor.now_ns() - 2 * drtm::kWidestTime_ns); }, "5",
       false, false},
  };
  for (const ReadRow& row : rows) {
    INFO(row.name);
    LeaseScene scene;
    row.put(scene);
    const std::uint64_t before_ns = scene.lease_ns();
    const txn::RowId id = scene.read(1);
    CHECK(scene.fetched(id) == row.seen);
    CHECK(scene.access(id).shared == row.leased);
    const std::uint64_t lease_ns = scene.lease_ns();
    const bool ours = lease_ns != before_ns && lease_ns > scene.now_ns() + drtm::kReadOnlyLease_ns / 2 + 1;
    CHECK(ours == row.raised);
  }
}

TEST_CASE("a lease that this worker has seen needs no CAS while it lasts", "[drtm]") {
  LeaseScene scene;
  scene.known(free_word(kFirstRow));
  CHECK(scene.fetched(scene.read(1)) == "5");
  const std::uint64_t taken_ns = scene.lease_ns();
  REQUIRE(scene.commit().ok());
  scene.again();
  const txn::RowId row = scene.read(1);
  CHECK(scene.fetched(row) == "5");
  CHECK(scene.access(row).shared);
  CHECK(scene.lease_ns() == taken_ns);
  CHECK(scene.transaction->counters().compare_and_swaps == 0);
}

TEST_CASE("a writer holds the record and waits for its lease to end", "[drtm]") {
  struct WriteRow {
    const char* name;
    std::uint64_t left_ns;
    bool known;  // the CAS is sent with the READ
    bool waits;
  };
  const std::vector<WriteRow> rows = {
      {"no lease", 0, false, false},
      {"a lease", drtm::kReadOnlyLease_ns, false, true},
      {"a lease, and the header word is known", drtm::kReadOnlyLease_ns, true, true},
      {"a lease of an earlier clock", 10 * kSecond_ns, false, false},
  };
  for (const WriteRow& row : rows) {
    INFO(row.name);
    LeaseScene scene;
    if (row.known) scene.known(free_word(kFirstRow));
    const std::uint64_t end_ns = row.left_ns == 0 ? 0 : scene.leased_for(row.left_ns);
    const std::uint64_t began_ns = scene.worker.executor.now_ns();
    CHECK(scene.fetched(scene.get(1)) == "5");
    CHECK(scene.bytes.header(kRecord).locked());
    CHECK(scene.time().now().after(end_ns) == (row.waits || row.left_ns == 0));
    CHECK((scene.worker.executor.now_ns() - began_ns >= row.left_ns) == (row.waits || row.left_ns == 0));
  }
}

TEST_CASE("a row that was read and is then written is not written before its lease has ended", "[drtm]") {
  LeaseScene scene;
  const txn::RowId row = scene.read(1);
  CHECK(scene.fetched(row) == "5");
  const std::uint64_t end_ns = scene.lease_ns();
  REQUIRE(scene.transaction->update(row).set_integer(1, 6).ok());
  REQUIRE(scene.commit().ok());
  CHECK(scene.time().now().after(end_ns));
}

TEST_CASE("a leased row at commit, case by case", "[drtm]") {
  struct EndRow {
    const char* name;
    std::uint64_t later_ns;
    bool changed;
    bool commits;
    std::uint64_t reads;  // behind the fetch
  };
  const std::vector<EndRow> rows = {
      {"its lease lasts: nothing is READ", 0, false, true, 0},
      // No writer would do that.
      {"its lease lasts: nobody looks", 0, true, true, 0},
      {"its lease has ended: validated", 2 * drtm::kReadOnlyLease_ns, false, true, 2},
      {"its lease has ended, and it was changed", 2 * drtm::kReadOnlyLease_ns, true, false, 2},
  };
  for (const EndRow& row : rows) {
    INFO(row.name);
    LeaseScene scene;
    scene.stored({.stamp = kFirstRow, .value = 8, .key = 2}, kOtherRecord);
    const txn::RowId one = scene.read(1);
    const txn::RowId two = scene.read(2);
    CHECK(scene.fetched(one) == "5");
    CHECK(scene.seen(two) == "8");
    CHECK(scene.access(one).shared);
    CHECK(scene.access(two).shared);
    const std::uint64_t reads = scene.transaction->counters().reads;
    scene.worker.executor.advance(row.later_ns);
    if (row.changed) scene.bytes.record(kRecord, {.stamp = kChangedRow, .value = 6});
    CHECK(scene.commit().ok() == row.commits);
    CHECK(scene.transaction->counters().reads - reads == row.reads);
  }
}

TEST_CASE("a commit waits until leases that a restarted server has forgotten are over", "[drtm]") {
  LeaseScene scene;
  scene.time().connected();
  const std::uint64_t over_ns = scene.time().connected_ns() + drtm::kLongestLease_ns;
  const txn::RowId row = scene.get(1);
  CHECK(scene.fetched(row) == "5");
  CHECK(!scene.time().now().after(over_ns));
  REQUIRE(scene.transaction->update(row).set_integer(1, 6).ok());
  REQUIRE(scene.commit().ok());
  CHECK(scene.time().now().after(over_ns));
}

}  // namespace namdb::protocol::testing

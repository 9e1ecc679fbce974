#include "tools/conformance/read_cases.h"

#include <array>

namespace namdb::conformance {
namespace {

void reading_validates_in_one_round_trip(Trial& t) {
  const std::vector<std::int64_t> ids = {t.base, t.base + 1, t.base + 2, t.base + 3};
  std::vector<Item> items;
  for (const std::int64_t id : ids) items.push_back({.id = id, .group = t.base, .value = id});
  t.load(items);
  t.settle();
  std::uint64_t fetched = 0;
  const Status end = t.b.retry([&](Client& b) {
    b.values(ids);
    fetched = b.round_trips();
  });
  t.expect(end.ok(), said(end));
  t.expect(t.b.round_trips() <= fetched + 1,
           std::to_string(t.b.round_trips() - fetched) + " round trips of validation");
}

enum class Scan { table, index, hash_index };

// One commit validates all kinds of reads together: rows by key, a whole table, ranges of indexes.
template <Scan kScan>
void looking_validates_in_one_round_trip(Trial& t) {
  std::vector<Item> items;
  for (std::int64_t i = 0; i < 4; ++i) items.push_back({.id = t.base + i, .group = t.base, .value = i});
  t.load(items);
  t.settle();
  std::uint64_t looked = 0;
  Sum seen;
  const Status end = t.b.retry([&](Client& b) {
    b.values({t.base, t.base + 1});
    if (kScan == Scan::table) seen = b.scan_table(t.base);
    if (kScan == Scan::index) seen = b.scan_index(t.base);
    if (kScan == Scan::hash_index) seen = b.scan_hash_index(t.base);
    looked = b.round_trips();
  });
  t.expect(end.ok(), said(end));
  t.expect(seen.rows == 4, "four rows");
  // Leases and floors of timestamps are read, and raised, before.
  const std::uint64_t most = t.traits.timestamps ? 4 : 1;
  t.expect(t.b.round_trips() <= looked + most,
           std::to_string(t.b.round_trips() - looked) + " round trips of validation");
}

// A walk to an old version goes on where it is: the longer the way, the fewer round trips for each version.
// Twice the bound of the simulator's cost test, since versions may be moved while the reader walks.
void old_versions_cost_few_round_trips(Trial& t) {
  if (t.traits.serializable) {
    t.skipped = "its transactions read the newest versions";
    return;
  }
  t.load({{.id = t.base, .group = t.base}, {.id = t.base + 1, .group = t.base}});
  std::int64_t value = 0;
  for (const int versions : {8, 24}) {
    t.b.begin();
    t.b.values({t.base, t.base + 1});  // its place is known now
    t.expect(t.b.commit().ok(), "a commit without writes");
    t.b.begin();
    t.b.value(t.base + 1);
    const std::int64_t seen = value;
    for (int i = 0; i < versions; ++i) {
      ++value;
      const Status updated = t.a.retry([&](Client& a) { a.set_value(t.base, value); });
      t.expect(updated.ok(), "an update: " + said(updated));
    }
    const std::uint64_t before = t.b.round_trips();
    const std::optional<std::int64_t> found = t.b.value(t.base);
    const std::uint64_t taken = t.b.round_trips() - before;
    t.expect(found == seen, "the snapshot's version: " + said(t.b.status()));
    const std::uint64_t most = 2 * (2 + (static_cast<std::uint64_t>(versions) + 7) / 8);
    t.expect(taken <= most,
             std::to_string(versions) + " versions back: " + std::to_string(taken) + " round trips");
    t.expect(t.b.commit().ok(), "a commit without writes");
  }
}

// Both read the same rows, in each way, and neither waits or gets a conflict, once the load's locks are
// released.
void readers_do_not_meet(Trial& t) {
  t.load({{.id = t.base, .group = t.base, .value = 1}, {.id = t.base + 1, .group = t.base, .value = 2}});
  const auto sees_all = [&t](Client& client) {
    const auto values = client.look_at({t.base, t.base + 1, t.base + 2});
    return values[0] == 1 && values[1] == 2 && !values[2] && client.scan_table(t.base) == Sum{2, 3} &&
           client.scan_index(t.base) == Sum{2, 3} && client.scan_hash_index(t.base) == Sum{2, 3};
  };
  Status a_end;
  Status b_end;
  for (int attempt = 0; attempt < 50; ++attempt) {
    t.a.begin();
    const bool a_sees = sees_all(t.a);
    t.b.begin();
    const bool b_sees = sees_all(t.b);
    b_end = t.b.commit();
    a_end = t.a.commit();
    if (a_sees && b_sees && a_end.ok() && b_end.ok()) return;
    t.database.wait(kMillisecond_ns);
  }
  t.expect(false, "a: " + said(a_end) + ", b: " + said(b_end));
}

// Client a reads rows by key and b then writes one of them: it cannot before a has committed or aborted.
void a_reader_keeps_writers_out(Trial& t) {
  if (!t.shared_read_locks) {
    t.skipped = "readers share no locks";
    return;
  }
  const auto writes = [&t](Client& b) { b.set_value(t.base, 8); };
  t.load({{.id = t.base, .group = t.base, .value = 1}, {.id = t.base + 1, .group = t.base, .value = 2}});
  for (const bool commits : {true, false}) {
    std::vector<std::optional<std::int64_t>> seen;
    for (int attempt = 0; attempt < 50; ++attempt) {
      t.a.begin();
      seen = t.a.look_at({t.base, t.base + 1, t.base + 2});
      if (t.a.status().ok()) break;
      t.database.wait(kMillisecond_ns);
    }
    t.expect(t.a.status().ok(), "a looks: " + said(t.a.status()));
    const std::uint64_t looked = t.a.round_trips();
    t.b.begin();
    writes(t.b);
    const Status b_end = t.b.commit();
    t.expect(!b_end.ok() && b_end.info().sqlstate == "40001", "b: " + said(b_end));
    t.expect(t.a.look_at({t.base, t.base + 1, t.base + 2}) == seen, "a sees the same again");
    if (commits) {
      const Status a_end = t.a.commit();
      t.expect(a_end.ok(), "a: " + said(a_end));
      t.expect(t.a.round_trips() <= looked + 1, "it validates the key that is not there, no more");
    } else {
      t.a.abort();
    }
    const Status after = t.b.retry(writes);
    t.expect(after.ok(), "b, when a has ended: " + said(after));
  }
}

// Client a reads a row and then writes it. It alone shares the row's lock.
void a_reader_goes_on_to_write(Trial& t) {
  t.load({{.id = t.base, .group = t.base, .value = 1}});
  t.settle();
  const Status end = t.a.retry([&](Client& a) {
    const auto seen = a.look_at({t.base}).front();
    a.set_value(t.base, seen.value_or(0) + 1);
  });
  t.expect(end.ok(), "a: " + said(end));
  t.settle();
  std::int64_t value = 0;
  const Status read = t.b.retry([&](Client& b) { value = b.look_at({t.base}).front().value_or(0); });
  t.expect(read.ok() && value == 2, "b: " + said(read));
}

constexpr std::array kReadCases = {
    Case{"reading validates in one round trip", &reading_validates_in_one_round_trip},
    Case{"looking at a table validates in one round trip", &looking_validates_in_one_round_trip<Scan::table>},
    Case{"looking at an index range validates in one round trip",
         &looking_validates_in_one_round_trip<Scan::index>},
    Case{"looking by a hash index validates in one round trip",
         &looking_validates_in_one_round_trip<Scan::hash_index>},
    Case{"readers do not meet", &readers_do_not_meet},
    Case{"a reader keeps writers out", &a_reader_keeps_writers_out},
    Case{"a reader goes on to write", &a_reader_goes_on_to_write},
    Case{"old versions cost few round trips", &old_versions_cost_few_round_trips},
};

}  // namespace

std::span<const Case> read_cases() {
  return kReadCases;
}

}  // namespace namdb::conformance

#include "tools/conformance/cases.h"

#include <array>

namespace namdb::conformance {
namespace {

std::string said(const Status& status) {
  return status.ok() ? "committed" : status.to_string();
}

void own_writes_are_read(Trial& t) {
  t.load({{.id = t.base, .group = t.base, .value = 1}, {.id = t.base + 1, .group = t.base, .value = 2}});
  std::vector<std::optional<std::int64_t>> values;
  Sum table, range, hashed;
  // The load's locks may be there still: a protocol that does not wait gets a conflict then.
  const Status end = t.a.retry([&](Client& a) {
    a.insert({.id = t.base + 2, .group = t.base, .value = 4});
    a.set_value(t.base, 8);
    a.erase(t.base + 1);
    values = a.values({t.base, t.base + 1, t.base + 2});
    table = a.scan_table(t.base);
    range = a.scan_index(t.base);
    hashed = a.scan_hash_index(t.base);
  });
  t.expect(end.ok(), "a: " + said(end));
  t.expect(values[0] == 8 && !values[1] && values[2] == 4, "rows by key");
  t.expect(table == Sum{2, 12}, "the whole table");
  t.expect(range == Sum{2, 12}, "the range of an index");
  t.expect(hashed == Sum{2, 12}, "the values of a hash index");
  t.settle();
  Sum seen;
  const Status read = t.b.retry([&](Client& b) { seen = b.scan_table(t.base); });
  t.expect(read.ok() && seen == Sum{2, 12}, "the other compute server: " + said(read));
}

// Both read a row and write its value plus one.
void no_update_is_lost(Trial& t) {
  t.load({{.id = t.base, .group = t.base}});
  t.a.begin();
  const std::int64_t a_saw = t.a.value(t.base).value_or(0);
  t.b.begin();
  const std::int64_t b_saw = t.b.value(t.base).value_or(0);
  t.b.set_value(t.base, b_saw + 1);
  const Status b_end = t.b.commit();
  t.a.set_value(t.base, a_saw + 1);
  const Status a_end = t.a.commit();
  t.expect_commit_or_conflict(a_end, "a");
  t.expect_commit_or_conflict(b_end, "b");
  const std::int64_t committed = (a_end.ok() ? 1 : 0) + (b_end.ok() ? 1 : 0);
  t.settle();
  std::int64_t counted = 0;
  const Status next = t.b.retry([&](Client& b) {
    counted = b.value(t.base).value_or(0);
    b.set_value(t.base, counted + 1);
  });
  t.expect(next.ok(), "the next one: " + said(next));
  t.expect(counted == committed, "the row counts those that committed");
}

// Where snapshot isolation lets both commit, both do. `row`: one that both have read.
void expect_not_both(Trial& t, std::int64_t row, const Status& a_end, const Status& b_end) {
  t.expect_commit_or_conflict(a_end, "a");
  t.expect_commit_or_conflict(b_end, "b");
  if (t.traits.serializable) {
    t.expect(!a_end.ok() || !b_end.ok(), "both committed");
    // Locks of a transaction that gave way are released in the background.
    const Status after = t.a.retry([&](Client& a) { a.set_value(row, 9); });
    t.expect(after.ok(), "the next one: " + said(after));
  } else {
    t.expect(a_end.ok() && b_end.ok(), "a: " + said(a_end) + ", b: " + said(b_end));
    t.skipped = "snapshot isolation allows it";
  }
}

void write_skew_is_prevented(Trial& t) {
  t.load({{.id = t.base, .group = t.base}, {.id = t.base + 1, .group = t.base}});
  t.a.begin();
  t.a.values({t.base, t.base + 1});
  t.b.begin();
  t.b.values({t.base, t.base + 1});
  t.b.set_value(t.base + 1, 1);
  const Status b_end = t.b.commit();
  t.a.set_value(t.base, 1);
  expect_not_both(t, t.base, t.a.commit(), b_end);
}

enum class Look { key, row, table, index, hash_index };
enum class Change { insert, erase, update, move };

// Client b's commit has been installed, so that no transaction is refused for its locks alone.
void wait_for_install(Trial& t, const Status& b_end, std::int64_t row) {
  if (!b_end.ok()) return;
  const Status read = t.b.retry([&](Client& b) { b.value(row); });
  t.expect(read.ok(), "b: " + said(read));
}

// Client a reads rows and writes the values that it saw into another row; b reads that row and changes the
// rows that a has read. Neither can have been first.
template <Look kLook, Change kChange>
void phantom(Trial& t) {
  const std::int64_t group = t.base;
  const std::int64_t row = t.base + 1;
  const std::int64_t note = t.base + 2;
  std::vector<Item> items = {{.id = note, .group = group + 2}};
  if (kLook != Look::key && kLook != Look::row)
    items.push_back({.id = t.base + 3, .group = group, .value = 7});
  if (kChange != Change::insert)
    items.push_back({.id = row, .group = kChange == Change::move ? group + 1 : group, .value = 1});
  t.load(items);
  t.a.begin();
  std::int64_t seen = 0;
  if (kLook == Look::key) seen = t.a.value(row).value_or(0);
  if (kLook == Look::row) seen = t.a.look_at({row}).front().value_or(0);
  if (kLook == Look::table) seen = t.a.scan_table(group).value;
  if (kLook == Look::index) seen = t.a.scan_index(group).value;
  if (kLook == Look::hash_index) seen = t.a.scan_hash_index(group).value;
  t.b.begin();
  t.b.value(note);
  if (kChange == Change::insert) t.b.insert({.id = row, .group = group, .value = 1});
  if (kChange == Change::erase) t.b.erase(row);
  if (kChange == Change::update) t.b.set_value(row, 5);
  if (kChange == Change::move) t.b.set_group(row, group);
  const Status b_end = t.b.commit();
  wait_for_install(t, b_end, note);
  t.a.set_value(note, seen + 1);
  expect_not_both(t, note, t.a.commit(), b_end);
}

// Client a reads a range, b inserts a row into it, and a changes that row, too: a comes both before b and
// after it.
template <Look kLook>
void phantom_that_is_written(Trial& t) {
  const std::int64_t group = t.base;
  const std::int64_t row = t.base + 1;
  t.load({{.id = row, .group = group + 1, .value = 1}});
  t.settle();
  t.a.begin();
  Sum seen;
  if (kLook == Look::table) seen = t.a.scan_table(group);
  if (kLook == Look::index) seen = t.a.scan_index(group);
  if (kLook == Look::hash_index) seen = t.a.scan_hash_index(group);
  t.expect(seen == Sum{}, "no row is in the group");
  const Status moved = t.b.retry([&](Client& b) { b.set_group(row, group); });
  t.expect(moved.ok(), "b: " + said(moved));
  wait_for_install(t, moved, row);
  t.a.set_value(row, 10);
  const Status a_end = t.a.commit();
  t.expect(!a_end.ok() && a_end.info().sqlstate == "40001", "a: " + said(a_end));
}

void keys_are_unique(Trial& t) {
  t.load({{.id = t.base, .group = t.base}});
  const Status again = t.b.retry([&](Client& b) { b.insert({.id = t.base, .group = t.base, .value = 1}); });
  t.expect(again.code() == ErrorCode::duplicate_key, "the key is there: " + said(again));
  t.a.begin();
  t.a.insert({.id = t.base + 1, .group = t.base});
  const Status b_end = t.b.retry([&](Client& b) { b.insert({.id = t.base + 1, .group = t.base}); });
  const Status a_end = t.a.commit();
  // In an order b comes behind a, which does not end as long as b is tried.
  const Status& first = t.traits.ordered ? a_end : b_end;
  const Status& second = t.traits.ordered ? b_end : a_end;
  t.expect(first.ok(), "the first: " + said(first));
  t.expect(second.code() == ErrorCode::duplicate_key || second.info().sqlstate == "40001",
           "the second: " + said(second));
  t.settle();
  Sum seen;
  const Status read = t.a.retry([&](Client& a) { seen = a.scan_table(t.base); });
  t.expect(read.ok() && seen.rows == 2, "one row of the key: " + said(read));
}

void unique_indexes_are_unique(Trial& t) {
  t.load({{.id = t.base, .group = t.base, .code = t.base}});
  for (const bool locks : {false, true}) {
    const Status again = t.b.retry([&](Client& b) {
      if (locks) b.value(t.base);  // where rows are locked as they are read
      b.insert({.id = t.base + 1, .group = t.base, .code = t.base});
    });
    t.expect(again.code() == ErrorCode::duplicate_key, "the code is there: " + said(again));
  }
  t.a.begin();
  t.a.insert({.id = t.base + 2, .group = t.base, .code = t.base + 2});
  const Status b_end =
      t.b.retry([&](Client& b) { b.insert({.id = t.base + 3, .group = t.base, .code = t.base + 2}); });
  const Status a_end = t.a.commit();
  t.expect(b_end.ok(), "b: " + said(b_end));
  t.expect(a_end.code() == ErrorCode::duplicate_key || a_end.info().sqlstate == "40001", "a: " + said(a_end));
  t.settle();
  const Status freed = t.a.retry([&](Client& a) { a.erase(t.base); });
  t.expect(freed.ok(), "erase: " + said(freed));
  t.settle();
  const Status taken =
      t.b.retry([&](Client& b) { b.insert({.id = t.base + 4, .group = t.base, .code = t.base}); });
  t.expect(taken.ok(), "a code that was freed: " + said(taken));
}

void indexes_follow_their_table(Trial& t) {
  t.load({{.id = t.base, .group = t.base, .value = 1},
          {.id = t.base + 1, .group = t.base, .value = 2},
          {.id = t.base + 2, .group = t.base, .value = 4}});
  const Status changed = t.b.retry([&](Client& b) {
    b.set_group(t.base + 1, t.base + 50);
    b.erase(t.base + 2);
    b.insert({.id = t.base + 3, .group = t.base + 50, .value = 8});
  });
  t.expect(changed.ok(), "b: " + said(changed));
  t.a.begin();
  t.a.insert({.id = t.base + 4, .group = t.base + 50, .value = 16});
  t.a.abort();
  t.settle();
  for (Client* client : {&t.a, &t.b}) {
    Sum sums[6];
    const Status seen = client->retry([&](Client& who) {
      sums[0] = who.scan_index(t.base);
      sums[1] = who.scan_table(t.base);
      sums[2] = who.scan_index(t.base + 50);
      sums[3] = who.scan_table(t.base + 50);
      sums[4] = who.scan_hash_index(t.base);
      sums[5] = who.scan_hash_index(t.base + 50);
    });
    t.expect(seen.ok(), said(seen));
    t.expect(sums[0] == Sum{1, 1} && sums[1] == sums[0] && sums[4] == sums[0],
             "the group that rows have left");
    t.expect(sums[2] == Sum{2, 10} && sums[3] == sums[2] && sums[5] == sums[2],
             "the group that rows have come to");
  }
}

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

// One commit validates all kinds of reads together: rows by key, a whole table, ranges of indexes.
template <Look kLook>
void looking_validates_in_one_round_trip(Trial& t) {
  std::vector<Item> items;
  for (std::int64_t i = 0; i < 4; ++i) items.push_back({.id = t.base + i, .group = t.base, .value = i});
  t.load(items);
  t.settle();
  std::uint64_t looked = 0;
  Sum seen;
  const Status end = t.b.retry([&](Client& b) {
    b.values({t.base, t.base + 1});
    if (kLook == Look::table) seen = b.scan_table(t.base);
    if (kLook == Look::index) seen = b.scan_index(t.base);
    if (kLook == Look::hash_index) seen = b.scan_hash_index(t.base);
    looked = b.round_trips();
  });
  t.expect(end.ok(), said(end));
  t.expect(seen.rows == 4, "four rows");
  // Leases and floors of timestamps are read, and raised, before.
  const std::uint64_t most = t.traits.timestamps ? 4 : 1;
  t.expect(t.b.round_trips() <= looked + most,
           std::to_string(t.b.round_trips() - looked) + " round trips of validation");
}

// One transaction inserts a key twice, be it there before or not.
template <bool kIsThere>
void a_key_goes_in_once(Trial& t) {
  if (kIsThere) t.load({{.id = t.base, .group = t.base}});
  t.settle();
  const Status twice = t.a.retry([&](Client& a) {
    a.insert_together(
        {{.id = t.base, .group = t.base, .value = 1}, {.id = t.base, .group = t.base, .value = 2}});
  });
  t.expect(twice.code() == ErrorCode::duplicate_key, "both in one transaction: " + said(twice));
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

void an_abort_leaves_no_lock(Trial& t) {
  t.load({{.id = t.base, .group = t.base}, {.id = t.base + 1, .group = t.base}});
  t.a.begin();
  t.a.set_value(t.base, 1);
  t.a.insert({.id = t.base + 2, .group = t.base});
  t.a.abort();
  // One that has taken some locks when it meets a conflict.
  t.a.begin();
  t.a.values({t.base, t.base + 1});
  t.b.begin();
  t.b.set_value(t.base + 1, 2);
  const Status b_end = t.b.commit();
  t.expect_commit_or_conflict(b_end, "b");
  t.a.set_value(t.base, 3);
  t.a.set_value(t.base + 1, 3);
  t.a.insert({.id = t.base + 3, .group = t.base});
  const Status a_end = t.a.commit();
  t.expect_commit_or_conflict(a_end, "a");
  t.expect(!a_end.ok() || !b_end.ok(), "both have changed the row that both have read");
  const Status after = t.b.retry([&](Client& b) {
    for (std::int64_t id = t.base; id < t.base + 2; ++id) b.set_value(id, 5);
    b.insert({.id = t.base + 2, .group = t.base});
    if (!a_end.ok()) b.insert({.id = t.base + 3, .group = t.base});
  });
  t.expect(after.ok(), "all rows are free: " + said(after));
}

constexpr std::array kCases = {
    Case{"own writes are read", &own_writes_are_read},
    Case{"no update is lost", &no_update_is_lost},
    Case{"write skew is prevented", &write_skew_is_prevented},
    Case{"phantom: a key, inserted", &phantom<Look::key, Change::insert>},
    Case{"phantom: a key, deleted", &phantom<Look::key, Change::erase>},
    Case{"phantom: a key, changed", &phantom<Look::key, Change::update>},
    Case{"phantom: a row that is only read, inserted", &phantom<Look::row, Change::insert>},
    Case{"phantom: a row that is only read, deleted", &phantom<Look::row, Change::erase>},
    Case{"phantom: a row that is only read, changed", &phantom<Look::row, Change::update>},
    Case{"phantom: a table, inserted", &phantom<Look::table, Change::insert>},
    Case{"phantom: a table, deleted", &phantom<Look::table, Change::erase>},
    Case{"phantom: a table, changed", &phantom<Look::table, Change::update>},
    Case{"phantom: an index range, inserted", &phantom<Look::index, Change::insert>},
    Case{"phantom: an index range, deleted", &phantom<Look::index, Change::erase>},
    Case{"phantom: an index range, changed", &phantom<Look::index, Change::update>},
    Case{"phantom: an index range, moved into", &phantom<Look::index, Change::move>},
    Case{"phantom: values of a hash index, inserted", &phantom<Look::hash_index, Change::insert>},
    Case{"phantom: values of a hash index, deleted", &phantom<Look::hash_index, Change::erase>},
    Case{"phantom: values of a hash index, changed", &phantom<Look::hash_index, Change::update>},
    Case{"phantom: values of a hash index, moved into", &phantom<Look::hash_index, Change::move>},
    Case{"phantom that is written: a table", &phantom_that_is_written<Look::table>},
    Case{"phantom that is written: an index range", &phantom_that_is_written<Look::index>},
    Case{"phantom that is written: values of a hash index", &phantom_that_is_written<Look::hash_index>},
    Case{"keys are unique", &keys_are_unique},
    Case{"unique indexes are unique", &unique_indexes_are_unique},
    Case{"indexes follow their table", &indexes_follow_their_table},
    Case{"reading validates in one round trip", &reading_validates_in_one_round_trip},
    Case{"looking at a table validates in one round trip", &looking_validates_in_one_round_trip<Look::table>},
    Case{"looking at an index range validates in one round trip",
         &looking_validates_in_one_round_trip<Look::index>},
    Case{"looking by a hash index validates in one round trip",
         &looking_validates_in_one_round_trip<Look::hash_index>},
    Case{"a key goes in once: one that is there", &a_key_goes_in_once<true>},
    Case{"a key goes in once: one that is not", &a_key_goes_in_once<false>},
    Case{"readers do not meet", &readers_do_not_meet},
    Case{"a reader keeps writers out", &a_reader_keeps_writers_out},
    Case{"a reader goes on to write", &a_reader_goes_on_to_write},
    Case{"an abort leaves no lock", &an_abort_leaves_no_lock},
    Case{"old versions cost few round trips", &old_versions_cost_few_round_trips},
};

}  // namespace

void Trial::expect_commit_or_conflict(const Status& status, const std::string& who) {
  expect(status.ok() || (status.info().sqlstate == "40001" && status.info().retry),
         who + ": " + said(status));
}

void Trial::load(const std::vector<Item>& items) {
  const Status loaded = a.retry([&](Client& client) {
    for (const Item& item : items) client.insert(item);
  });
  expect(loaded.ok(), "load: " + said(loaded));
  settle();
}

void Trial::settle() {
  if (traits.by_clocks) database.wait(10 * kMillisecond_ns);
}

std::span<const Case> cases() {
  return kCases;
}

void long_transactions_end(Trial& t, std::uint64_t max_transaction_ns) {
  t.load({{.id = t.base, .group = t.base}, {.id = t.base + 1, .group = t.base}});
  t.a.begin();
  t.a.set_value(t.base, 1);
  for (int attempt = 0; attempt == 0 || (t.b.status().info().retry && attempt < 50); ++attempt) {
    t.b.begin();
    t.b.value(t.base + 1);
    if (t.b.status().ok()) break;
  }
  t.database.wait(max_transaction_ns + 100 * kMillisecond_ns);
  const Status a_end = t.a.commit();
  t.expect(a_end.code() == ErrorCode::transaction_timeout, "a writer: " + said(a_end));
  t.b.value(t.base);
  const Status b_end = t.b.commit();
  t.expect(b_end.code() == ErrorCode::snapshot_too_old || b_end.code() == ErrorCode::transaction_timeout,
           "a reader: " + said(b_end));
  const Status after = t.b.retry([&](Client& b) {
    b.set_value(t.base, 2);
    b.set_value(t.base + 1, 2);
  });
  t.expect(after.ok(), "its rows are free: " + said(after));
}

}  // namespace namdb::conformance

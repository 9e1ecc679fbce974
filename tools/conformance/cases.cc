#include "tools/conformance/cases.h"

#include <array>

#include "tools/conformance/read_cases.h"

namespace namdb::conformance {
namespace {

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
    Case{"a key goes in once: one that is there", &a_key_goes_in_once<true>},
    Case{"a key goes in once: one that is not", &a_key_goes_in_once<false>},
    Case{"an abort leaves no lock", &an_abort_leaves_no_lock},
};

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all(kCases.begin(), kCases.end());
  const std::span<const Case> of_reads = read_cases();
  all.insert(all.end(), of_reads.begin(), of_reads.end());
  return all;
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

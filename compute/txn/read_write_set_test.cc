// A row is found in a transaction's set by its key, in whatever order the rows came.
#include "compute/txn/read_write_set.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/layout/key.h"

namespace namdb::protocol {
namespace read_write_set_test {

storage::TableRef table_of(std::uint32_t id) {
  std::vector<layout::Column> columns(3);
  columns[0] = {.name = "a", .type = layout::ColumnType::integer};
  columns[1] = {.name = "b", .type = layout::ColumnType::varchar, .length_bytes = 6};
  columns[2] = {.name = "c", .type = layout::ColumnType::bigint};
  auto table = std::make_shared<storage::Table>();
  table->id = id;
  table->schema = *layout::Schema::create(std::move(columns), {0, 1, 2});
  return table;
}

struct Subject {
  // True if the set did not have the row; then it is the next one.
  bool add(const storage::TableRef& table, std::int64_t number) {
    const std::size_t before = set.accesses().size();
    txn::RowId row = 0;
    set.access(table, key(table, number).bytes(), locations, row);
    const bool fresh = set.accesses().size() != before;
    if (fresh) CHECK(row == before);
    return fresh;
  }
  // In the order of the numbers, as long as these are not negative.
  static layout::Key key(const storage::TableRef& table, std::int64_t number) {
    const std::string text = "t" + std::to_string(1000 + number / 7 % 1000);
    return std::move(layout::Key(table->schema).integer(number / 7000).text(text).integer(number % 7));
  }
  bool has(const storage::TableRef& table, std::int64_t number) {
    const layout::Key wanted = key(table, number);
    const Access* found = set.find(*table, wanted.bytes());
    if (found != nullptr) CHECK(std::ranges::equal(found->key, wanted.bytes()));
    return found != nullptr;
  }

  storage::LocationCache locations{0};
  ReadWriteSet set;
};

constexpr std::int64_t kMany = 20'000;

TEST_CASE("rows that come in the order of their keys are all found", "[read-write-set]") {
  const auto table = table_of(1);
  Subject subject;
  for (std::int64_t i = 0; i < kMany; ++i) REQUIRE(subject.add(table, 2 * i));
  for (std::int64_t i = 0; i < kMany; ++i) {
    REQUIRE(subject.has(table, 2 * i));
    REQUIRE_FALSE(subject.has(table, 2 * i + 1));
  }
}

TEST_CASE("a row that is asked for again is the same, before and after others of its table",
          "[read-write-set]") {
  const auto table = table_of(1);
  Subject subject;
  for (std::int64_t i = 0; i < 1000; ++i) {
    REQUIRE(subject.add(table, 10 + 2 * i));
    REQUIRE_FALSE(subject.add(table, 10 + 2 * i));
    REQUIRE_FALSE(subject.add(table, 10 + i / 2 * 2));
  }
  // Between those that are there, and before the first.
  CHECK(subject.add(table, 11));
  CHECK(subject.add(table, 3));
  CHECK_FALSE(subject.add(table, 11));
  CHECK_FALSE(subject.add(table, 3));
  CHECK(subject.add(table, 10 + 2 * 1000));
  CHECK_FALSE(subject.add(table, 10 + 2 * 1000));
}

TEST_CASE("rows of several tables, in no order", "[read-write-set]") {
  const std::vector<storage::TableRef> tables = {table_of(1), table_of(2), table_of(3)};
  Subject subject;
  Random random(1);
  std::vector<std::vector<bool>> added(tables.size(), std::vector<bool>(3000));
  std::int64_t ascending = 2000;
  for (int i = 0; i < 20'000; ++i) {
    const std::size_t of = random.below(tables.size());
    const bool goes_on = ascending != 3000 && random.below(4) == 0;
    const auto number = goes_on ? ascending++ : static_cast<std::int64_t>(random.below(2000));
    const auto at = static_cast<std::size_t>(number);
    REQUIRE(subject.add(tables[of], number) != added[of][at]);
    added[of][at] = true;
  }
  for (std::size_t of = 0; of < tables.size(); ++of) {
    for (std::size_t i = 0; i < 3000; ++i)
      REQUIRE(subject.has(tables[of], static_cast<std::int64_t>(i)) == added[of][i]);
  }
}

}  // namespace read_write_set_test
}  // namespace namdb::protocol

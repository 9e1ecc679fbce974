#include "common/layout/index_key.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "common/base/random.h"
#include "common/layout/same_fields.h"
#include "common/layout/wide_value.h"

namespace namdb::layout {
namespace {

constexpr ColumnType kTypes[] = {ColumnType::bigint,
                                 ColumnType::integer,
                                 ColumnType::smallint,
                                 ColumnType::boolean,
                                 ColumnType::numeric,
                                 ColumnType::character,
                                 ColumnType::double_precision,
                                 ColumnType::timestamp,
                                 ColumnType::varchar,
                                 ColumnType::text,
                                 ColumnType::date,
                                 ColumnType::timestamp_with_time_zone,
                                 ColumnType::time,
                                 ColumnType::time_with_time_zone,
                                 ColumnType::real,
                                 ColumnType::uuid,
                                 ColumnType::bytea,
                                 ColumnType::json,
                                 ColumnType::interval,
                                 ColumnType::decimal};

Column column_of(ColumnType type, bool not_null, std::string name) {
  Column column{.name = std::move(name), .type = type, .not_null = not_null};
  if (column.is_string()) column.length_bytes = 6;
  if (type == ColumnType::numeric) {
    column.precision = 18;
    column.scale = 2;
  }
  return column;
}

std::int64_t random_integer(const Column& column, Random& random) {
  switch (column.type) {
    case ColumnType::boolean:
      return static_cast<std::int64_t>(random.below(2));
    case ColumnType::numeric:
      return static_cast<std::int64_t>(random.below(2'000'000'000'000'000'000 - 1)) - 999'999'999'999'999'999;
    default: {
      const unsigned bits = 8 * column.field_bytes();
      // Small numbers meet each other often; others fill the type.
      const std::uint64_t raw =
          random.chance(0.5) ? random.below(7) - 3 : random.next() >> random.below(bits);
      return static_cast<std::int64_t>(raw << (64 - bits)) >> (64 - bits);
    }
  }
}

double random_real(Random& random) {
  constexpr double kSpecial[] = {0.0,
                                 -0.0,
                                 1.0,
                                 -1.0,
                                 std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN(),
                                 -std::numeric_limits<double>::quiet_NaN(),
                                 std::numeric_limits<double>::denorm_min(),
                                 -std::numeric_limits<double>::denorm_min(),
                                 std::numeric_limits<double>::max(),
                                 std::numeric_limits<double>::lowest()};
  if (random.chance(0.5)) return kSpecial[random.below(std::size(kSpecial))];
  return std::bit_cast<double>(random.next());
}

std::string random_text(Random& random) {
  std::string text;
  for (std::uint64_t i = random.below(7); i > 0; --i) {
    text.push_back(random.chance(0.7) ? static_cast<char>(random.below(4))
                                      : static_cast<char>(random.next()));
  }
  return text;
}

WideField random_wide(const Column& column, Random& random) {
  const auto small = [&random](std::int64_t bound) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * bound + 1))) - bound;
  };
  if (column.type == ColumnType::interval) {
    constexpr std::int64_t kTestDay_us = 86'400'000'000;
    return wide_field(IntervalField{small(3) * kTestDay_us + small(1), static_cast<std::int32_t>(small(90)),
                                    static_cast<std::int32_t>(small(3))});
  }
  DecimalField decimal{small(random.chance(0.5) ? 20 : 1'000'000'000),
                       static_cast<std::uint8_t>(random.below(7))};
  // Of 36 digits.
  if (random.chance(0.3)) {
    for (int i = 0; i < 26; ++i) decimal.value *= 10;
    decimal.scale = static_cast<std::uint8_t>(decimal.scale + random.below(26));
  }
  return wide_field(decimal);
}

// By their quotients and remainders, digit by digit: products would not fit.
int compare_decimals(const DecimalField& left, const DecimalField& right) {
  const auto power = [](unsigned exponent) {
    __int128 value = 1;
    while (exponent-- > 0) value *= 10;
    return value;
  };
  __int128 a = left.value;
  __int128 b = right.value;
  __int128 unit_a = power(left.scale);
  __int128 unit_b = power(right.scale);
  for (int digit = 0; digit < 80; ++digit) {
    if (a / unit_a != b / unit_b) return a / unit_a < b / unit_b ? -1 : 1;
    a = a % unit_a * 10;
    b = b % unit_b * 10;
  }
  return 0;
}

int compare_wide(const Column& column, const std::byte* left, const std::byte* right) {
  if (column.type == ColumnType::decimal) return compare_decimals(decimal_of(left), decimal_of(right));
  const auto size_us = [](const IntervalField& interval) {
    return (static_cast<__int128>(interval.months) * 30 + interval.days) * 86'400'000'000 + interval.time_us;
  };
  const __int128 a = size_us(interval_of(left));
  const __int128 b = size_us(interval_of(right));
  return a < b ? -1 : a > b ? 1 : 0;
}

void randomise(Row& row, Random& random) {
  auto writer = row.writer();
  const auto& columns = row.schema().columns();
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].not_null && random.chance(0.2)) {
      writer.set_null(i);
    } else if (columns[i].is_string()) {
      REQUIRE(writer.set_text(i, random_text(random)).ok());
    } else if (columns[i].is_real()) {
      writer.set_real(i, random_real(random));
    } else if (columns[i].is_wide()) {
      writer.set_wide(i, random_wide(columns[i], random).data());
    } else {
      REQUIRE(writer.set_integer(i, random_integer(columns[i], random)).ok());
    }
  }
}

int sign(int order) {
  return order < 0 ? -1 : order > 0 ? 1 : 0;
}

// As PostgreSQL orders them: NULL behind every value, NaN behind every number.
int compare_column(const RowView& left, const RowView& right, std::uint32_t column) {
  if (left.is_null(column) || right.is_null(column)) {
    return static_cast<int>(left.is_null(column)) - static_cast<int>(right.is_null(column));
  }
  const Column& type = left.schema().columns()[column];
  if (type.is_wide()) return compare_wide(type, left.wide(column), right.wide(column));
  if (type.is_string()) return sign(left.text(column).compare(right.text(column)));
  if (type.is_real()) {
    const double a = left.real(column);
    const double b = right.real(column);
    if (std::isnan(a) || std::isnan(b)) {
      return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
    }
    return a < b ? -1 : a > b ? 1 : 0;
  }
  const std::int64_t a = left.integer(column);
  const std::int64_t b = right.integer(column);
  return a < b ? -1 : a > b ? 1 : 0;
}

int compare_rows(const IndexShape& shape, const RowView& left, const RowView& right) {
  for (const IndexColumn& part : shape.parts()) {
    const int order = compare_column(left, right, part.column);
    if (order != 0) return part.descending ? -order : order;
  }
  return 0;
}

Schema random_schema(Random& random) {
  std::vector<Column> columns;
  const std::size_t count = 2 + random.below(5);
  for (std::size_t i = 0; i < count; ++i) {
    columns.push_back(
        column_of(kTypes[random.below(std::size(kTypes))], random.chance(0.3), "c" + std::to_string(i)));
  }
  std::vector<std::uint32_t> key{static_cast<std::uint32_t>(random.below(count))};
  if (random.chance(0.5)) key.push_back((key[0] + 1) % static_cast<std::uint32_t>(count));
  for (const std::uint32_t column : key) {
    if (!columns[column].can_be_key())
      columns[column] = column_of(ColumnType::bigint, true, columns[column].name);
  }
  auto schema = Schema::create(std::move(columns), std::move(key));
  REQUIRE(schema.ok());
  return std::move(schema).value();
}

IndexShape random_shape(const Schema& schema, Random& random) {
  std::vector<IndexColumn> columns;
  const auto count = static_cast<std::uint32_t>(schema.columns().size());
  const auto first = static_cast<std::uint32_t>(random.below(count));
  const std::uint64_t wanted = 1 + random.below(std::min(count, 3U));
  for (std::uint32_t i = 0; i < wanted; ++i) columns.push_back({(first + i) % count, random.chance(0.4)});
  auto shape = IndexShape::create(schema, std::move(columns));
  REQUIRE(shape.ok());
  return std::move(shape).value();
}

}  // namespace

TEST_CASE("the order of index keys is the order of their rows, whatever the columns", "[index]") {
  Random random(20);
  for (int round = 0; round < 200; ++round) {
    const Schema schema = random_schema(random);
    const IndexShape shape = random_shape(schema, random);
    Row left(schema);
    Row right(schema);
    for (int pair = 0; pair < 100; ++pair) {
      randomise(left, random);
      randomise(right, random);
      const IndexKey a = index_key(shape, left.view());
      const IndexKey b = index_key(shape, right.view());
      REQUIRE(sign(a.bytes.compare(b.bytes)) == compare_rows(shape, left.view(), right.view()));
      REQUIRE(a.bytes.size() <= shape.max_key_bytes());
    }
  }
}

TEST_CASE("rows with the same bytes in an index's columns have the same key, whatever the other columns have",
          "[index]") {
  Random random(22);
  std::size_t same = 0;
  for (int round = 0; round < 2000; ++round) {
    const Schema schema = random_schema(random);
    const IndexShape shape = random_shape(schema, random);
    Row row(schema);
    randomise(row, random);
    Row changed(schema, row.bytes());
    // One column of those that can be set to NULL.
    std::vector<std::uint32_t> nullable;
    for (std::uint32_t i = 0; i < schema.columns().size(); ++i) {
      if (!schema.columns()[i].not_null && !row.view().is_null(i)) nullable.push_back(i);
    }
    if (nullable.empty()) continue;
    const std::uint32_t column = nullable[random.below(nullable.size())];
    changed.writer().set_null(column);
    const bool in_index = std::ranges::any_of(
        shape.parts(), [column](const IndexColumn& part) { return part.column == column; });
    REQUIRE(has_same_fields(shape, row.view(), changed.view()) == !in_index);
    REQUIRE((index_key(shape, row.view()) == index_key(shape, changed.view())) == !in_index);
    if (!in_index) ++same;
  }
  CHECK(same > 0);
}

TEST_CASE("the primary key is read back out of an index key, and out of nothing else", "[index]") {
  Random random(21);
  for (int round = 0; round < 500; ++round) {
    const Schema schema = random_schema(random);
    const IndexShape shape = random_shape(schema, random);
    Row row(schema);
    randomise(row, random);
    IndexKey key = index_key(shape, row.view());
    const auto primary = primary_key_of(shape, key.bytes);
    REQUIRE(primary);
    REQUIRE(std::ranges::equal(*primary, row.key()));
    CHECK_FALSE(primary_key_of(shape, key.bytes + '\0'));
    for (std::size_t length = 0; length < key.bytes.size(); ++length) {
      REQUIRE_FALSE(primary_key_of(shape, std::string_view(key.bytes).substr(0, length)));
    }
    // Bytes from outside are refused or read, and never more than that.
    key.bytes[random.below(key.bytes.size())] = static_cast<char>(random.next());
    static_cast<void>(primary_key_of(shape, key.bytes));
  }
}

TEST_CASE("values whose equals have other bytes are in no primary key", "[index]") {
  for (const ColumnType type :
       {ColumnType::interval, ColumnType::decimal, ColumnType::jsonb, ColumnType::integer_array}) {
    const auto schema = Schema::create({column_of(type, true, "a")}, {0});
    CHECK(schema.status().code() == ErrorCode::feature_not_supported);
  }
}

TEST_CASE("a prefix of columns has the bytes of the keys that begin with it", "[index]") {
  const auto schema = Schema::create(
      {column_of(ColumnType::bigint, true, "id"), column_of(ColumnType::varchar, false, "name"),
       column_of(ColumnType::double_precision, false, "weight")},
      {0});
  const auto shape = IndexShape::create(*schema, {{1, true}, {2, false}});
  Row row(*schema);
  REQUIRE(row.writer().set_integer(0, 7).ok());
  REQUIRE(row.writer().set_text(1, std::string_view("a\0b", 3)).ok());
  row.writer().set_real(2, -2.5);
  IndexPrefix prefix(*shape);
  prefix.text(std::string_view("a\0b", 3)).real(-2.5);
  IndexKey key = index_key(*shape, row.view());
  CHECK(key.declared() == prefix.bytes());
  CHECK_FALSE(key.has_null);
  CHECK(key.bytes == std::string(prefix.bytes()) + std::string("\x80\0\0\0\0\0\0\x07", 8));
  row.writer().set_null(1);
  key = index_key(*shape, row.view());
  CHECK(key.has_null);
  CHECK(key.bytes.starts_with(IndexPrefix(*shape).null().bytes()));
  CHECK(prefix.columns() == 2);
}

TEST_CASE("the bytes of index keys are as format version 1 has them", "[index]") {
  const auto schema = Schema::create(
      {column_of(ColumnType::smallint, true, "id"), column_of(ColumnType::varchar, false, "name"),
       column_of(ColumnType::boolean, true, "flag")},
      {0});
  const auto shape = IndexShape::create(*schema, {{1, false}, {2, true}});
  Row row(*schema);
  REQUIRE(row.writer().set_integer(0, -2).ok());
  REQUIRE(row.writer().set_text(1, "x\1").ok());
  REQUIRE(row.writer().set_integer(2, 1).ok());
  CHECK(index_key(*shape, row.view()).bytes == std::string("\1x\1\2\0\xfe\x7f\xfe", 8));
  row.writer().set_null(1);
  CHECK(index_key(*shape, row.view()).bytes == std::string("\2\xfe\x7f\xfe", 4));
}

TEST_CASE("a primary key's columns are not repeated behind an index that has them", "[index]") {
  const auto schema = Schema::create(
      {column_of(ColumnType::integer, true, "a"), column_of(ColumnType::integer, true, "b")}, {0, 1});
  const auto shape = IndexShape::create(*schema, {{1, true}});
  REQUIRE(shape->parts().size() == 2);
  CHECK(shape->parts()[1] == IndexColumn{0, false});
  CHECK(shape->columns().size() == 1);
  CHECK(shape->max_key_bytes() == 8);
}

TEST_CASE("an index over no column, one twice, or one that is not there is refused", "[index]") {
  const auto schema = Schema::create({column_of(ColumnType::integer, true, "a")}, {0});
  CHECK_FALSE(IndexShape::create(*schema, {}).ok());
  CHECK_FALSE(IndexShape::create(*schema, {{0}, {0}}).ok());
  CHECK_FALSE(IndexShape::create(*schema, {{1}}).ok());
}

TEST_CASE("the successor of a prefix stands right behind all that begin with it", "[index]") {
  CHECK(index_successor("ab") == "ac");
  CHECK(index_successor("a\xff\xff") == "b");
  CHECK_FALSE(index_successor("\xff"));
  CHECK_FALSE(index_successor(""));
}

TEST_CASE("rows that hold different NaNs have one key", "[index]") {
  const auto schema = Schema::create({column_of(ColumnType::double_precision, true, "a")}, {0});
  Row left(*schema);
  Row right(*schema);
  left.writer().set_real(0, std::numeric_limits<double>::quiet_NaN());
  right.writer().set_real(0, -std::numeric_limits<double>::quiet_NaN());
  CHECK(std::ranges::equal(left.key(), right.key()));
}

}  // namespace namdb::layout

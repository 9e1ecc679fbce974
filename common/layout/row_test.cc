#include "common/layout/row.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "common/layout/key.h"

namespace namdb::layout {
namespace {

Schema example() {
  std::vector<Column> columns(5);
  columns[0] = {.name = "note", .type = ColumnType::varchar, .length_bytes = 5};
  columns[1] = {.name = "id", .type = ColumnType::bigint};
  columns[2] = {.name = "small", .type = ColumnType::smallint};
  columns[3] = {.name = "price", .type = ColumnType::numeric, .precision = 4, .scale = 2};
  columns[4] = {.name = "part", .type = ColumnType::integer};
  auto schema = Schema::create(std::move(columns), {4, 1});
  REQUIRE(schema.ok());
  return std::move(schema).value();
}

}  // namespace

TEST_CASE("key columns stand first, in key order, without gaps", "[row]") {
  const Schema schema = example();
  CHECK(schema.key_offset() == 8);
  CHECK(schema.field_offset(4) == 8);
  CHECK(schema.field_offset(1) == 12);
  CHECK(schema.key_bytes() == 12);
  CHECK(schema.row_bytes() % 8 == 0);
  CHECK(schema.columns()[4].not_null);
}

TEST_CASE("fields read back as they were set", "[row]") {
  const Schema schema = example();
  Row row(schema);
  auto writer = row.writer();
  REQUIRE(writer.set_text(0, "abc").ok());
  REQUIRE(writer.set_integer(1, -5).ok());
  REQUIRE(writer.set_integer(2, -32768).ok());
  REQUIRE(writer.set_integer(3, 9999).ok());
  REQUIRE(writer.set_integer(4, 7).ok());
  CHECK(row.view().text(0) == "abc");
  CHECK(row.view().integer(1) == -5);
  CHECK(row.view().integer(2) == -32768);
  CHECK(row.view().integer(3) == 9999);
  writer.set_null(0);
  CHECK(row.view().is_null(0));
  CHECK_FALSE(row.view().is_null(1));
  CHECK(row.view().text(0).empty());
}

TEST_CASE("values that do not fit are refused with their SQLSTATE and change nothing", "[row]") {
  const Schema schema = example();
  Row row(schema);
  auto writer = row.writer();
  REQUIRE(writer.set_integer(2, 3).ok());
  CHECK(writer.set_integer(2, 32768).code() == ErrorCode::numeric_out_of_range);
  CHECK(writer.set_integer(3, 10000).code() == ErrorCode::numeric_out_of_range);
  CHECK(writer.set_text(0, "abcdef").code() == ErrorCode::string_too_long);
  CHECK(row.view().integer(2) == 3);
}

TEST_CASE("a key built column by column has the key bytes of its row", "[row]") {
  const Schema schema = example();
  Row row(schema);
  REQUIRE(row.writer().set_integer(1, 77).ok());
  REQUIRE(row.writer().set_integer(4, -3).ok());
  Key key(schema);
  key.integer(-3).integer(77);
  REQUIRE(key.complete());
  CHECK(std::ranges::equal(key.bytes(), row.key()));
  CHECK_FALSE(Key(schema).add_integer(std::int64_t{1} << 40).ok());
}

TEST_CASE("tables without a sound key or with rows too long are refused", "[row]") {
  const Column column{.name = "a"};
  CHECK_FALSE(Schema::create({}, {0}).ok());
  CHECK_FALSE(Schema::create({column}, {}).ok());
  CHECK_FALSE(Schema::create({column}, {1}).ok());
  CHECK_FALSE(Schema::create({column, column}, {0, 0}).ok());
  const Column wide{.name = "w", .type = ColumnType::text, .length_bytes = kMaxString_bytes};
  CHECK(Schema::create({column, wide, wide, wide}, {0}).status().code() == ErrorCode::limit_exceeded);
}

}  // namespace namdb::layout

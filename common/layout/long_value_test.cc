#include "common/layout/long_value.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/layout/index_key.h"
#include "common/layout/index_page.h"

namespace namdb::layout {
namespace {

Column column_of(ColumnType type, std::uint32_t length_bytes, std::uint8_t precision = 0) {
  return {.name = "value", .type = type, .length_bytes = length_bytes, .precision = precision};
}

Schema schema_of(Column column) {
  auto schema = Schema::create({{.name = "id"}, std::move(column)}, {0});
  REQUIRE(schema.ok());
  return std::move(*schema);
}

LongValuePlace some_place() {
  LongValuePlace place;
  place.length_bytes = 0x01020304;
  place.table = 77;
  for (std::size_t i = 0; i < place.id.size(); ++i) place.id[i] = static_cast<char>(0xf0 + i);
  return place;
}

}  // namespace

TEST_CASE("a place stands in the field behind the mark", "[long_value]") {
  const Schema schema = schema_of(column_of(ColumnType::text, 40));
  Row row(schema);
  REQUIRE_FALSE(is_long(row.view(), 1));
  set_long_value(row.writer(), 1, pack(some_place()));
  REQUIRE(is_long(row.view(), 1));
  CHECK_FALSE(row.view().is_null(1));
  CHECK(unpack_long_value_place(long_value_place(row.view(), 1)) == some_place());
  std::string field(reinterpret_cast<const char*>(row.view().wide(1)), 42);
  std::string golden = "\xff\xff\x04\x03\x02\x01\x4d";
  golden.append(3, '\0');
  for (int i = 0; i < 16; ++i) golden.push_back(static_cast<char>(0xf0 + i));
  golden.append(16, '\0');
  CHECK(field == golden);
  // Another value takes its place.
  REQUIRE(row.writer().set_text(1, "short").ok());
  CHECK_FALSE(is_long(row.view(), 1));
  row.writer().set_null(1);
  CHECK_FALSE(is_long(row.view(), 1));
}

TEST_CASE("columns without a declared length can have long values, if a place fits", "[long_value]") {
  for (const ColumnType type : {ColumnType::text, ColumnType::bytea, ColumnType::json, ColumnType::jsonb,
                                ColumnType::integer_array, ColumnType::jsonb_array}) {
    CHECK(can_be_long(column_of(type, kLongValuePlace_bytes)));
    CHECK_FALSE(can_be_long(column_of(type, kLongValuePlace_bytes - 1)));
  }
  CHECK(can_be_long(column_of(ColumnType::varchar, 100, kUnboundedVarchar)));
  CHECK_FALSE(can_be_long(column_of(ColumnType::varchar, 100)));
  CHECK_FALSE(can_be_long(column_of(ColumnType::character, 100)));
  CHECK_FALSE(can_be_long(column_of(ColumnType::uuid, 100)));
  CHECK_FALSE(can_be_long(column_of(ColumnType::bigint, 100)));
}

TEST_CASE("no index has room for the key of a long value", "[long_value]") {
  const Schema schema = schema_of(column_of(ColumnType::text, 40));
  const auto shape = IndexShape::create(schema, {{1, false}});
  REQUIRE(shape.ok());
  Row row(schema);
  REQUIRE(row.writer().set_text(1, std::string(40, 'x')).ok());
  CHECK(index_key(*shape, row.view()).bytes.size() < 100);
  set_long_value(row.writer(), 1, pack(some_place()));
  CHECK(index_key(*shape, row.view()).bytes.size() > kMaxIndexPage_bytes);
}

}  // namespace namdb::layout

#include "tools/support/client/wire_value.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace namdb;
using namespace namdb::support;
using layout::ColumnType;

TEST_CASE("numerics are written and read back exactly") {
  CHECK(numeric_text(-1230, 2) == "-12.30");
  CHECK(numeric_text(5, 4) == "0.0005");
  CHECK(numeric_text(-5, 1) == "-0.5");
  CHECK(numeric_text(7, 0) == "7");
  CHECK(numeric_text(std::numeric_limits<std::int64_t>::min(), 0) == "-9223372036854775808");
  for (const std::int64_t value : {0L, 1L, -1L, 99L, -100L, 123456789012345L}) {
    for (unsigned scale = 0; scale < 5; ++scale)
      CHECK(parse_numeric(numeric_text(value, scale), scale) == value);
  }
  CHECK(parse_numeric("12", 2) == 1200);
  CHECK(parse_numeric("12.3000", 2) == 1230);
  CHECK_FALSE(parse_numeric("12.345", 2).has_value());
  CHECK_FALSE(parse_numeric("", 2).has_value());
  CHECK_FALSE(parse_numeric("1e3", 0).has_value());
  CHECK_FALSE(parse_numeric("99999999999999999999", 0).has_value());
}

TEST_CASE("timestamps are written as PostgreSQL reads them") {
  CHECK(timestamp_text(0) == "2000-01-01 00:00:00.000000");
  CHECK(timestamp_text(-1) == "1999-12-31 23:59:59.999999");
  CHECK(timestamp_text(std::int64_t{9'497} * 86'400'000'000 + 3'661'000'002) == "2026-01-01 01:01:01.000002");
}

TEST_CASE("timestamps are read as they are written, and malformed ones are refused") {
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{820'540'800'000'001}})
    CHECK(parse_timestamp(timestamp_text(value)) == value);
  CHECK(parse_timestamp("2000-01-02 00:00:01") == std::int64_t{86'401} * 1'000'000);
  CHECK(parse_timestamp("2000-01-01 00:00:00.5") == 500'000);
  for (const char* text :
       {"", "2000-01-01", "2000-13-01 00:00:00", "2000-01-01 00:00:00x", "2000-01-01 00:00:00.1234567"})
    CHECK_FALSE(parse_timestamp(text).has_value());
}

TEST_CASE("parameters are integers in binary and all else in text") {
  WireParameters parameters;
  parameters.add(std::int64_t{-2}, ColumnType::bigint, 0);
  parameters.add(std::int64_t{258}, ColumnType::smallint, 0);
  parameters.add(std::int64_t{1234}, ColumnType::numeric, 2);
  parameters.add(std::string("a,b"), ColumnType::text, 0);
  parameters.add(procedure::Value(), ColumnType::text, 0);
  REQUIRE(parameters.count() == 5);
  const char* const* values = parameters.values();
  CHECK(std::string(values[0], 8) == std::string("\xff\xff\xff\xff\xff\xff\xff\xfe", 8));
  CHECK(std::string(values[1], 2) == std::string("\x01\x02", 2));
  CHECK(std::string(values[2]) == "12.34");
  CHECK(std::string(values[3]) == "a,b");
  CHECK(values[4] == nullptr);
  CHECK(parameters.formats()[0] == 1);
  CHECK(parameters.formats()[2] == 0);
  CHECK(parameters.lengths()[1] == 2);
}

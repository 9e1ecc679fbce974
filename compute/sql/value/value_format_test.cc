#include "compute/sql/value/value_format.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "common/base/random.h"
#include "compute/sql/value/calendar.h"
#include "compute/sql/value/timestamp.h"
#include "compute/sql/value/zoned_time.h"

namespace namdb::sql {
namespace {

std::string text_of(TypeId type, const Datum& value) {
  std::string out;
  append_text(out, {type}, value);
  return out;
}

void check_round_trip(TypeId type, const Datum& value) {
  const std::string text = text_of(type, value);
  Datum back;
  Arena arena;
  INFO(type_name(type) << " " << text);
  REQUIRE(parse_text(text, type, TimeContext(), arena, back).ok());
  CHECK(text_of(type, back) == text);
  std::string binary;
  append_binary(binary, {type}, value);
  REQUIRE(parse_binary(binary, type, arena, back).ok());
  CHECK(text_of(type, back) == text);
}

}  // namespace

TEST_CASE("values survive text and binary form", "[format]") {
  Random random(5);
  for (int i = 0; i < 3000; ++i) {
    const auto bits = static_cast<std::int64_t>(random.next()) >> random.below(64);
    check_round_trip(TypeId::int8, Datum::of_integer(bits));
    check_round_trip(TypeId::int4, Datum::of_integer(static_cast<std::int32_t>(bits)));
    check_round_trip(TypeId::int2, Datum::of_integer(static_cast<std::int16_t>(bits)));
    check_round_trip(TypeId::boolean, Datum::of_boolean((bits & 1) != 0));
    const double real = std::bit_cast<double>(random.next());
    if (!std::isnan(real)) check_round_trip(TypeId::float8, Datum::of_real(real));
    check_round_trip(TypeId::numeric, Datum::of_decimal({bits, static_cast<unsigned>(random.below(19))}));
    // Years 1 to 9999.
    const std::int64_t timestamp_us =
        static_cast<std::int64_t>(random.below(9'000 * 31'556'952'000'000ULL)) - 1'900 * 31'556'952'000'000LL;
    check_round_trip(TypeId::timestamp, Datum::of_integer(timestamp_us));
    check_round_trip(TypeId::timestamptz, Datum::of_integer(timestamp_us));
    check_round_trip(TypeId::date, Datum::of_integer(timestamp_us / kDay_us));
    check_round_trip(TypeId::time, Datum::of_integer(static_cast<std::int64_t>(random.below(kDay_us + 1))));
    check_round_trip(
        TypeId::timetz,
        Datum::of_integer(packed({static_cast<std::int64_t>(random.below(kDay_us + 1)),
                                  static_cast<std::int64_t>(random.below(2 * 57'600 - 1)) - 57'599})));
    check_round_trip(TypeId::interval, Datum::of_interval({static_cast<std::int32_t>(bits >> 32),
                                                           static_cast<std::int32_t>(bits), bits / 2}));
    std::string bytes(16, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.next());
    check_round_trip(TypeId::uuid, Datum::of_text(bytes));
    check_round_trip(TypeId::bytea, Datum::of_text(std::string_view(bytes).substr(random.below(17))));
    const float single = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    if (!std::isnan(single)) check_round_trip(TypeId::float4, Datum::of_real(static_cast<double>(single)));
  }
  for (const double real : {0.0, -0.0, 1e300, 5e-324, 1.7976931348623157e308, HUGE_VAL, -HUGE_VAL})
    check_round_trip(TypeId::float8, Datum::of_real(real));
  for (const std::int64_t limit :
       {kTimestampInfinity, kTimestampMinusInfinity, std::int64_t{0}, kUnixEpoch_us})
    check_round_trip(TypeId::timestamp, Datum::of_integer(limit));
}

TEST_CASE("days follow each other through leap years and centuries", "[format]") {
  std::string previous;
  for (std::int64_t day = -800'000; day < 800'000; day += 1) {
    std::string text;
    append_timestamp(text, day * kDay_us);
    const Result<std::int64_t> back = parse_timestamp(text, TimeContext());
    if (!back.ok() || *back != day * kDay_us) FAIL(text);
  }
  CHECK_FALSE(parse_timestamp("1900-02-29", TimeContext()).ok());
  CHECK(parse_timestamp("2000-02-29", TimeContext()).ok());
}

TEST_CASE("timestamps in other forms", "[format]") {
  const auto parse = [](std::string_view text, bool zone = false) {
    const TimeContext context{.now_us = 42};
    const Result<std::int64_t> value =
        zone ? parse_timestamp_with_zone(text, context) : parse_timestamp(text, context);
    std::string out;
    if (value.ok() && zone) append_timestamp(out, *value, context.zone);
    if (value.ok() && !zone) append_timestamp(out, *value);
    return value.ok() ? out : std::string(value.status().info().sqlstate);
  };
  CHECK(parse(" 2024-1-2 3:04 ") == "2024-01-02 03:04:00");
  CHECK(parse("2024-01-02T03:04:05Z") == "2024-01-02 03:04:05");
  CHECK(parse("2024-01-02 24:00:00") == "2024-01-03 00:00:00");
  CHECK(parse("2024-01-02 23:59:60") == "2024-01-03 00:00:00");
  CHECK(parse("2024-01-02 00:00:00.1234567") == "2024-01-02 00:00:00.123457");
  CHECK(parse("2024-01-02 03:04:05-08:30", true) == "2024-01-02 11:34:05+00");
  CHECK(parse("2024-01-02 03:04:05 +0100", true) == "2024-01-02 02:04:05+00");
  CHECK(parse("now") == "2000-01-01 00:00:00.000042");
  for (const std::string_view text : {"2024-13-01", "2024-00-01", "2024-01-32", "2024-01-01 25:00",
                                      "2024-01-01 10:60", "0000-01-01", "999999-01-01"})
    CHECK(parse(text) == "22008");
  for (const std::string_view text :
       {"", "2024", "2024-01", "01/02/2024", "2024-01-01 10", "2024-01-01 x", "2024-01-01 10:00:00+1x"})
    CHECK(parse(text) == "22007");
  CHECK(parse("2024-01-01 10:00 Mars/Olympus") == "22023");
}

TEST_CASE("a zone's clock and UTC convert into each other, but for times that the clock skips or repeats",
          "[format]") {
  const absl::TimeZone berlin = find_time_zone("Europe/Berlin").value();
  Random random(8);
  for (int i = 0; i < 20'000; ++i) {
    // Years 1900 to 2100.
    const std::int64_t utc_us =
        static_cast<std::int64_t>(random.below(200 * 366 * std::uint64_t{kDay_us})) - 100 * 366 * kDay_us;
    const std::int64_t clock_us = local_of_utc(utc_us, berlin);
    const std::int64_t back_us = utc_of_local(clock_us, berlin);
    const std::int64_t off_us = back_us - utc_us;
    INFO(utc_us);
    const bool is_same_clock = local_of_utc(back_us, berlin) == clock_us;
    CHECK(is_same_clock);
    const bool is_near = off_us == 0 || off_us == kHour_us || off_us == -kHour_us;
    CHECK(is_near);
  }
  CHECK(local_of_utc(kTimestampInfinity, berlin) == kTimestampInfinity);
  CHECK(utc_of_local(kTimestampMinusInfinity, berlin) == kTimestampMinusInfinity);
}

TEST_CASE("malformed binary values are refused", "[format]") {
  Datum out;
  Arena arena;
  for (const TypeId type : {TypeId::int2, TypeId::int4, TypeId::int8, TypeId::float8, TypeId::timestamp,
                            TypeId::boolean, TypeId::numeric}) {
    // As in PostgreSQL: too few bytes are the message's fault, too many the value's.
    CHECK(parse_binary("", type, arena, out).code() == ErrorCode::protocol_violation);
    const std::string long_value(21, '\0');
    CHECK(parse_binary(long_value, type, arena, out).code() == ErrorCode::invalid_binary);
  }
  CHECK(parse_binary("abc", TypeId::int4, arena, out).code() == ErrorCode::protocol_violation);
  CHECK(parse_binary("abc", TypeId::int2, arena, out).code() == ErrorCode::invalid_binary);
  CHECK(parse_binary(std::string(4, '\0'), TypeId::float4, arena, out).ok());
  CHECK(parse_binary("\xff", TypeId::text, arena, out).code() == ErrorCode::invalid_encoding);
  // A digit of numeric beyond 9999, NaN, an absurd weight.
  CHECK_FALSE(parse_binary(std::string("\0\1\0\0\0\0\0\0\x27\x10", 10), TypeId::numeric, arena, out).ok());
  CHECK_FALSE(parse_binary(std::string("\0\0\0\0\xc0\0\0\0", 8), TypeId::numeric, arena, out).ok());
  CHECK_FALSE(parse_binary(std::string("\0\1\x7f\xff\0\0\0\0\0\1", 10), TypeId::numeric, arena, out).ok());
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random.below(24), '\0');
    for (char& c : bytes) c = static_cast<char>(random.below(4) == 0 ? random.next() : random.below(4));
    (void)parse_binary(bytes, TypeId::numeric, arena, out).ok();
    (void)parse_text(bytes, TypeId::timestamp, TimeContext(), arena, out).ok();
  }
}

TEST_CASE("only well-formed UTF-8 passes", "[format]") {
  for (const std::string_view good :
       {"", "abc", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(check_utf8(good).ok());
  for (const std::string_view bad :
       {std::string_view("\0", 1), std::string_view("\x80"), std::string_view("\xc3"),
        std::string_view("\xc0\xaf"), std::string_view("\xe0\x80\x80"), std::string_view("\xed\xa0\x80"),
        std::string_view("\xf4\x90\x80\x80"), std::string_view("\xff"), std::string_view("a\xe2\x82")})
    CHECK(check_utf8(bad).code() == ErrorCode::invalid_encoding);
}

}  // namespace namdb::sql

#include "compute/sql/value/decimal.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "common/base/random.h"

namespace namdb::sql {
namespace {

std::string shown(const Result<Decimal>& number) {
  return number.ok() ? to_string(*number) : std::string(number.status().info().name);
}

Decimal number(std::string_view text) {
  const Result<Decimal> parsed = parse_decimal(text);
  REQUIRE(parsed.ok());
  return *parsed;
}

}  // namespace

TEST_CASE("decimals read back as they were written", "[decimal]") {
  for (const std::string text : {"0", "1", "-1", "0.00", "-0.01", "123456789012345678.90", "1.000",
                                 "99999999999999999999999999999999999999"}) {
    CHECK(shown(parse_decimal(text)) == text);
  }
  CHECK(shown(parse_decimal(" +1.5e3 ")) == "1500");
  CHECK(shown(parse_decimal("1e-3")) == "0.001");
  CHECK(shown(parse_decimal("-.5")) == "-0.5");
  CHECK(shown(parse_decimal("5.")) == "5");
  CHECK(shown(parse_decimal("0e1000000")) == "0");
  for (const std::string text : {"", " ", ".", "-", "1e", "1.2.3", "1 2", "0x1", "--1", "1e+-2", "e5"})
    CHECK(parse_decimal(text).status().code() == ErrorCode::invalid_text);
  for (const std::string text : {"1e39", "1e99999999999999999999", "999999999999999999999999999999999999999"})
    CHECK(parse_decimal(text).status().code() == ErrorCode::numeric_out_of_range);
  CHECK(parse_decimal("NaN").status().code() == ErrorCode::feature_not_supported);
}

TEST_CASE("rounding is half away from zero", "[decimal]") {
  CHECK(shown(rescale(number("2.5"), 0)) == "3");
  CHECK(shown(rescale(number("-2.5"), 0)) == "-3");
  CHECK(shown(rescale(number("2.4999"), 0)) == "2");
  CHECK(shown(rescale(number("-0.005"), 2)) == "-0.01");
  CHECK(to_scaled_integer(number("99.995"), 4, 2).status().code() == ErrorCode::numeric_out_of_range);
  CHECK(*to_scaled_integer(number("99.994"), 4, 2) == 9999);
  CHECK(*to_integer(number("-9223372036854775808.4")) == INT64_MIN);
  CHECK(to_integer(number("9223372036854775807.5")).status().code() == ErrorCode::numeric_out_of_range);
}

// The answers of PostgreSQL 15.
TEST_CASE("quotients have PostgreSQL's scale", "[decimal]") {
  struct Case {
    const char* left;
    const char* right;
    const char* quotient;
  };
  for (const Case& c :
       {Case{"1", "3", "0.33333333333333333333"}, Case{"10", "4", "2.5000000000000000"},
        Case{"1000000", "3", "333333.333333333333"}, Case{"2", "3", "0.66666666666666666667"},
        Case{"0.001", "7", "0.00014285714285714286"}, Case{"21", "6", "3.5000000000000000"},
        Case{"125.75", "5", "25.1500000000000000"}, Case{"0", "7", "0.00000000000000000000"},
        Case{"-1", "3", "-0.33333333333333333333"}, Case{"1", "-8", "-0.12500000000000000000"},
        Case{"123456789012345678", "7", "17636684144620811"}}) {
    INFO(c.left << " / " << c.right);
    CHECK(shown(divide(number(c.left), number(c.right))) == c.quotient);
  }
  CHECK(divide(number("1"), number("0.0")).status().code() == ErrorCode::division_by_zero);
}

TEST_CASE("a quotient whose dividend does not fit is exact", "[decimal]") {
  CHECK(shown(divide(number("-12345678901234567890.12"), number("3.000000000000000"))) ==
        "-4115226300411522630.040000000000000");
  CHECK(shown(divide(number("66666666666666666666666666"), number("-100000000000000000000000000.00"))) ==
        "-0.66666666666666666667");
  CHECK(divide(number("99999999999999999999999999999999999999"), number("7.0000000000")).status().code() ==
        ErrorCode::numeric_out_of_range);
}

TEST_CASE("sums, products and comparisons agree with integers", "[decimal]") {
  Random random(11);
  for (int i = 0; i < 2000; ++i) {
    const auto a = static_cast<std::int64_t>(random.next()) >> random.below(40);
    const auto b = static_cast<std::int64_t>(random.next()) >> random.below(40);
    const auto scale_a = static_cast<unsigned>(random.below(8));
    const auto scale_b = static_cast<unsigned>(random.below(8));
    Int128 wide_a = a;
    Int128 wide_b = b;
    for (unsigned s = scale_a; s < 8; ++s) wide_a *= 10;
    for (unsigned s = scale_b; s < 8; ++s) wide_b *= 10;
    const Decimal left{a, scale_a};
    const Decimal right{b, scale_b};
    const Result<Decimal> sum = rescale(*add(left, right), 8);
    REQUIRE(sum.ok());
    CHECK(sum->value == wide_a + wide_b);
    CHECK(compare(left, right) == (wide_a < wide_b ? -1 : wide_a > wide_b ? 1 : 0));
    CHECK(multiply(left, right)->value == static_cast<Int128>(a) * b);
    if (b != 0) {
      const Result<Decimal> rest = rescale(*remainder(left, right), 8);
      CHECK(rest->value == wide_a % wide_b);
    }
    CHECK(compare(number(to_string(left)), left) == 0);
    CHECK(to_double(left) == Approx(static_cast<double>(a) / std::pow(10.0, scale_a)));
  }
}

TEST_CASE("a number that 128 bits cannot hold is an error, never another number", "[decimal]") {
  const Decimal large = number("99999999999999999999999999999999999999");
  CHECK(add(large, large).status().code() == ErrorCode::numeric_out_of_range);
  CHECK(subtract(large, number("1")).ok());
  CHECK(add(large, number("1")).status().code() == ErrorCode::numeric_out_of_range);
  CHECK(multiply(large, number("10")).status().code() == ErrorCode::numeric_out_of_range);
  CHECK(rescale(large, 2).status().code() == ErrorCode::numeric_out_of_range);
  CHECK(compare(large, number("0.0000000001")) == 1);
  CHECK(compare(number("-99999999999999999999999999999999999999"), number("0.0000000001")) == -1);
  CHECK(compare(number("0.0000000001"), large) == -1);
  CHECK(multiply(number("1e-70"), number("1e-70")).status().code() == ErrorCode::numeric_out_of_range);
}

}  // namespace namdb::sql

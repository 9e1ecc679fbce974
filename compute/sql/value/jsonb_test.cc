#include "compute/sql/value/jsonb.h"

#include <catch2/catch.hpp>

#include "common/base/random.h"
#include "compute/sql/value/json_text.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

std::string normal(std::string_view text) {
  Arena arena;
  Datum out;
  const Status status = parse_jsonb(text, arena, out);
  return status.ok() ? std::string(out.text) : std::string(status.info().name);
}

std::string random_json(Random& random, int depth) {
  const std::uint64_t kind = random.below(depth > 3 ? 5 : 7);
  switch (kind) {
    case 0:
      return "null";
    case 1:
      return random.chance(0.5) ? "true" : "false";
    case 2:
      return std::to_string(static_cast<int>(random.below(5)) - 2) + (random.chance(0.4) ? ".0" : "") +
             (random.chance(0.2) ? "e1" : "");
    case 3:
      return R"("\u0061)" + std::string(random.below(3), 'b') + "\"";
    case 4:
      return R"("a\"")";
    default: {
      const bool object = kind == 5;
      std::string text(1, object ? '{' : '[');
      for (std::uint64_t i = random.below(4); i > 0; --i) {
        if (text.size() > 1) text += " ,";
        if (object) text += "\"" + std::string(random.below(3), 'k') + "\":";
        text += random_json(random, depth + 1);
      }
      return text + (object ? '}' : ']');
    }
  }
}

}  // namespace

TEST_CASE("a normal form is its own normal form", "[jsonb]") {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const std::string once = normal(random_json(random, 0));
    REQUIRE(normal(once) == once);
  }
  CHECK(normal(R"({"bb":1,"a":[ ],"a":{}})") == R"({"a": {}, "bb": 1})");
  CHECK(normal("[1.50, 1e3, -0.0, 12e-1, 0.1e1]") == "[1.50, 1000, 0.0, 1.2, 1]");
}

TEST_CASE("equal values of jsonb have equal bytes, and their order is one", "[jsonb]") {
  Random random(6);
  for (int i = 0; i < 5000; ++i) {
    const std::string a = normal(random_json(random, 1));
    const std::string b = normal(random_json(random, 1));
    const std::string c = normal(random_json(random, 1));
    const int order = compare_jsonb(a, b);
    REQUIRE(compare_jsonb(b, a) == -order);
    std::string bytes_a;
    std::string bytes_b;
    append_equal_jsonb(bytes_a, a);
    append_equal_jsonb(bytes_b, b);
    INFO(a << " and " << b);
    REQUIRE((order == 0) == (bytes_a == bytes_b));
    if (order <= 0 && compare_jsonb(b, c) <= 0) REQUIRE(compare_jsonb(a, c) <= 0);
  }
}

TEST_CASE("documents of jsonb are bounded", "[jsonb]") {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  CHECK(normal(nested(kMaxJsonDepth)) == nested(kMaxJsonDepth));
  CHECK(normal(nested(kMaxJsonDepth + 1)) == "statement_too_complex");
  CHECK(normal(std::string(1 << 20, '[')) == "statement_too_complex");
  std::string many = "[1";
  for (std::size_t i = 0; i < kMaxJsonValues; ++i) many += ",1";
  CHECK(normal(many + "]") == "limit_exceeded");
  CHECK(normal("\"" + std::string(kMaxJson_bytes, 'x') + "\"") == "limit_exceeded");
  CHECK(normal("1e200000") == "numeric_out_of_range");
  CHECK(normal("[1e300,1e300]").size() == 2 * 301 + 4);
  for (const std::string text : {"", "{", "[1,]", "{\"a\"}", "nul", "1 2", "'a'", "\"\\u0000\"", "01", "[1}"})
    CHECK(normal(text) == "invalid_text");
}

TEST_CASE("parts of a JSON text are found in place, whatever its blanks", "[jsonb]") {
  const JsonValue object = json_value(R"(  { "a" : [ 1 , "}" , { } ] , "b\"" : null } )");
  CHECK(object.kind == JsonKind::object);
  CHECK(json_size(object) == 2);
  JsonItems items(object);
  JsonItem item;
  REQUIRE(items.next(item));
  CHECK(item.key == "\"a\"");
  CHECK(item.value.text == R"([ 1 , "}" , { } ])");
  CHECK(json_size(item.value) == 3);
  REQUIRE(items.next(item));
  CHECK(item.value.kind == JsonKind::null);
  CHECK_FALSE(items.next(item));
  CHECK(json_depth(object.text) == 3);
  std::string text;
  CHECK(append_unescaped(text, R"("\u20ac\ud83d\ude00\n\\")"));
  CHECK(text == "€😀\n\\");
}

TEST_CASE("jsonb is a version and a text in its binary form", "[jsonb]") {
  Arena arena;
  Datum out;
  REQUIRE(parse_binary(std::string("\1{\"b\":1,\"a\":2}"), TypeId::jsonb, arena, out).ok());
  std::string bytes;
  append_binary(bytes, {TypeId::jsonb}, out);
  CHECK(bytes == "\1{\"a\": 2, \"b\": 1}");
  CHECK_FALSE(parse_binary("", TypeId::jsonb, arena, out).ok());
  CHECK_FALSE(parse_binary("\2{}", TypeId::jsonb, arena, out).ok());
  CHECK_FALSE(parse_binary("\1{", TypeId::jsonb, arena, out).ok());
}

}  // namespace namdb::sql

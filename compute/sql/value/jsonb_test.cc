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

namespace {

// All values within it, the same with a document as without one.
std::size_t count_values(const JsonValue& with, const JsonValue& without) {
  REQUIRE(with.kind == without.kind);
  REQUIRE(with.text == without.text);
  if (!with.is_container()) return 1;
  REQUIRE(json_size(with) == json_size(without));
  std::size_t count = 1;
  JsonItems own(with);
  JsonItems plain(without);
  JsonItem a;
  JsonItem b;
  while (own.next(a)) {
    REQUIRE(plain.next(b));
    REQUIRE(a.key == b.key);
    count += count_values(a.value, b.value);
  }
  REQUIRE_FALSE(plain.next(b));
  return count;
}

std::string random_document(Random& random, std::size_t depth) {
  const std::string blank(random.below(2), ' ');
  const std::uint64_t kind = random.below(depth == 0 ? 3 : 6);
  if (kind == 0) return blank + std::to_string(random.below(1000));
  if (kind == 1) return "\"" + std::string(random.below(30), 'x') + "]}\\\"\"" + blank;
  if (kind == 2) return "null";
  std::string text = kind == 3 ? "{" : "[";
  const std::uint64_t items = random.below(8);
  for (std::uint64_t i = 0; i < items; ++i) {
    if (i > 0) text += "," + blank;
    if (kind == 3) text += "\"k" + std::to_string(i) + ",\" :";
    text += random_document(random, depth - 1);
  }
  return text + blank + (kind == 3 ? "}" : "]");
}

}  // namespace

TEST_CASE("a document knows its long arrays and objects", "[jsonb]") {
  Random random(3);
  std::size_t values = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_document(random, 7);
    const JsonDocument document(text);
    values += count_values(document.value(), json_value(text));
  }
  CHECK(values > 10'000);
  CHECK(JsonDocument("").value().kind == JsonKind::null);
}

// Thousands of millions of steps, if each level read all of the inner ones.
TEST_CASE("values that are deep and long are compared in as many steps as they have bytes", "[jsonb]") {
  const std::string inner = "\"" + std::string(kMaxJson_bytes - 16 * kMaxJsonDepth, 'x') + "\"";
  std::string deep = inner;
  for (std::size_t i = 0; i < kMaxJsonDepth; ++i)
    deep = i % 2 == 0 ? "[" + deep + "]" : "{\"a\": " + deep + "}";
  std::string greater = deep;
  greater[greater.find('x')] = 'y';
  for (int i = 0; i < 20; ++i) {
    CHECK(compare_jsonb(deep, deep) == 0);
    CHECK(compare_jsonb(deep, greater) == -1);
  }
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

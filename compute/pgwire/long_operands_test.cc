// Functions and operators take time in proportion to their operands, whatever these are, and leave other
// clients their turns.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "compute/pgwire/testing/turns.h"
#include "compute/sql/expression/function_tables.h"
#include "compute/sql/expression/regex.h"

namespace namdb::pgwire {
namespace long_operands_test {

using namespace testing;  // NOLINT: the messages are the vocabulary of this file

constexpr std::size_t kOperand_bytes = 1 << 20;

std::string repeated(std::string_view part, std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text;
}

// The busy client's statement leaves the other one its turns, and ends.
std::vector<Received> run_beside(World& world, TestClient& busy, TestClient& other, const std::string& sql,
                                 const std::vector<std::optional<std::string>>& values) {
  post(busy, with_parameters(sql, values));
  post(other, query("SELECT 1"));
  std::vector<Received> answer;
  REQUIRE(turns_until_ready(world, other, 16, answer) <= 16);
  std::vector<Received> late;
  REQUIRE(turns_until_ready(world, busy, 2000, late) <= 2000);
  return late;
}

// A search that begins anew at each byte compares some 10 TB here, which takes longer than the test may.
TEST_CASE("a search for a long part of a longer text takes time in proportion to their lengths", "[turns]") {
  World world;
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  const std::string text(8 << 20, 'a');
  const std::string part = std::string(4 << 20, 'a') + 'b';
  for (const auto& [expression, value] :
       {std::pair("strpos($1, $2)", "0"), std::pair("position($2 IN $1)", "0"),
        std::pair("length(replace($1, $2, ''))", "8388608"),
        std::pair("length(split_part($1, $2, 1))", "8388608"),
        std::pair("cardinality(string_to_array($1, $2))", "1"), std::pair("$1 LIKE '%' || $2 || '%'", "f")}) {
    CAPTURE(expression);
    const auto messages =
        run_beside(world, busy, other, std::string("SELECT ") + expression, {{text}, {part}});
    REQUIRE(kinds(messages) == "12DCZ");
    CHECK(messages[2].values()[0] == value);
  }
}

// A pattern whose states are too many to be kept: each byte of the text costs a step for each of them.
TEST_CASE("a pattern with many steps for each byte is refused for a long text only", "[turns]") {
  World world;
  TestClient client = TestClient::ready(world);
  const std::string pattern = "[ab]*a[ab]{1000}c";
  const std::string text = repeated("abbabaaab", sql::kMaxRegexText_bytes - 9);
  for (const std::string& sql :
       {std::string("SELECT $1 ~ $2"), std::string("SELECT regexp_replace($1, $2, '')")}) {
    CAPTURE(sql);
    CHECK(sqlstate(client.ask(with_parameters(sql, {{text}, {pattern}}))) == "54000");
    CHECK(kinds(client.ask(with_parameters(sql, {{text.substr(0, 4096)}, {pattern}}))) == "12DCZ");
    CHECK(kinds(client.ask(with_parameters(sql, {{text}, {"[ab]*a[ab]{4}c"}}))) == "12DCZ");
  }
}

// Of the functions of arrays one overload is enough: others differ in the type alone.
bool is_sample(const sql::Function& function) {
  const auto is_left_out = [](sql::TypeId id) {
    using enum sql::TypeId;
    const sql::Type type{id};
    return type.is_catalog_object() || (type.is_array() && id != text_array && id != int4_array);
  };
  return function.call != nullptr && function.waiting == sql::Waiting::no &&
         std::ranges::none_of(function.parameters, is_left_out) &&
         std::ranges::any_of(function.parameters, [](sql::TypeId id) { return sql::Type{id}.has_bytes(); });
}

std::vector<const sql::Function*> sample_of(std::initializer_list<std::span<const sql::Function>> tables) {
  std::vector<const sql::Function*> sample;
  for (const std::span<const sql::Function> table : tables) {
    for (const sql::Function& function : table) {
      if (is_sample(function)) sample.push_back(&function);
    }
  }
  return sample;
}

// Values of a type, as text. The second of two is not the beginning of the first, and is nearly.
std::string value_of(sql::TypeId id, std::size_t number, std::size_t bytes) {
  using enum sql::TypeId;
  switch (id) {
    case boolean:
      return "t";
    case timestamp:
    case timestamptz:
    case date:
      return "2000-01-01";
    case time:
      return "00:00";
    case interval:
      return "1 day";
    case uuid:
      return std::string(32, '0');
    case json:
    case jsonb:
      return "[" + repeated("[1],", bytes) + "[" + std::to_string(number) + "]]";
    case text_array:
    case int4_array:
      return "{" + repeated("1,", bytes) + std::to_string(number) + "}";
    default:
      return sql::Type{id}.has_bytes() ? repeated("a", bytes) + (number == 0 ? "" : "b") : "1";
  }
}

void run_all(const std::vector<const sql::Function*>& functions, bool are_operators) {
  World world;
  TestClient busy = TestClient::ready(world);
  TestClient other = TestClient::ready(world);
  REQUIRE(functions.size() > 10);
  std::size_t answered = 0;
  for (const sql::Function* const function : functions) {
    for (const bool is_short : {false, true}) {  // all arguments but the first
      std::string sql;
      std::vector<std::optional<std::string>> values;
      for (std::size_t i = 0; i < function->parameters.size(); ++i) {
        const sql::TypeId type = function->parameters[i];
        const std::size_t bytes = i > 0 && is_short ? 1 : kOperand_bytes >> std::min<std::size_t>(i, 4);
        if (i > 0) sql += are_operators ? " " + std::string(function->name) + " " : ", ";
        sql += "$" + std::to_string(i + 1) + "::" + std::string(sql::type_name(type));
        values.emplace_back(value_of(type, i, bytes));
      }
      if (function->name == sql::kSliceFunction) {
        sql = "($1::" + std::string(sql::type_name(function->parameters[0])) + ")[$2:$3]";
      } else if (!are_operators) {
        sql = '"' + std::string(function->name) + "\"(" + sql + ")";
      }
      CAPTURE(sql, is_short);
      const auto messages = run_beside(world, busy, other, "SELECT " + sql, values);
      if (kinds(messages) == "12DCZ") ++answered;
    }
  }
  // Some are refused: texts that are too long for a pattern, and paths that lead nowhere.
  CHECK(answered > functions.size() / 2);
}

TEST_CASE("every function of long operands ends, and leaves others their turns", "[turns]") {
  run_all(sample_of({sql::numeric_functions(), sql::arithmetic_functions(), sql::text_functions(),
                     sql::regex_functions(), sql::bytes_functions(), sql::time_functions(),
                     sql::array_functions(), sql::array_set_functions(), sql::json_functions()}),
          false);
}

TEST_CASE("every operator of long operands ends, and leaves others their turns", "[turns]") {
  run_all(sample_of({sql::time_operators(), sql::array_set_operators(), sql::bit_operators(),
                     sql::json_operators()}),
          true);
}

}  // namespace long_operands_test
}  // namespace namdb::pgwire

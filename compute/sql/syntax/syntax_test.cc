// The bounds before libpg_query, whose recursion has none.
#include "compute/sql/syntax/syntax.h"

#include <catch2/catch.hpp>

#include "common/base/random.h"
#include "compute/procedure/registry.h"
#include "compute/sql/bind/bind.h"

namespace namdb::sql {
namespace {

std::string repeated(std::string text, std::string_view piece, std::size_t count, std::string_view end = "") {
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text + std::string(end);
}

ErrorCode code_of(const std::string& sql) {
  const auto parsed = parse_sql(sql);
  if (const auto* error = std::get_if<SyntaxError>(&parsed)) return error->status.code();
  procedure::ProcedureRegistry procedures;
  BindInput input;
  input.procedures = &procedures;
  const SyntaxTree& tree = std::get<SyntaxTree>(parsed);
  for (std::size_t i = 0; i < tree.statement_count(); ++i) {
    const Result<Plan> plan = bind_statement(tree.statement(i), input);
    if (!plan.ok()) return plan.status().code();
  }
  return ErrorCode::rolled_back;  // stands for none
}

}  // namespace

TEST_CASE("trees that are too deep are refused, not followed", "[syntax]") {
  for (const std::size_t count : {1'000U, 4'000U, 100'000U}) {
    CAPTURE(count);
    CHECK(code_of(repeated("SELECT 1", "+1", count)) == ErrorCode::statement_too_complex);
    CHECK(code_of(repeated("SELECT ", "(", count, "1") + std::string(count, ')')) != ErrorCode::internal);
    CHECK(code_of(repeated("SELECT ", "- ", count, "1")) != ErrorCode::internal);
    CHECK(code_of(repeated("SELECT ", "abs(", count, "1") + std::string(count, ')')) ==
          ErrorCode::statement_too_complex);
    CHECK(code_of(repeated("SELECT 1", "::int", count)) == ErrorCode::statement_too_complex);
    CHECK(code_of(repeated("SELECT NOT ", "NOT ", count, "true")) == ErrorCode::statement_too_complex);
  }
  CHECK(code_of(repeated("SELECT 1,2", " UNION SELECT 1,2", 50'000)) == ErrorCode::statement_too_complex);
  CHECK(code_of(repeated("SELECT f(1,2)", "+f(1,2)", 50'000)) == ErrorCode::statement_too_complex);
  CHECK(code_of(repeated("SELECT ARRAY[1,2]", "||ARRAY[1,2]", 50'000)) == ErrorCode::statement_too_complex);
  CHECK(code_of(repeated("SELECT 1 FROM t", " JOIN t ON true", 50'000)) == ErrorCode::statement_too_complex);
}

TEST_CASE("long flat statements are parsed", "[syntax]") {
  CHECK(code_of(repeated("SELECT 1", ",1", 1'500)) == ErrorCode::rolled_back);
  CHECK(code_of(repeated("SELECT 1 WHERE true", " AND true", 1'000)) == ErrorCode::rolled_back);
  CHECK(code_of(repeated("SELECT 1 WHERE 1 IN (1", ",1", 50'000, ")")) == ErrorCode::rolled_back);
  CHECK(code_of(repeated("", "SELECT 1;", 10'000)) == ErrorCode::rolled_back);
  CHECK(code_of("SELECT '" + std::string(kMaxStatement_bytes - 20, 'x') + "'") == ErrorCode::rolled_back);
  CHECK(code_of("SELECT '" + std::string(kMaxStatement_bytes, 'x') + "'") == ErrorCode::limit_exceeded);
}

TEST_CASE("the text without comments in its strings is bounded, too", "[syntax]") {
  // The second string goes on in the next line, with its escapes.
  const std::string comment = "SELECT 'a' -- c\n'b', E'x'\n'y\\' --z'\n, '\n";
  CHECK(code_of(repeated(comment, "||1+1", 100'000, " --'")) == ErrorCode::rolled_back);
  // Only without the comment the signs are outside of strings.
  const std::string hidden = "SELECT E'x' -- c\n'y\\' , '";
  CHECK(code_of(repeated(hidden, "||1", 100, "--'")) == ErrorCode::rolled_back);
  CHECK(code_of(repeated(hidden, "||1", 100'000, "--'")) == ErrorCode::statement_too_complex);
}

TEST_CASE("rows of signs that are slow to scan are refused", "[syntax]") {
  for (const std::string_view signs : {"+", "-+", "*+", "/*", "/**/", "/*+*/", "-+--"}) {
    CAPTURE(signs);
    CHECK(code_of(repeated("SELECT ", signs, 200'000, "1")) == ErrorCode::statement_too_complex);
    CHECK(code_of(repeated("SELECT /* ", signs, 200'000, "*/ 1")) == ErrorCode::statement_too_complex);
  }
  CHECK(code_of(repeated(repeated("SELECT ", "+", 1'000), "-", 200'000, "\n1")) ==
        ErrorCode::statement_too_complex);
  // These are not slow.
  for (const std::string_view sign : {"-", "*", "=", "/", "+ ", "-+-+- "}) {
    CAPTURE(sign);
    CHECK(code_of(repeated("SELECT /* ", sign, 100'000, " */ 1")) == ErrorCode::rolled_back);
    CHECK(code_of(repeated("SELECT '", sign, 100'000, "'")) == ErrorCode::rolled_back);
    CHECK(code_of(repeated("SELECT --", sign, 100'000, "\n1")) == ErrorCode::rolled_back);
  }
  CHECK(code_of(repeated(repeated("SELECT ", "/* ", 100'000), " */", 100'000, " 1")) ==
        ErrorCode::rolled_back);
  CHECK(code_of(repeated("SELECT 1", ",1", 1'500, "/*+ a */ -- ----------\n")) == ErrorCode::rolled_back);
}

TEST_CASE("text of any content is parsed or refused", "[syntax]") {
  Random random(99);
  const std::vector<std::string> words = {"SELECT",      "FROM",
                                          "WHERE",       "t",
                                          "1",           "'x'",
                                          "(",           ")",
                                          ",",           "+",
                                          "-",           "=",
                                          "NULL",        "AND",
                                          "INSERT INTO", "VALUES",
                                          "UPDATE",      "SET",
                                          "$1",          "CASE",
                                          "WHEN",        "THEN",
                                          "END",         "::int",
                                          "BETWEEN",     "IN",
                                          "LIKE",        "*",
                                          "ORDER BY",    "LIMIT",
                                          "count(*)",    "CREATE TABLE",
                                          "PRIMARY KEY", "numeric(3,1)",
                                          ";",           "\"q\"",
                                          "E'\\x41'",    "--c\n",
                                          "/*",          "*/",
                                          "$$",          "BEGIN",
                                          "SHOW",        "CALL f("};
  for (int round = 0; round < 3'000; ++round) {
    std::string sql;
    for (std::uint64_t i = random.below(14); i > 0; --i) sql += words[random.below(words.size())] + " ";
    if (random.chance(0.2) && !sql.empty()) sql[random.below(sql.size())] = static_cast<char>(random.next());
    (void)code_of(sql);
  }
}

}  // namespace namdb::sql

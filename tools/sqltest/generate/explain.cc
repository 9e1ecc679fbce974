#include "tools/sqltest/generate/explain.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

#include "tools/sqltest/generate/queries.h"

namespace namdb::sqltest {
namespace {

constexpr std::uint32_t kFloat4 = 700;
constexpr std::uint32_t kFloat8 = 701;
constexpr std::uint32_t kInterval = 1186;
constexpr std::uint32_t kNumericArray = 1231;

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// The names before a point in it, outside of strings: those of tables and their aliases.
std::set<std::string> qualifiers_in(const std::string& text) {
  std::set<std::string> found;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') quoted = !quoted;
    if (quoted || text[i] != '.' || i == 0 || i + 1 == text.size() ||
        !std::isalpha(static_cast<unsigned char>(text[i + 1])))
      continue;
    std::size_t begin = i;
    while (begin > 0 && is_of_name(text[begin - 1])) --begin;
    if (begin < i && std::isalpha(static_cast<unsigned char>(text[begin])) != 0)
      found.insert(text.substr(begin, i - begin));
  }
  return found;
}

// The table that has the alias in the statement; empty: there is none, or it is not a table.
std::string table_of(const std::string& statement, const std::string& alias) {
  for (const Relation& relation : relations()) {
    if (relation.name == alias) return relation.name;
    for (const char* between : {" ", " AS "}) {
      const std::string text = relation.name + between + alias;
      const std::size_t at = statement.find(text);
      if (at != std::string::npos &&
          (at + text.size() == statement.size() || !is_of_name(statement[at + text.size()])))
        return relation.name;
    }
  }
  return {};
}

// A FROM clause for the tables that the expression names and does not read itself. None: they are not all
// known, or too many.
std::optional<std::string> from_clause(const std::string& statement, const std::string& expression) {
  constexpr std::size_t kMostTables = 2;
  std::string text;
  std::size_t tables = 0;
  for (const std::string& alias : qualifiers_in(expression)) {
    if (!table_of(expression, alias).empty() && alias.find("gen_") != 0) continue;
    std::string table = table_of(statement, alias);
    if (alias == "excluded") table = "gen_all";
    if (table.empty() || ++tables > kMostTables) return std::nullopt;
    text += (text.empty() ? " FROM " : ", ") + table + (table == alias ? "" : " " + alias);
  }
  // A statement about one row.
  const std::size_t row = statement.find(" r WHERE r.id = ");
  if (text == " FROM gen_all r" && row != std::string::npos) text += statement.substr(row + 2);
  return text;
}

// Expressions in it that are not single values, those that are small first.
void collect_expressions(const Tree& tree, std::vector<const Tree*>& found) {
  for (const Tree& child : tree.children) collect_expressions(child, found);
  const bool is_value = tree.children.empty() && !tree.texts.front().starts_with("$");
  if (!is_value && expression_rules().contains(tree.kind)) found.push_back(&tree);
}

// Which row's value is named depends on the order of rows.
bool same_error(const Answer& one, const Answer& other) {
  return one.failed() && one.sqlstate == other.sqlstate &&
         without_details(one.message) == without_details(other.message);
}

// Errors of values, as opposed to those of a statement's text.
bool is_of_values(const Answer& answer) {
  return answer.sqlstate.starts_with("22") || answer.sqlstate == "21000" || answer.sqlstate == "54000" ||
         (answer.sqlstate == "0A000" && answer.message.starts_with("unit "));
}

// Whether an expression of the statement, asked for alone, draws this error from both servers: then they
// differ only in whether they evaluate it, or when. Columns are those of all rows of their tables.
bool draws_error_alone(const Tree& statement, const Answer& error, const Asking& asking) {
  constexpr std::size_t kMost = 200;
  const std::string whole = text_of(statement);
  std::vector<const Tree*> expressions;
  collect_expressions(statement, expressions);
  std::set<std::string> asked;
  for (const Tree* expression : expressions) {
    const std::string text = text_of(*expression);
    const std::optional<std::string> from = from_clause(whole, text);
    if (!from || !asked.insert(text).second) continue;
    if (asked.size() > kMost) break;
    const auto [answer, reference] = asking.both("SELECT " + text + *from);
    if (same_error(answer, error) && same_error(reference, error)) return true;
    // Of several rows another one may be the first.
    if (!from->empty() && answer.sqlstate == error.sqlstate && is_of_values(answer) &&
        is_of_values(reference))
      return true;
  }
  return false;
}

// Large numbers of both signs leave nothing but what was rounded: the sums need not be near each other.
bool equal_but_for_sums(Answer answer, Answer reference) {
  if (answer.failed() || reference.failed() || answer.types != reference.types ||
      answer.rows.size() != reference.rows.size())
    return false;
  std::ranges::sort(answer.rows);
  std::ranges::sort(reference.rows);
  for (std::size_t row = 0; row < answer.rows.size(); ++row) {
    for (std::size_t column = 0; column < answer.types.size(); ++column) {
      const std::uint32_t type = answer.types[column];
      const auto& one = answer.rows[row][column];
      const auto& other = reference.rows[row][column];
      if (one == other) continue;
      if ((type != kFloat4 && type != kFloat8) || one.has_value() != other.has_value()) return false;
    }
  }
  return true;
}

bool equal_but_for_zeros(Answer answer, Answer reference) {
  for (Answer* each : {&answer, &reference}) {
    for (auto& row : each->rows) {
      for (auto& field : row) {
        if (field && *field == "-0") field = "0";
        static const std::regex zero_of_array("([{,])-0(?=[,}])");
        if (field && field->starts_with('{')) field = std::regex_replace(*field, zero_of_array, "$010");
        if (field && (*field == "8000000000000000" || *field == "80000000"))
          std::ranges::replace(*field, '8', '0');
      }
    }
    std::ranges::sort(each->rows);
  }
  return answer.rows == reference.rows;
}

// An interval's text as microseconds, a month being 30 days.
std::string microseconds_of(const std::string& text) {
  std::istringstream words(text);
  long double all_us = 0;
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    if (colon != std::string::npos) {
      const bool negative = word.front() == '-';
      if (negative || word.front() == '+') word.erase(0, 1);
      long double time_us = 0;
      for (long double unit_us = 3600e6L; !word.empty(); unit_us /= 60) {
        const std::size_t end = std::min(word.find(':'), word.size());
        time_us += std::strtold(word.substr(0, end).c_str(), nullptr) * unit_us;
        word.erase(0, end + 1);
      }
      all_us += negative ? -time_us : time_us;
      continue;
    }
    const long double number = std::strtold(word.c_str(), nullptr);
    words >> word;
    const long double days = word.starts_with("year") ? 360 : word.starts_with("mon") ? 30 : 1;
    all_us += number * days * 86'400e6L;
  }
  return std::to_string(static_cast<long long>(std::llround(all_us)));
}

// The numbers of an array without the zeros behind their points.
std::string without_zeros(const std::string& array) {
  static const std::regex zeros("(\\.[0-9]*?)0+(?![0-9])");
  static const std::regex point("\\.(?![0-9])");
  return std::regex_replace(std::regex_replace(array, zeros, "$1"), point, "");
}

// A text of one form for all values that are equal: numbers without the zeros at their ends, no sign of zero.
std::string plain_form(std::uint32_t type, std::string text) {
  if (type == kInterval) return microseconds_of(text);
  if (text == "-0") return "0";
  if (type == kNumericArray) return without_zeros(text);
  if (text.find('.') != std::string::npos && text.find_first_not_of("-0123456789.") == std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

bool equal_by_value(Answer answer, Answer reference, bool ordered) {
  if (answer.failed() || reference.failed() || answer.types != reference.types) return false;
  for (Answer* each : {&answer, &reference}) {
    for (auto& row : each->rows) {
      for (std::size_t column = 0; column < row.size(); ++column) {
        if (row[column]) row[column] = plain_form(each->types[column], *row[column]);
      }
    }
    if (!ordered) std::ranges::sort(each->rows);
  }
  return answer.rows == reference.rows;
}

// The statement without LIMIT and OFFSET.
Tree without_limit(Tree tree) {
  for (Tree& child : tree.children) child = without_limit(std::move(child));
  if (tree.children.empty() && tree.texts.front().starts_with(" LIMIT")) return leaf("");
  return tree;
}

}  // namespace

// Rules that documents have, or that PostgreSQL's own answer makes plain.
std::optional<std::string> explain_documented(const Asked& asked, const Answer& answer,
                                              const Answer& reference) {
  const auto has = [&](std::string_view part) { return contains(asked.sql, part); };
  if (answer.sqlstate == "22003" && contains(answer.message, "a numeric value can have at most"))
    return "numeric has 38 digits";
  if (answer.sqlstate == "22007" && answer.message.starts_with("invalid input syntax for type") &&
      reference.sqlstate != "22007")
    return "dates and times are read in ISO 8601 only";
  if (asked.block && reference.sqlstate == "23505" && !answer.failed())
    return "the values of unique constraints are compared at the commit";
  const bool several_rows = has("SELECT") || has("), (") || has("UPDATE");
  const auto breaks_constraint = [](const Answer& each) {
    return each.sqlstate.starts_with("23") || each.sqlstate.starts_with("22") || each.sqlstate == "21000";
  };
  const bool writes = has("INSERT") || has("UPDATE");
  if (writes && several_rows && breaks_constraint(answer) && breaks_constraint(reference))
    return "of several rows another one violates its constraint first";
  const bool none = answer.tag.ends_with(" 0") && !answer.failed();
  if (none && is_of_values(reference))
    return "there are no rows, and so no expression is evaluated; PostgreSQL evaluates constants when it "
           "plans";
  if (!answer.failed() && reference.sqlstate == "42804" &&
      (reference.message.starts_with("UNION types") || reference.message.starts_with("EXCEPT types") ||
       reference.message.starts_with("INTERSECT types")))
    return "a literal without a type that ORDER BY or DISTINCT names in a part of UNION is a text in "
           "PostgreSQL";
  if (!answer.failed() && reference.sqlstate == "0A000" && reference.message.starts_with("FULL JOIN is only"))
    return "PostgreSQL has no FULL JOIN by other conditions than equality";
  if (answer.sqlstate == "42P01" && reference.sqlstate == "42P01")
    return "PostgreSQL says of a table that cannot be named in a place that it is there";
  if (has("ON CONFLICT") && !answer.failed() && is_of_values(reference))
    return "the action for a conflict is not needed, and not evaluated; PostgreSQL evaluates constants when "
           "it plans";
  if (answer.sqlstate == "42P18" && reference.sqlstate == "42P18")
    return "of several parameters without a type another one is named";
  const bool extreme = has("infinity") || has("294276") || has("age(") || has("make_interval(") ||
                       has("gen_all") || has("gen_pair");
  if (answer.sqlstate == "22008" && !reference.failed() && extreme &&
      (answer.message == "timestamp out of range" || answer.message == "interval out of range") &&
      (has("age(") || has("make_interval(") || has(" - ")))
    return "PostgreSQL 15 calculates with infinite times and with overflows of intervals, and gives a wrong "
           "value";
  return std::nullopt;
}

std::optional<std::string> explain(const Tree& statement, const Asked& asked, const Answer& answer,
                                   const Answer& reference, const Asking& asking) {
  if (answer.failed() || reference.failed()) {
    if (auto rule = explain_documented(asked, answer, reference)) return rule;
    if (reference.failed() && is_of_values(reference) && (!answer.failed() || is_of_values(answer)) &&
        draws_error_alone(statement, reference, asking))
      return "an expression is evaluated only when its value is needed; PostgreSQL evaluates constants when "
             "it plans";
    if (answer.failed() && is_of_values(answer) && (!reference.failed() || is_of_values(reference)) &&
        draws_error_alone(statement, answer, asking))
      return "an expression is evaluated whose value PostgreSQL finds it does not need";
    if (answer.failed() && !reference.failed() && contains(asked.sql, " LIMIT ")) {
      const auto [all, reference_all] = asking.both(text_of(without_limit(statement)));
      if (same_error(all, answer) && same_error(reference_all, answer))
        return "expressions of rows behind LIMIT are evaluated";
    }
    if (answer.failed() && reference.failed() && is_of_values(answer) && is_of_values(reference))
      return "of several errors another one comes first";
    // Mistakes of a statement's text.
    if (answer.failed() && reference.failed() &&
        (asked.mistaken || draws_error_alone(statement, answer, asking) ||
         draws_error_alone(statement, reference, asking)))
      return "of several mistakes another one is named";
    return std::nullopt;
  }
  if (answer.types == reference.types && answer.names == reference.names &&
      answer.modifiers != reference.modifiers) {
    const auto [described, reference_described] = asking.describe(asked.sql);
    if (!described.failed() && described.modifiers == reference_described.modifiers &&
        answer.modifiers == described.modifiers)
      return "PostgreSQL describes results after it has simplified their expressions, but not to Describe";
    return std::nullopt;
  }
  if (asked.binary && !asked.block &&
      (asked.sql.starts_with("SELECT") || asked.sql.starts_with("(") || asked.sql.starts_with("WITH"))) {
    const auto [text, reference_text] = asking.both(asked.sql);
    Asked again = asked;
    again.binary = false;
    if (!text.failed() && !reference_text.failed() && text.rows != reference_text.rows)
      return explain(statement, again, text, reference_text, asking);
  }
  if (equal_but_for_zeros(answer, reference)) return "columns keep no sign of zero";
  if ((contains(asked.sql, "sum(") || contains(asked.sql, "avg(")) && equal_but_for_sums(answer, reference))
    return "sums of floating-point numbers depend on the order of rows";
  const bool chosen = contains(asked.sql, "DISTINCT") || contains(asked.sql, "GROUP BY") ||
                      contains(asked.sql, "UNION") || contains(asked.sql, "INTERSECT") ||
                      contains(asked.sql, "EXCEPT") || contains(asked.sql, "min(") ||
                      contains(asked.sql, "max(");
  if (!asked.binary && asked.ordered && equal_by_value(answer, reference, true))
    return "rows that are equal in the order's columns come in any order";
  if (chosen && !asked.binary && equal_by_value(answer, reference, false))
    return "of equal values in different forms any one is shown";
  return std::nullopt;
}

}  // namespace namdb::sqltest

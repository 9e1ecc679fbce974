// How two answers are compared.
#include <algorithm>

#include "tools/sqltest/regress/regress_file.h"

namespace namdb::sqltest {
namespace {

std::string in_small_letters(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

bool ordered(const std::string& sql) {
  return in_small_letters(sql).find("order by") != std::string::npos;
}

std::string outcome_differs(const std::string& sql, const Outcome& ours, const Outcome& theirs) {
  if (ours.sqlstate != theirs.sqlstate) {
    if (theirs.sqlstate.empty()) return "an error";
    return ours.sqlstate.empty() ? "no error" : "the SQLSTATE";
  }
  if (!ours.sqlstate.empty()) return ours.message == theirs.message ? "" : "the message";
  if (ours.names != theirs.names) return "the columns' names";
  if (ours.rows != theirs.rows) {
    auto our_rows = ours.rows;
    auto their_rows = theirs.rows;
    std::ranges::sort(our_rows);
    std::ranges::sort(their_rows);
    if (our_rows != their_rows) return "the rows";
    if (ordered(sql)) return "the rows' order";
  }
  return ours.tag == theirs.tag ? "" : "the tag";
}

}  // namespace

std::string answers_differ(const std::string& sql, const RegressAnswer& ours, const RegressAnswer& theirs) {
  if (ours.late != theirs.late) return ours.late ? "no answer in time" : "PostgreSQL gives no answer in time";
  if (ours.outcomes.size() != theirs.outcomes.size()) return "the number of results";
  for (std::size_t i = 0; i < ours.outcomes.size(); ++i) {
    const std::string why = outcome_differs(sql, ours.outcomes[i], theirs.outcomes[i]);
    if (!why.empty()) return why;
  }
  return "";
}

}  // namespace namdb::sqltest

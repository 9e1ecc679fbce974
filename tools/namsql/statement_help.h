// `\h`: the statements that namdb supports.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::namsql {

struct StatementHelp {
  std::string_view name;
  std::string_view text;
  std::string_view syntax;
  std::string_view example;  // with the table of the examples, which this file's text describes
};
// In the order of names.
std::span<const StatementHelp> statement_list();

// Of the statement of that name, in any case, or of all whose names begin so ("create"). With an empty name
// the list; nothing if there is no such statement.
std::string statement_help(std::string_view name);

}  // namespace namdb::namsql

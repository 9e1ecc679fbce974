// The grammar of expressions, as lines of text (rule_lines.h): of a type, how it is made of others.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::sqltest {

struct Rule {
  std::string text;       // the text with holes: "{int4} + {int4}"
  bool may_fail = false;  // it raises errors for some values
  bool rare = false;      // namdb refuses it
};

// Of each type's name, the ways to make a value of it; of "aggregate TYPE", those over the rows of a group.
const std::map<std::string, std::vector<Rule>>& expression_rules();

// Types that have columns and literals.
const std::vector<std::string>& all_types();
// The types whose values can be compared.
const std::vector<std::string>& comparable_types();
// The types of which there are arrays.
const std::vector<std::string>& element_types();

}  // namespace namdb::sqltest

// The lines of the grammar of expressions, of which rules.h makes rules.
//
// A line has types (several: the rule holds for each), perhaps !, if values may raise an error, and ~, if
// namdb refuses it; behind | the text. Holes: {type}; {=} the line's type; {any} a type that can be compared,
// the same in the whole line; {element} and {array} the same for types that have arrays; {1} a copy of the
// first hole. {pattern}, {digits} and their like are literals of their own (literals.cc).
#pragma once

#include <string_view>

namespace namdb::sqltest {

// Lives as long as the process.
std::string_view rule_lines();

}  // namespace namdb::sqltest

// The bound on the depth of a statement's syntax tree, checked before libpg_query parses the text.
#pragma once

#include <pg_query.h>

#include <cstddef>
#include <optional>
#include <string>

#include "compute/sql/syntax/syntax_error.h"

namespace namdb::sql {

// Words and signs between two commas at one depth of parentheses, added up over the depths: bounds the depth
// of the tree.
inline constexpr std::size_t kMaxExpression_tokens = 5'000;

// The error of a text whose tree may be too deep for libpg_query's recursion, or that cannot be scanned.
std::optional<SyntaxError> check_depth(const std::string& sql);
// libpg_query's error as ours.
SyntaxError parser_error(const PgQueryError& error);

}  // namespace namdb::sql

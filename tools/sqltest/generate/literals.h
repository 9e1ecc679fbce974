// Values of all types as SQL writes them: small ones that meet each other often, and those at the edges.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/random.h"
#include "tools/sqltest/generate/tree.h"

namespace namdb::sqltest {

// One of the words that blanks separate in `words`; of lines, where it has any.
std::string pick(Random& random, std::string_view words);

// A literal with its type, so that it means the same wherever it stands. `plain`: no values at the edges.
Tree literal(Random& random, const std::string& type, bool plain);
// The same without a type, in quotes where it needs them, as a value to insert.
std::string value_text(Random& random, const std::string& type, bool plain);
// A hole that is not a type: {pattern}, {digits}, ... None: it is a type's.
std::optional<Tree> special_literal(Random& random, const std::string& hole);

}  // namespace namdb::sqltest

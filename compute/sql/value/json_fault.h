// The error of a text that is not JSON, with its DETAIL in PostgreSQL's words.
#pragma once

#include <string_view>

#include "common/base/error.h"

namespace namdb::sql {

// invalid_text. Its detail says what is wrong first, such as `Expected JSON value, but found "}".`; empty:
// nothing that this looks for. Takes time linear in the text.
Status invalid_json(std::string_view text);

}  // namespace namdb::sql

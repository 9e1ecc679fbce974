// to_char() of numbers, by a picture such as 'FM999,990.00': PostgreSQL's, under the locale C.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/value/decimal.h"

namespace namdb::sql {

// Appends the number. Errors: syntax_error of a picture that contradicts itself; numeric_out_of_range.
Status append_formatted(std::string& out, const Decimal& number, std::string_view picture);
// `digits`: the sure digits of the number: 15 for double precision, 6 for real.
Status append_formatted(std::string& out, double number, int digits, std::string_view picture);

}  // namespace namdb::sql

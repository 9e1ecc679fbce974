// The values of jsonb. A datum has their normal form as a text: one blank behind each comma and colon, the
// members of objects by the length of their keys and then their bytes, each key once (the last one counts),
// numbers as numeric shows them. So the stored text is the one that PostgreSQL shows.
#pragma once

#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/value/datum.h"

namespace namdb::sql {

// Arrays and objects can be so deep in one another, ...
inline constexpr std::size_t kMaxJsonDepth = 1000;
// ... a document that is read can have so many values and bytes: reading one is a short step.
inline constexpr std::size_t kMaxJsonValues = 1 << 19;
inline constexpr std::size_t kMaxJson_bytes = 2 << 20;
inline constexpr std::size_t kMaxMadeJson_bytes = 32 << 20;

// The normal form of a JSON text, in the arena. Errors invalid_text, statement_too_complex (its depth),
// limit_exceeded, numeric_out_of_range.
Status parse_jsonb(std::string_view text, Arena& arena, Datum& out);
// The same of what was put together from normal forms, of up to kMaxMadeJson_bytes: only its depth and length
// are checked.
Status finish_jsonb(std::string_view text, Arena& arena, Datum& out);

// PostgreSQL's order of jsonb: -1, 0 or 1.
int compare_jsonb(std::string_view left, std::string_view right);
// The order of an object's keys, which are in quotes.
int compare_json_keys(std::string_view left, std::string_view right);
// Compares two numbers in the normal form.
int compare_json_numbers(std::string_view left, std::string_view right);
// Appends bytes that are the same of equal values, and of these only.
void append_equal_jsonb(std::string& bytes, std::string_view value);

}  // namespace namdb::sql

// Values as the wire carries them: PostgreSQL's text and binary forms of each type. Parsing takes outside
// input of any content: errors are invalid_text, invalid_binary, numeric_out_of_range and their like.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compute/sql/value/datum.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// `value` is not NULL. Appends to `out`.
void append_text(std::string& out, const Type& type, const Datum& value);
void append_binary(std::string& out, const Type& type, const Datum& value);

// The result borrows strings from `text`; arrays lie in the arena. `now_us` is the value of the text "now".
// regclass and its like have no text form here: the catalog gives their values (catalog_cast.h).
Status parse_text(std::string_view text, TypeId type, std::int64_t now_us, Arena& arena, Datum& out);
// `declared` is the type that the client gave: binary forms of 2-, 4- and 8-byte numbers differ.
Status parse_binary(std::string_view bytes, TypeId type, Oid declared, Arena& arena, Datum& out);

// The parts of them that are of arrays (value_array.cc).
void append_array_text(std::string& out, TypeId type, const Datum& value);
// The text of an element, in quotes where a literal needs them.
void append_element_text(std::string& out, std::string_view text);
void append_array_binary(std::string& out, TypeId type, const Datum& value);
Status parse_array_text(std::string_view text, TypeId type, std::int64_t now_us, Arena& arena, Datum& out);
Status parse_array_binary(std::string_view bytes, TypeId type, Arena& arena, Datum& out);

// Checks that the text is well-formed UTF-8 without zero bytes, as strings and statements must be.
// invalid_encoding.
Status check_utf8(std::string_view text);

}  // namespace namdb::sql

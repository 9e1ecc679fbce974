// Values as the wire carries them: PostgreSQL's text and binary forms of each type. Parsing takes outside
// input of any content: errors are invalid_text, invalid_binary, numeric_out_of_range and their like.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compute/sql/value/datum.h"
#include "compute/sql/value/time_zone.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// `value` is not NULL. Appends to `out`. `zone` is that in which timestamptz is shown.
void append_text(std::string& out, const Type& type, const Datum& value,
                 const absl::TimeZone& zone = absl::UTCTimeZone());
void append_binary(std::string& out, const Type& type, const Datum& value);

// The result borrows strings from `text`; bytes and arrays lie in the arena.
// regclass and its like have no text form here: the catalog gives their values (catalog_cast.h).
Status parse_text(std::string_view text, TypeId type, const TimeContext& time, Arena& arena, Datum& out);
Status parse_binary(std::string_view bytes, TypeId type, Arena& arena, Datum& out);

// The parts of them that are of arrays (value_array.cc).
void append_array_text(std::string& out, TypeId type, const Datum& value, const absl::TimeZone& zone);
// The text of an element, in quotes where a literal needs them.
void append_element_text(std::string& out, std::string_view text);
void append_array_binary(std::string& out, TypeId type, const Datum& value);
Status parse_array_text(std::string_view text, TypeId type, const TimeContext& time, Arena& arena,
                        Datum& out);
Status parse_array_binary(std::string_view bytes, TypeId type, Arena& arena, Datum& out);

// uuid and bytea (value_bytes.cc).
void append_uuid_text(std::string& out, std::string_view bytes);
Status parse_uuid_text(std::string_view text, Arena& arena, Datum& out);
// "\\x00ff".
void append_bytea_text(std::string& out, std::string_view bytes);
// Reads that form, and the one with escapes.
Status parse_bytea_text(std::string_view text, Arena& arena, Datum& out);

// Error invalid_text: the text is not JSON.
Status check_json(std::string_view text);

// Checks that the text is well-formed UTF-8 without zero bytes, as strings and statements must be.
// invalid_encoding.
Status check_utf8(std::string_view text);

}  // namespace namdb::sql

// Parts of JSON values, and values that are made of others. A JSON text is well-formed here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "compute/sql/value/datum.h"
#include "compute/sql/value/json_text.h"
#include "compute/sql/value/time_zone.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// A member of an object; of several with that key the last one. Others have none.
std::optional<JsonValue> json_member(const JsonValue& object, std::string_view key);
// An element of an array, counted from 0, or from -1 at its end.
std::optional<JsonValue> json_element(const JsonValue& array, std::int64_t index);
// The value at the end of a path of keys and indexes.
Status json_at_path(std::string_view json, const Datum& path, std::optional<JsonValue>& out);
// As `->` and its like give it: in the arena, a string without its quotes if `as_text`, where a JSON null is
// NULL.
Status json_result(const std::optional<JsonValue>& value, bool as_text, Arena& arena, Datum& out);

// Appends the JSON form of a value that is not NULL.
void append_json(std::string& out, TypeId type, const Datum& value, const absl::TimeZone& zone);

// Whether the left one contains the right one, as @> says. limit_exceeded: it takes too many steps.
Status json_contains(std::string_view left, std::string_view right, bool& contains);

// Operators that make jsonb out of others; the texts are in the normal form.
std::string json_concatenated(std::string_view left, std::string_view right);
// `key` is that of an object, or a string of an array. Error invalid_parameter_value.
Status json_without(std::string_view json, const Datum& keys, bool several, std::string& out);
Status json_without_index(std::string_view json, std::int64_t index, std::string& out);
// `created`: a value that is not there is added. `value` null: one that is there is deleted.
Status json_with_path(std::string_view json, const Datum& path, const std::string_view* value, bool created,
                      std::string& out);
std::string json_pretty(std::string_view json);
std::string json_without_nulls(std::string_view json);

}  // namespace namdb::sql

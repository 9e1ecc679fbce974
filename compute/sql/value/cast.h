// Conversions between types: which of them exist, and their results.
#pragma once

#include "compute/sql/value/datum.h"
#include "compute/sql/value/time_zone.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// The context of a conversion; each allows what the one before allows, and more (PostgreSQL's pg_cast).
enum class Coercion : std::uint8_t { implicit, assignment, explicit_cast };

bool can_cast(TypeId from, TypeId to, Coercion coercion);

// Whether the cast asks the catalog: cast_value() does not do it.
bool needs_catalog(TypeId from, TypeId to);

// Whether the value depends on the session's time zone.
bool needs_time_zone(TypeId from, TypeId to);

// `in` is not NULL. Applies the modifier of `to`: an explicit cast shortens strings, others refuse strings
// that are too long (string_too_long). A cast to char(n) adds blanks, one from char(n) to another string type
// removes them. The result's string is borrowed from `in` or made in the arena.
Status cast_value(const Datum& in, TypeId from, const Type& to, bool explicit_cast, const TimeContext& time,
                  Arena& arena, Datum& out);

}  // namespace namdb::sql

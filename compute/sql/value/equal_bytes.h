// Values as bytes that are equal exactly where the values are: for the tables in memory by which GROUP BY,
// DISTINCT and joins find equal values. NULLs are equal there.
#pragma once

#include <string>

#include "compute/sql/value/datum.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

// Appends the value. Integers of all widths count as one type.
void append_equal_bytes(std::string& bytes, TypeId type, const Datum& value);

}  // namespace namdb::sql

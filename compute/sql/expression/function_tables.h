// The tables of scalar functions: functions of numbers, of strings, of bytes, of times, of the session and
// server, of arrays, and of the catalog. Operators of times and intervals have a table, too: their names are
// theirs.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/expression/function.h"

namespace namdb::sql {

std::span<const Function> numeric_functions();
std::span<const Function> text_functions();
std::span<const Function> bytes_functions();
std::span<const Function> time_functions();
std::span<const Function> time_operators();
std::span<const Function> session_functions();
std::span<const Function> array_functions();
std::span<const Function> catalog_functions();

}  // namespace namdb::sql

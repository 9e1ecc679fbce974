// The tables of scalar functions: functions of numbers, of strings, of regular expressions, of bytes, of
// times, of the session and server, of arrays, of JSON, of the catalog, and of privileges. Operators of
// times, intervals, arrays, bits and JSON have tables, too: their names are theirs.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/expression/function.h"

namespace namdb::sql {

std::span<const Function> numeric_functions();
std::span<const Function> arithmetic_functions();
std::span<const Function> text_functions();
std::span<const Function> regex_functions();
std::span<const Function> bytes_functions();
std::span<const Function> time_functions();
std::span<const Function> time_operators();
std::span<const Function> session_functions();
std::span<const Function> array_functions();
std::span<const Function> array_set_functions();
std::span<const Function> array_set_operators();
std::span<const Function> bit_operators();
std::span<const Function> json_functions();
std::span<const Function> json_operators();
std::span<const Function> catalog_functions();
std::span<const Function> privilege_functions();

// The function behind a[1:2], which has no name in SQL.
inline constexpr std::string_view kSliceFunction = "[:]";

}  // namespace namdb::sql

// The tables of scalar functions: functions of numbers, of strings, and of the session and server.
#pragma once

#include <span>
#include <vector>

#include "compute/sql/expression/function.h"

namespace namdb::sql {

std::span<const Function> numeric_functions();
std::span<const Function> text_functions();
std::span<const Function> session_functions();

}  // namespace namdb::sql

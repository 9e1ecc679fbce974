// The version that clients are told: PostgreSQL's version first, in the form that drivers parse.
#pragma once

#include <string_view>

namespace namdb::sql {

inline constexpr std::string_view kServerVersion = "15.0 (namdb 0.1.0)";
inline constexpr std::string_view kServerVersionNumber = "150000";
inline constexpr std::string_view kVersionText =
    "PostgreSQL 15.0 compatible: namdb 0.1.0, transactions on network-attached memory";

}  // namespace namdb::sql

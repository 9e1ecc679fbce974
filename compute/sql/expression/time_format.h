// The text of a time after a template of to_char().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace namdb::sql {

struct ShownTime {
  std::int64_t clock_us = 0;  // µs since 2000-01-01, as the clock shows it; not infinite
  std::int64_t offset_s = 0;  // the clock's, east of UTC
  std::string zone;           // its abbreviation; empty: none
};

// PostgreSQL's patterns of dates and times, with FM and TH. Error feature_not_supported: a pattern of others
// (TM).
Result<std::string> format_time(std::string_view pattern, const ShownTime& time);

}  // namespace namdb::sql

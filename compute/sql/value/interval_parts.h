// The parts of an interval, as a datum holds them.
#pragma once

#include <cstdint>

namespace namdb::sql {

struct Interval {
  std::int32_t months = 0;
  std::int32_t days = 0;
  std::int64_t time_us = 0;
};

}  // namespace namdb::sql

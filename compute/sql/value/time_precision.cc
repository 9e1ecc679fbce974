#include "compute/sql/value/time_precision.h"

#include <array>

#include "compute/sql/value/timestamp.h"
#include "compute/sql/value/zoned_time.h"

namespace namdb::sql {

std::int64_t at_precision(std::int64_t value, const Type& type) {
  constexpr std::array<std::int64_t, kMostTimeDigits> kUnits_us = {1'000'000, 100'000, 10'000,
                                                                   1'000,     100,     10};
  const bool is_rounded =
      has_time_precision(type.id) && type.modifier >= 0 && type.modifier < kMostTimeDigits;
  const bool is_time = type.type_class() == TypeClass::time_of_day;
  if (!is_rounded || (!is_time && is_infinite_timestamp(value))) return value;
  const std::int64_t unit_us = kUnits_us[static_cast<std::size_t>(type.modifier)];
  const auto rounded = [unit_us](std::int64_t time_us) {
    const std::int64_t half_us = time_us < 0 ? -unit_us / 2 : unit_us / 2;
    return (time_us + half_us) / unit_us * unit_us;
  };
  if (type.id != TypeId::timetz) return rounded(value);
  const ZonedTime time = zoned_time(value);
  return packed({rounded(time.time_us), time.offset_s});
}

}  // namespace namdb::sql

// The sum of an interval's parts, as its text is read: each a number of some unit. Fractions go on into
// smaller units, as PostgreSQL has it: those of months into days, those of days into time.
#pragma once

#include <cstdint>
#include <optional>

#include "compute/sql/value/interval_parts.h"

namespace namdb::sql {

enum class IntervalUnit : std::uint8_t {
  none,
  microsecond,
  millisecond,
  second,
  minute,
  hour,
  day,
  week,
  month,
  year,
  decade,
  century,
  millennium,
  ago,
  other,  // one that intervals do not have
};

enum class IntervalOutcome : std::uint8_t { ok, malformed, out_of_range };

// A part that is out_of_range leaves the sum undefined.
class IntervalSum {
 public:
  IntervalOutcome add(IntervalUnit unit, std::int64_t whole, double fraction);
  // "01:02:03.4"; `negative` turns all of it. It takes the place of the time that larger units behind it
  // left.
  IntervalOutcome add_clock(std::int64_t hours, std::int64_t minutes, std::int64_t seconds, double fraction,
                            bool negative);
  // The other way round. False: some number has no opposite.
  bool turn();
  const Interval& interval() const { return interval_; }
  // Years and months together; nullopt: too many.
  std::optional<Interval> whole() const;

 private:
  static IntervalOutcome add_to(std::int32_t& sum, std::int64_t count, std::int32_t factor);
  IntervalOutcome add_time(std::int64_t whole, std::int64_t unit_us, double fraction);
  IntervalOutcome add_days(std::int64_t whole, std::int32_t days, double fraction);
  IntervalOutcome add_years(std::int64_t whole, std::int32_t years, double fraction);

  std::int32_t years_ = 0;
  Interval interval_;
};

}  // namespace namdb::sql

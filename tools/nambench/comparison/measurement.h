// One run of one subject, as figures that can be compared.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/support/report/run_report.h"

namespace namdb::nambench {

// The attempts that a transaction type needed. They show transactions that starve.
struct TypeAttempts {
  std::string name;
  double conflicts_percent = 0;     // of all attempts
  std::uint64_t most_attempts = 0;  // of one call
  double longest_us = 0;            // of one call
};

struct Measurement {
  double rate = 0;  // commits a second
  double p50_us = 0;
  double p99_us = 0;
  double aborts_percent = 0;  // attempts that ended in a conflict, of all
  // For each commit, the attempts that came to nothing included.
  double one_sided = 0;
  double calls = 0;
  double round_trips = 0;
  double bytes = 0;
  double doorbells = 0;
  std::vector<TypeAttempts> types;
  std::vector<support::TimeShare> time_shares;
};

Measurement measurement_of(const support::RunReport& report);

// The figures of a table, in its order.
struct Figure {
  std::string_view title;  // of a column, with the unit
  std::string_view key;    // in JSON
  double Measurement::* value;
  int decimals;
  bool with_spread;
};
inline constexpr std::array kFigures = {
    Figure{"transactions/s", "transactions_per_second", &Measurement::rate, 0, true},
    Figure{"p50 us", "p50_us", &Measurement::p50_us, 1, false},
    Figure{"p99 us", "p99_us", &Measurement::p99_us, 0, false},
    Figure{"aborts %", "aborts_percent", &Measurement::aborts_percent, 1, false},
    Figure{"one-sided", "one_sided", &Measurement::one_sided, 1, false},
    Figure{"calls", "calls", &Measurement::calls, 1, false},
    Figure{"round trips", "round_trips", &Measurement::round_trips, 2, false},
    Figure{"bytes", "bytes", &Measurement::bytes, 0, false},
};

}  // namespace namdb::nambench

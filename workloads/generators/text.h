// Random text for loading, and TPC-C's non-uniform numbers (specification clauses 2.1.6 and 4.3.2).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/random.h"

namespace namdb::workloads {

// Letters and digits; the length uniform between the two, both included.
std::string random_text(Random& random, std::size_t low, std::size_t high);
std::string random_digits(Random& random, std::size_t length);
// A customer's last name: three syllables chosen by the digits of `number`, 0 .. 999.
std::string last_name(std::uint32_t number);
// NURand(a, low, high) with the run's constant.
std::uint64_t non_uniform(Random& random, std::uint64_t a, std::uint64_t constant, std::uint64_t low,
                          std::uint64_t high);

}  // namespace namdb::workloads

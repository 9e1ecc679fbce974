// The findings and figures of a run with copies.
#pragma once

#include <cstdint>
#include <string>

namespace namdb::sim {

struct CopiesVerdict {
  std::string anomaly;  // empty: all is well
  // It is of what clients read, or of files and regions at the end. Otherwise something did not come about.
  bool wrong_data = false;
  std::uint64_t committed = 0;
  std::uint64_t transactions = 0;
  std::uint64_t faults = 0;               // that did something
  std::uint64_t takeovers = 0;            // changes of primaries
  std::uint64_t takeovers_of_faults = 0;  // before those at the end
  std::uint64_t lost_of_faults = 0;       // the same of machines
  std::uint64_t lost = 0;                 // machines, for good
  std::uint64_t fingerprint = 0;
};

}  // namespace namdb::sim

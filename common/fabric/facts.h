// Facts that an end of the fabric reports about itself, for people and scripts: device and path, counters,
// errors. Names are lower case with underscores, a unit last; docs/operations.md explains them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/counters.h"

namespace namdb::fabric {

struct Fact {
  std::string name;
  std::string text;  // empty: it is an amount
  std::uint64_t amount = 0;
};

class Facts {
 public:
  // An empty text adds no fact.
  void say(std::string name, std::string text) {
    if (!text.empty()) all_.push_back({std::move(name), std::move(text), 0});
  }
  void count(std::string name, std::uint64_t amount) { all_.push_back({std::move(name), {}, amount}); }
  // Operations, calls and their bytes.
  void count(const OperationCounters& counters);
  const std::vector<Fact>& all() const { return all_; }

 private:
  std::vector<Fact> all_;
};

// The facts of one worker's connection to one memory server.
struct ConnectionFacts {
  std::uint32_t worker = 0;
  std::uint32_t memory_server = 0;
  Facts facts;
};

}  // namespace namdb::fabric

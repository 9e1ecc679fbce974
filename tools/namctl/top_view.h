// The contents of `namctl top`: the activity of a cluster between two queries of its servers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/namctl/cluster_view.h"

namespace namdb::namctl {

// Per second since the look before. Empty for the first look at a server, and for one that was started again.
using Rates = std::map<std::string, double>;

class TopView {
 public:
  using Clock = std::chrono::steady_clock;
  // Takes the next look, at the same servers each time.
  void look(ClusterView view, Clock::time_point when);

  // Lines for people.
  std::vector<std::string> lines() const;
  // The view, with each server's rates and what follows from them.
  nlohmann::json json() const;

 private:
  struct Sample {
    std::uint64_t incarnation = 0;  // another one began its counters at 0
    Clock::time_point when;
    std::map<std::string, std::uint64_t> counters;
    Rates rates;
  };
  static void advance(Sample& sample, Sample now);

  ClusterView view_;
  std::vector<Sample> memory_;
  std::vector<Sample> compute_;
};

}  // namespace namdb::namctl

// The plan of a comparison: its trials, and the tables and pictures that show them. It varies one thing at a
// time and keeps the others at their base, so that it ends in minutes (RCC §6.2 to §6.5). With `full` it runs
// every combination.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/nambench/comparison/trials.h"

namespace namdb::nambench {

// Lists without repetitions, numbers ascending, none empty but hot_percents where ycsb is not among the
// workloads.
struct CompareOptions {
  std::vector<std::string> protocols;
  std::vector<std::string> workloads;
  std::vector<std::string> fabrics;
  std::vector<std::string> stages;  // one-sided, two-sided, or a stage code
  std::vector<double> hot_percents;
  std::vector<double> computation_us;     // base: the first
  std::vector<std::uint64_t> coroutines;  // base: the last
  bool full = false;
  bool breakdown = true;  // where the time goes, too
  std::string without;    // optimisations that are left out everywhere
  RunSpan run;
  std::uint32_t repetitions = 3;

  std::uint64_t base_coroutines() const { return coroutines.back(); }
  double base_computation_us() const { return computation_us.front(); }
};

// Error invalid_parameter_value: a code that no protocol of them has.
Status check_stages(const CompareOptions& options);

// Positions of trials, which a table shows as its rows.
struct Rows {
  std::string title;
  std::vector<std::size_t> trials;
};

// Protocols against one thing that is varied: a picture and a table for each figure.
struct Panel {
  std::string title;
  std::string file;  // of its pictures; a figure's name and .svg come behind
  std::string x_label;
  bool logarithmic_x = false;
  std::vector<Figure> figures;
  std::vector<double> xs;
  struct Series {
    std::string name;
    std::vector<std::size_t> trials;  // one for each of xs
  };
  std::vector<Series> series;
};

// All that is run over one transport.
struct FabricPlan {
  std::string fabric;
  std::vector<Rows> overviews;
  std::vector<Panel> panels;
  std::vector<Rows> attempts;
  std::vector<Rows> breakdowns;
};

struct ComparePlan {
  std::vector<Trial> trials;
  std::vector<Trial> timed;  // what breakdowns show
  std::vector<FabricPlan> fabrics;
};

ComparePlan plan_comparison(const CompareOptions& options);

}  // namespace namdb::nambench

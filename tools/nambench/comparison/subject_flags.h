// The flags that the commands that compare subjects share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/nambench/comparison/subject.h"

namespace CLI {
class App;
}

namespace namdb::nambench {

std::vector<std::string> protocol_names();

// --workload, --protocol, --fabric, --coroutines, --computation-us and --hot-probability, with what is there
// as their defaults.
void add_subject(CLI::App& command, Subject& subject, std::optional<double>& hot_probability);
// Error invalid_parameter_value: it was given for another workload than ycsb.
Status take_hot_probability(Subject& subject, std::optional<double> hot_probability);

// --seconds, --warmup, --repetitions and --seed, with what is there as their defaults.
void add_run_span(CLI::App& command, RunSpan& span, std::uint32_t& repetitions);
// Sizes of tables, and --region-mib.
void add_run_limits(CLI::App& command, RunLimits& limits);

}  // namespace namdb::nambench

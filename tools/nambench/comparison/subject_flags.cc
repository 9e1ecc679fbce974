#include "tools/nambench/comparison/subject_flags.h"

#include <CLI/CLI.hpp>

#include "common/protocols/protocol.h"

namespace namdb::nambench {

std::vector<std::string> protocol_names() {
  std::vector<std::string> names;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits()) names.emplace_back(traits.name);
  return names;
}

void add_subject(CLI::App& command, Subject& subject, std::optional<double>& hot_probability) {
  command.add_option("--workload", subject.workload.name, "smallbank, ycsb or tpcc (new-order only)")
      ->capture_default_str()
      ->check(CLI::IsMember(std::vector<std::string>(kComparedWorkloads.begin(), kComparedWorkloads.end())));
  command.add_option("--protocol", subject.protocol, "Concurrency control, as nam-memoryd's flag")
      ->capture_default_str()
      ->check(CLI::IsMember(protocol_names()));
  command.add_option("--fabric", subject.fabric, "Transport: shm or tcp")
      ->capture_default_str()
      ->check(CLI::IsMember({"shm", "tcp"}));
  command.add_option("--coroutines", subject.coroutines, "Transactions under way at once")
      ->capture_default_str()
      ->check(CLI::Range(1, 10'000));
  command
      .add_option("--computation-us", subject.computation_us,
                  "Computation of each transaction between its last read and its commit, in microseconds")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command
      .add_option(
          "--hot-probability", hot_probability,
          "ycsb: probability, 0 to 1, that an operation goes to the 0.1 % of the records that are hot (0)")
      ->check(CLI::Range(0.0, 1.0));
}

Status take_hot_probability(Subject& subject, std::optional<double> hot_probability) {
  if (hot_probability && subject.workload.name != "ycsb") {
    return Status(ErrorCode::invalid_parameter_value,
                  "--hot-probability belongs to ycsb, not to " + subject.workload.name);
  }
  subject.workload.hot_percent = 100 * hot_probability.value_or(0);
  return {};
}

void add_run_span(CLI::App& command, RunSpan& span, std::uint32_t& repetitions) {
  command.add_option("--seconds", span.seconds, "Seconds to measure, of each run")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e4));
  command.add_option("--warmup", span.warmup_seconds, "Seconds before, not measured")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e4));
  command.add_option("--repetitions", repetitions, "Runs of each subject, in turns; figures are medians")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  command.add_option("--seed", span.seed, "Decides all rows and all arguments, of the first repetition")
      ->capture_default_str();
}

void add_run_limits(CLI::App& command, RunLimits& limits) {
  add_sizes(command, limits.sizes);
  command
      .add_option("--region-mib", limits.region_mib, "Region of the memory server (what the workload needs)")
      ->check(CLI::Range(std::uint64_t{16}, std::uint64_t{1} << 20))
      ->group("Sizes");
}

}  // namespace namdb::nambench

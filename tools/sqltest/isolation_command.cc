#include "tools/sqltest/isolation_command.h"

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/sqltest/isolation_runner.h"
#include "tools/sqltest/isolation_spec.h"
#include "tools/sqltest/libpq_client.h"
#include "tools/sqltest/serial_orders.h"

namespace namdb::sqltest {
namespace {

constexpr int kDifferent = 1;
constexpr int kMalformed = 2;
constexpr int kEnvironment = 3;

struct SpecFile {
  std::string path;
  std::string text;
  IsolationSpec spec;
};

std::optional<std::string> content_of(const std::string& path) {
  std::ifstream input(path);
  if (!input) return std::nullopt;
  std::stringstream text;
  text << input.rdbuf();
  return text.str();
}

// Beside NAME.spec.
std::string expected_path(const std::string& path) {
  const std::string suffix = ".spec";
  return (path.ends_with(suffix) ? path.substr(0, path.size() - suffix.size()) : path) + ".expected";
}

// Says what is wrong, with file and line.
std::optional<SpecFile> read_spec(const std::string& path) {
  SpecFile file;
  file.path = path;
  file.text = content_of(path).value_or("");
  Result<IsolationSpec> spec = parse_isolation_spec(file.text);
  if (!spec.ok()) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), spec.status().message().c_str());
    return std::nullopt;
  }
  file.spec = std::move(*spec);
  if (!file.spec.generated) return file;
  const Status status = read_expected(content_of(expected_path(path)).value_or(""), file.spec);
  if (status.ok()) return file;
  std::fprintf(stderr, "%s: %s\n", expected_path(path).c_str(), status.message().c_str());
  return std::nullopt;
}

std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "  " + line + "\n";
  return text;
}

// Where a generated permutation's answers go: a file of its own.
bool accept_generated(const SpecFile& file, const std::vector<PermutationOutcome>& outcomes) {
  std::ofstream output(expected_path(file.path));
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    output << (i == 0 ? "" : "\n") << "permutation " << file.spec.name_of(file.spec.permutations[i]) << "\n"
           << indented(outcomes[i].lines);
  }
  return static_cast<bool>(output.flush());
}

// The spec, with other lines under its permutations.
bool accept_listed(const SpecFile& file, const std::vector<PermutationOutcome>& outcomes) {
  std::istringstream input(file.text);
  std::ofstream output(file.path);
  std::size_t number = 0;
  std::size_t next = 0;
  std::size_t resume = 0;
  for (std::string line; std::getline(input, line);) {
    ++number;
    if (number < resume) continue;
    output << line << "\n";
    if (next == outcomes.size() || file.spec.permutations[next].line != number) continue;
    output << indented(outcomes[next].lines);
    resume = file.spec.permutations[next].expected_end;
    ++next;
  }
  return static_cast<bool>(output.flush());
}

struct Summary {
  std::size_t permutations = 0;
  std::size_t steps = 0;
  std::size_t skipped = 0;       // files
  std::size_t transactions = 0;  // that took part in a serial order
  std::size_t conflicts = 0;     // transactions that ended with one
  nlohmann::json failures = nlohmann::json::array();
};

void report(const SpecFile& file, const Permutation& permutation, const PermutationOutcome& outcome,
            Summary& summary) {
  const std::string name = file.spec.name_of(permutation);
  const std::string place = file.path + (permutation.line == 0 ? "" : ":" + std::to_string(permutation.line));
  std::string text = place + ": permutation " + name + "\n";
  if (permutation.expected.empty()) text += "  (nothing is expected: --accept writes what was answered)\n";
  text += difference(permutation.expected, outcome.lines);
  for (const std::string& note : outcome.notes) text += "  (" + note + ")\n";
  std::fprintf(stderr, "%s\n", text.c_str());
  summary.failures.push_back({{"file", file.path}, {"line", permutation.line}, {"permutation", name}});
}

IsolationRunOptions run_options(const IsolationCommand& command, std::string& why) {
  IsolationRunOptions options;
  options.servers = command.connections.size();
  options.patience = command.patience;
  options.open = [&](std::size_t server) { return connect_step_client(command.connections[server], why); };
  return options;
}

// An exit code.
int compare_serially(const SpecFile& file, const IsolationCommand& command, Summary& summary) {
  if (file.spec.at_once) {
    ++summary.skipped;
    return 0;
  }
  std::string why;
  IsolationRunner runner(file.spec, run_options(command, why));
  SerialOrders orders(file.spec, runner, command.comparison == Comparison::strict);
  int code = 0;
  for (const Permutation& permutation : file.spec.permutations) {
    const Result<SerialOrders::Verdict> verdict = orders.judge(permutation);
    if (!verdict.ok()) {
      std::fprintf(stderr, "%s: cannot connect: %s", file.path.c_str(), why.c_str());
      return kEnvironment;
    }
    ++summary.permutations;
    summary.steps += permutation.steps.size();
    summary.transactions += verdict->counted;
    summary.conflicts += verdict->conflicts;
    if (verdict->mistake.empty()) continue;
    code = kDifferent;
    const std::string name = file.spec.name_of(permutation);
    std::fprintf(stderr, "%s: permutation %s\n%s\n", file.path.c_str(), name.c_str(),
                 verdict->mistake.c_str());
    summary.failures.push_back({{"file", file.path}, {"line", permutation.line}, {"permutation", name}});
  }
  return code;
}

// An exit code.
int run_file(const SpecFile& file, const IsolationCommand& command, Summary& summary) {
  std::string why;
  IsolationRunner runner(file.spec, run_options(command, why));
  std::vector<PermutationOutcome> outcomes;
  bool equal = true;
  for (const Permutation& permutation : file.spec.permutations) {
    Result<PermutationOutcome> outcome = runner.run(permutation);
    if (!outcome.ok()) {
      std::fprintf(stderr, "%s: cannot connect: %s", file.path.c_str(), why.c_str());
      return kEnvironment;
    }
    ++summary.permutations;
    summary.steps += permutation.steps.size();
    if (outcome->lines != permutation.expected) {
      equal = false;
      if (!command.accept) report(file, permutation, *outcome, summary);
    }
    outcomes.push_back(std::move(*outcome));
  }
  if (equal) return 0;
  if (!command.accept) return kDifferent;
  if (file.spec.generated ? accept_generated(file, outcomes) : accept_listed(file, outcomes)) return 0;
  std::fprintf(stderr, "%s: cannot write what was answered\n", file.path.c_str());
  return kEnvironment;
}

}  // namespace

int run_isolation(const IsolationCommand& command) {
  std::vector<SpecFile> files;
  bool well_formed = true;
  for (const std::string& path : command.files) {
    std::optional<SpecFile> file = read_spec(path);
    well_formed = well_formed && file.has_value();
    if (file) files.push_back(std::move(*file));
  }
  if (!well_formed) return kMalformed;
  Summary summary;
  int code = 0;
  for (const SpecFile& file : files) {
    const int ended = command.comparison == Comparison::expected ? run_file(file, command, summary)
                                                                 : compare_serially(file, command, summary);
    if (ended == kEnvironment) return kEnvironment;
    code = std::max(code, ended);
  }
  const std::size_t failed = summary.failures.size();
  if (command.json) {
    const nlohmann::json json{{"files", files.size()},
                              {"permutations", summary.permutations},
                              {"steps", summary.steps},
                              {"skipped", summary.skipped},
                              {"transactions", summary.transactions},
                              {"conflicts", summary.conflicts},
                              {"failed", failed},
                              {"failures", summary.failures}};
    std::printf("%s\n", json.dump().c_str());
  } else {
    std::printf("%zu of %zu permutations of %zu files were answered as expected\n",
                summary.permutations - failed, summary.permutations, files.size() - summary.skipped);
  }
  return code;
}

}  // namespace namdb::sqltest

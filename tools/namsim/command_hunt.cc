// namsim hunt: seed after seed for so many minutes, on all cores, in processes of their own.
#include <poll.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "tools/namsim/child_run.h"
#include "tools/namsim/command.h"

namespace namdb::sim {
namespace {

using Clock = std::chrono::steady_clock;

// Seeds of one process.
constexpr std::uint64_t kBatch = 20;

// Those that this process may run on.
std::uint64_t usable_cores() {
  cpu_set_t cores;
  return ::sched_getaffinity(0, sizeof cores, &cores) == 0 ? static_cast<std::uint64_t>(CPU_COUNT(&cores))
                                                           : 1;
}

struct HuntFlags {
  double minutes = 0;
  std::uint64_t seeds = 0;  // 0: no bound
  std::uint64_t jobs = usable_cores();
  std::uint64_t first_seed = 1;
  std::uint64_t failures = 10;
  std::uint64_t cpu_s = 60;
  ScenarioFlags scenario;
  LevelFlag level;
  bool json = false;
  bool quiet = false;
};

struct Failure {
  Scenario scenario;
  std::string anomaly;
};

class Hunt {
 public:
  explicit Hunt(const HuntFlags& flags) : flags_(flags) {}

  Status go() {
    const auto start = Clock::now();
    const auto end = start + std::chrono::duration<double>(flags_.minutes * 60);
    auto told = start;
    next_ = flags_.first_seed;
    for (;;) {
      const bool more = Clock::now() < end && failures_.size() < flags_.failures;
      if (more && running_.size() < flags_.jobs) {
        std::vector<Scenario> batch = std::move(left_);
        left_.clear();
        while (batch.size() < kBatch && (flags_.seeds == 0 || next_ - flags_.first_seed < flags_.seeds))
          batch.push_back(flags_.scenario.scenario(next_++));
        if (!batch.empty()) {
          auto child = ChildRun::start(std::move(batch), flags_.level.level, flags_.cpu_s);
          if (!child.ok()) return child.status();
          running_.push_back(std::move(child).value());
          continue;
        }
      }
      if (running_.empty()) break;
      wait_for_one();
      if (!flags_.quiet && Clock::now() - told > std::chrono::seconds(5)) {
        told = Clock::now();
        std::fprintf(stderr, "%.0f s: %llu runs, %llu transactions, %zu failures, next seed %llu\n",
                     std::chrono::duration<double>(told - start).count(),
                     static_cast<unsigned long long>(runs_), static_cast<unsigned long long>(transactions_),
                     failures_.size(), static_cast<unsigned long long>(next_));
      }
    }
    return {};
  }

  int report() const {
    nlohmann::ordered_json json;
    json["ok"] = failures_.empty();
    json["level"] = flags_.level.level.name;
    json["first_seed"] = flags_.first_seed;
    json["next_seed"] = next_;
    json["runs"] = runs_;
    json["transactions"] = transactions_;
    json["faults"] = nlohmann::ordered_json::object();
    for (std::size_t kind = 0; kind < happened_.size(); ++kind)
      json["faults"][Fault::kind_name(static_cast<Fault::Kind>(kind))] = happened_[kind];
    json["failures"] = nlohmann::ordered_json::array();
    std::string text;
    for (const Failure& failure : failures_) {
      json["failures"].push_back({{"seed", failure.scenario.seed},
                                  {"flags", failure.scenario.flags()},
                                  {"options", failure.scenario.describe()},
                                  {"anomaly", failure.anomaly}});
      text += "seed " + std::to_string(failure.scenario.seed) + "\noptions: " + failure.scenario.describe() +
              "\n" + failure.anomaly + "\nrun it again: namsim run " + failure.scenario.flags() +
              " --level " + std::string(flags_.level.level.name) + "\n\n";
    }
    const std::string faults = to_text(happened_);
    text += faults.empty() ? "" : "faults: " + faults + "\n";
    text += std::to_string(runs_) + " runs, " + std::to_string(transactions_) + " transactions, " +
            std::to_string(failures_.size()) + " failures\n";
    print(flags_.json ? json.dump(2) + "\n" : text);
    return failures_.empty() ? kClean : kAnomaly;
  }

 private:
  void wait_for_one() {
    std::vector<pollfd> waits;
    for (const ChildRun& run : running_) waits.push_back({run.descriptor(), POLLIN, 0});
    if (::poll(waits.data(), waits.size(), -1) <= 0) return;
    for (std::size_t i = waits.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      take(running_[i]);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void take(ChildRun& child) {
    const std::vector<ChildVerdict> verdicts = child.finish();
    const std::vector<Scenario>& scenarios = child.scenarios();
    for (std::size_t k = 0; k < verdicts.size(); ++k) {
      ++runs_;
      transactions_ += verdicts[k].transactions;
      for (std::size_t kind = 0; kind < happened_.size(); ++kind)
        happened_[kind] += verdicts[k].happened[kind];
      if (verdicts[k].anomaly.empty()) continue;
      std::fprintf(stderr, "fails: namsim run %s --level %s\n", scenarios[k].flags().c_str(),
                   std::string(flags_.level.level.name).c_str());
      failures_.push_back({scenarios[k], verdicts[k].anomaly});
    }
    // The scenarios behind a failure are still to be run.
    left_.insert(left_.end(), scenarios.begin() + static_cast<std::ptrdiff_t>(verdicts.size()),
                 scenarios.end());
  }

  const HuntFlags& flags_;
  std::uint64_t next_ = 1;
  std::uint64_t runs_ = 0;
  std::uint64_t transactions_ = 0;
  FaultCounts happened_{};
  std::vector<ChildRun> running_;
  std::vector<Scenario> left_;
  std::vector<Failure> failures_;
};

int run(const HuntFlags& flags) {
  Hunt hunt(flags);
  const Status done = hunt.go();
  if (!done.ok()) return report_error(done);
  return hunt.report();
}

}  // namespace

RunCommand add_hunt(CLI::App& program) {
  auto flags = std::make_shared<HuntFlags>();
  CLI::App& command = *program.add_subcommand("hunt", "Run seed after seed, on all cores, until time is up");
  command.add_option("--minutes", flags->minutes, "How long new runs are started")
      ->required()
      ->check(CLI::Range(0.0, 1e6));
  command.add_option("--seeds", flags->seeds, "Stop after so many seeds; 0: no bound")->capture_default_str();
  command.add_option("--jobs", flags->jobs, "Processes at once; default: one for each core")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  command.add_option("--first-seed", flags->first_seed, "The seeds are this and those that follow")
      ->capture_default_str();
  command.add_option("--failures", flags->failures, "Stop after so many seeds that fail")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command.add_option("--cpu-seconds", flags->cpu_s, "Processor time after which a run counts as endless")
      ->capture_default_str()
      ->check(CLI::Range(1, 3600));
  add_scenario_flags(command, flags->scenario);
  add_level(command, flags->level);
  command.add_flag("--json", flags->json, "Print one JSON document");
  command.add_flag("--quiet", flags->quiet, "No progress on standard error");
  return [flags] {
    flags->level.follow(flags->scenario.protocol);
    const Status status = flags->scenario.read_files();
    return status.ok() ? run(*flags) : report_usage(status);
  };
}

}  // namespace namdb::sim

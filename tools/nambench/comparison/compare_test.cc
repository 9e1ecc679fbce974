// The plan and the report of a comparison, on invented measurements.
#include <catch2/catch.hpp>
#include <set>

#include "tools/nambench/comparison/compare_plan.h"
#include "tools/nambench/comparison/compare_report.h"
#include "tools/nambench/comparison/stage_search.h"

using namespace namdb::nambench;

namespace {

CompareOptions three_workloads() {
  return {.protocols = {"si", "occ"},
          .workloads = {"smallbank", "ycsb", "tpcc"},
          .fabrics = {"shm", "tcp"},
          .stages = {"one-sided"},
          .hot_percents = {0, 90},
          .computation_us = {1, 16, 256},
          .coroutines = {1, 11},
          .run = {},
          .repetitions = 2};
}

// Every trial twice, the rate as large as there are transactions under way.
void make_up(ComparePlan& plan) {
  for (std::vector<Trial>* const trials : {&plan.trials, &plan.timed}) {
    for (Trial& trial : *trials) {
      for (const double factor : {0.9, 1.1}) {
        Measurement& run = trial.runs.emplace_back();
        run.rate = 1000 * factor * static_cast<double>(trial.subject.coroutines);
        run.types = {{.name = "pay", .conflicts_percent = 12.5, .most_attempts = 7, .longest_us = 4321}};
        if (trial.subject.stage_times) {
          run.time_shares = {{.name = "read", .us = 30, .round_trips = 1}, {.name = "validate", .us = 0}};
        }
      }
    }
  }
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a comparison varies one thing at a time, and runs a subject once for all that show it") {
  const ComparePlan plan = plan_comparison(three_workloads());
  // Four variants of workloads at the base; three workloads once more with the other number under way, and
  // YCSB twice with more computation.
  CHECK(plan.trials.size() == 2U * 2U * (4 + 3 * 1 + 1 * 2));
  std::size_t equal = 0;
  for (const Trial& one : plan.trials) {
    for (const Trial& other : plan.trials) equal += one.subject == other.subject ? 1 : 0;
  }
  CHECK(equal == plan.trials.size());
  // Both primitives of each protocol on each workload.
  CHECK(plan.timed.size() == 2U * 2U * 2U * 3U);
  REQUIRE(plan.fabrics.size() == 2);
  for (const FabricPlan& fabric : plan.fabrics) {
    CHECK(fabric.overviews.size() == 4);
    CHECK(fabric.panels.size() == 1 + 3 + 1);
    for (const Panel& panel : fabric.panels) {
      CAPTURE(panel.title);
      REQUIRE(panel.series.size() == 2);
      for (const Panel::Series& series : panel.series) {
        REQUIRE(series.trials.size() == panel.xs.size());
        for (const std::size_t trial : series.trials) {
          CHECK(plan.trials[trial].subject.protocol == series.name);
          CHECK(plan.trials[trial].subject.fabric == fabric.fabric);
        }
      }
    }
    const Panel& contention = fabric.panels.front();
    for (const std::size_t trial : contention.series[0].trials) {
      CHECK(plan.trials[trial].subject.coroutines == 11);
      CHECK(plan.trials[trial].subject.computation_us == 1);
    }
    CHECK(plan.trials[contention.series[0].trials[1]].subject.workload.hot_percent == 90);
  }
}

TEST_CASE("a full comparison varies everything with everything") {
  CompareOptions options = three_workloads();
  options.full = true;
  options.stages = {"one-sided", "two-sided"};
  options.without = "adaptive-backoff";
  const ComparePlan plan = plan_comparison(options);
  CHECK(plan.trials.size() == 2U * 2U * 2U * 4U * 3U * 2U);
  for (const Trial& trial : plan.trials) {
    const bool pure =
        trial.subject.stages.one_sided() || trial.subject.stages == pure_two_sided(trial.subject.protocol);
    CHECK(pure);
    CHECK(trial.subject.without == options.without);
  }
}

TEST_CASE("a choice with one value is not varied") {
  CompareOptions options = three_workloads();
  options.workloads = {"tpcc"};
  options.hot_percents = {};
  options.coroutines = {4};
  options.computation_us = {0};
  options.breakdown = false;
  const ComparePlan plan = plan_comparison(options);
  CHECK(plan.trials.size() == 4);
  CHECK(plan.timed.empty());
  CHECK(plan.fabrics[0].panels.empty());
}

TEST_CASE("a report shows every picture once, under names that differ, and every table") {
  for (const bool full : {false, true}) {
    CompareOptions options = three_workloads();
    options.full = full;
    options.stages = {"one-sided", "read,lock"};
    ComparePlan plan = plan_comparison(options);
    make_up(plan);
    const CompareReport report = compare_report(plan, "how it was\n");
    std::set<std::string> files;
    for (const Picture& picture : report.pictures) {
      CAPTURE(picture.file);
      CHECK(files.insert(picture.file).second);
      CHECK(count(report.markdown, "(" + picture.file + ")") == 1);
      CHECK(picture.svg.ends_with("</svg>\n"));
    }
    CHECK(count(report.markdown, "![") == files.size());
    CHECK(count(report.markdown, "how it was") == 1);
    CHECK(count(report.markdown, "11,000 ±10 %") > 0);
    CHECK(count(report.markdown, "occ, read,lock") > 0);
    CHECK(count(report.markdown, "12.5 |") > 0);
    CHECK(count(report.markdown, "30.00 (1.00)") > 0);
    CHECK(count(report.markdown, "validate") == 0);  // took no time anywhere
  }
}

TEST_CASE("stage codes that there are not are refused") {
  CompareOptions options = three_workloads();
  options.stages = {"one-sided", "two-sided", "read,lock"};
  CHECK(check_stages(options).ok());
  options.stages = {"frob"};
  CHECK(check_stages(options).code() == namdb::ErrorCode::invalid_parameter_value);
}

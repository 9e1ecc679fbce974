// The decisions of comparisons: codes, rounds, turns and medians, on invented runs.
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "common/protocols/protocol.h"
#include "compute/cluster/optimisations.h"
#include "tools/nambench/comparison/factors.h"
#include "tools/nambench/comparison/hybrid_search.h"
#include "tools/nambench/comparison/stage_search.h"

using namespace namdb;
using namespace namdb::nambench;

namespace {

Measurement rate_of(double rate) {
  Measurement made_up;
  made_up.rate = rate;
  return made_up;
}

HybridOptions small_search() {
  HybridOptions options;
  options.subject = {.protocol = "occ", .stages = {}, .fabric = "shm", .workload = {.name = "smallbank"}};
  options.subject.coroutines = 7;
  options.probe = {.warmup_seconds = 0, .seconds = 1};
  options.run = {.warmup_seconds = 0, .seconds = 50};
  options.finalists = 2;
  options.repetitions = 3;
  return options;
}

protocol::StageCode code(std::string_view text) {
  return *protocol::StageCode::parse(text);
}

}  // namespace

TEST_CASE("every combination of a protocol's stages is a code, once, from one-sided to two-sided") {
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    const std::vector<protocol::StageCode> codes = stage_codes(pure_two_sided(protocol.name));
    std::set<std::string> texts;
    for (const protocol::StageCode each : codes) texts.insert(each.text());
    CAPTURE(protocol.name);
    CHECK(texts.size() == codes.size());
    CHECK(std::has_single_bit(codes.size()));
    CHECK(codes.front().one_sided());
    CHECK(codes.back() == pure_two_sided(protocol.name));
    CHECK(stage_text(protocol.name, codes.back()) == "two-sided");
    // A stage is in half of them, or in none.
    for (std::size_t i = 0; i < protocol::kStageNames.size(); ++i) {
      const auto stage = static_cast<protocol::Stage>(i);
      const auto count = static_cast<std::size_t>(
          std::ranges::count_if(codes, [&](protocol::StageCode each) { return each.two_sided(stage); }));
      CHECK(count == (codes.back().two_sided(stage) ? codes.size() / 2 : 0));
    }
  }
  CHECK_FALSE(pure_two_sided("si").two_sided(protocol::Stage::validate));
  CHECK(stages_that_it_has("si", code("read,validate,renew")) == code("read"));
  CHECK(pure_two_sided("occ").two_sided(protocol::Stage::validate));
}

TEST_CASE("stages that transactions hardly come to are not varied, those of every commit always") {
  const protocol::StageCode all = pure_two_sided("sundial");
  Measurement measured;
  CHECK(stages_that_run(all, measured) == code("read,lock,log,install"));
  measured.aborts_percent = 5;
  measured.time_shares = {{.name = "find", .times = 0.02}, {.name = "renew", .times = 0.001}};
  CHECK(stages_that_run(all, measured) == code("find,read,lock,log,install,release"));
  CHECK(stages_that_run(code("read,log"), measured) == code("read,log"));
}

TEST_CASE("rounds get smaller, down to the finalists and the pure codes") {
  CHECK(round_sizes(64, 4) == std::vector<std::size_t>{64, 23, 9});
  CHECK(round_sizes(32, 4) == std::vector<std::size_t>{32, 12});
  CHECK(round_sizes(6, 4).empty());
  CHECK(round_sizes(2, 1).empty());
  for (const std::size_t finalists : {1U, 3U, 10U}) {
    const std::vector<std::size_t> sizes = round_sizes(256, finalists);
    CHECK(sizes.front() == 256);
    CHECK(std::ranges::is_sorted(sizes, std::greater<>()));
    CHECK(sizes.back() > finalists + 2);
  }
}

TEST_CASE("the pure codes survive however slow they are, and the fastest of the others") {
  const std::vector<double> scores = {1, 50, 30, 40, 2};
  const std::vector<bool> pure = {true, false, false, false, true};
  CHECK(survivors(scores, pure, 4) == std::vector<std::size_t>{0, 1, 3, 4});
  CHECK(survivors(scores, pure, 3) == std::vector<std::size_t>{0, 1, 4});
  CHECK(survivors(scores, pure, 0) == std::vector<std::size_t>{0, 4});
  CHECK(survivors(scores, pure, 99).size() == 5);
}

TEST_CASE("a search finds the fastest code, with the pure ones beside it, and says what each stage takes") {
  support::Progress progress(true);
  const protocol::StageCode fastest = code("lock,log");
  std::map<std::string, int> final_runs;
  const auto run_one = [&](const Subject& subject, const RunSpan& span) -> Result<Measurement> {
    if (span.seconds == 50 && !subject.stage_times) ++final_runs[stage_text("occ", subject.stages)];
    double rate = subject.stages == fastest ? 300 : subject.stages.one_sided() ? 200 : 100;
    if (span.seed == 2) rate += 30;
    Measurement made_up = rate_of(rate);
    if (subject.stage_times) {
      made_up.time_shares = {{.name = "read", .us = 2, .round_trips = 1, .times = 1},
                             {.name = "validate", .us = 1, .round_trips = 1, .times = 0.5}};
    }
    return made_up;
  };
  const Result<HybridReport> found = search_hybrid(small_search(), run_one, progress);
  REQUIRE(found.ok());
  // No record is looked for, and no transaction aborts.
  CHECK(found->varied == code("read,lock,validate,log,install"));
  CHECK(found->codes == 32);
  REQUIRE(found->finalists.size() == 4);
  CHECK(found->best().subject.stages == fastest);
  CHECK(found->best_pure().subject.stages.one_sided());
  CHECK(found->ratio_to_best_pure() == Approx(300.0 / 200));
  CHECK(found->best().of(&Measurement::rate).median == 300);
  CHECK(found->best().of(&Measurement::rate).half_range == 15);
  CHECK(final_runs.size() == 4);
  CHECK(final_runs["two-sided"] == 3);
  REQUIRE(found->breakdowns.size() == 2);
  CHECK(found->breakdowns[0].coroutines == 1);
  CHECK(found->breakdowns[1].coroutines == 7);
  CHECK(found->breakdowns[1].codes.size() == 3);
  const std::string text = to_text(*found);
  CHECK(text.find("--stages lock,log: 1.50x the better of") != std::string::npos);
}

TEST_CASE("a search ends with the first error of a run") {
  support::Progress progress(true);
  int runs = 0;
  const auto run_one = [&](const Subject&, const RunSpan&) -> Result<Measurement> {
    if (++runs == 10) return Status(ErrorCode::internal, "no more");
    return rate_of(1);
  };
  CHECK(search_hybrid(small_search(), run_one, progress).status().message() == "no more");
  CHECK(runs == 10);
}

TEST_CASE("factors are added one by one, from nothing to everything") {
  FactorOptions options;
  options.subject = small_search().subject;
  options.repetitions = 2;
  const std::vector<FactorStep> steps = factor_steps(options);
  REQUIRE(steps.size() >= 4);
  CHECK(steps.front().trial.subject.coroutines == 1);
  CHECK(steps.back().trial.subject == options.subject);
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const Subject& before = steps[i - 1].trial.subject;
    const Subject& now = steps[i].trial.subject;
    CAPTURE(steps[i].name, before.without, now.without);
    CHECK(txn::Optimisations::without(now.without));
    if (now.coroutines != before.coroutines) {
      CHECK(now.without == before.without);
    } else {
      CHECK(before.without.size() > now.without.size());
      CHECK(before.without.ends_with(now.without));
    }
  }
  CHECK_FALSE(txn::Optimisations::without(steps.front().trial.subject.without)->outstanding_requests);
  CHECK_FALSE(txn::Optimisations::without(steps.front().trial.subject.without)->passive_acknowledgement);

  support::Progress progress(true);
  const auto run_one = [&](const Subject& subject, const RunSpan&) -> Result<Measurement> {
    return rate_of(subject.without.empty() ? 300 : 100);
  };
  const auto found = analyse_factors(options, run_one, progress);
  REQUIRE(found.ok());
  CHECK(found->back().trial.runs.size() == 2);
  CHECK(to_text(*found).find("3.00x") != std::string::npos);
}

TEST_CASE("subjects take turns, there and back, each repetition with the next seed") {
  Schedule schedule;
  support::Progress progress(true);
  std::string order;
  Turns turns(
      [&](const Subject& subject, const RunSpan& span) -> Result<Measurement> {
        order += subject.protocol + std::to_string(span.seed) + ' ';
        return rate_of(static_cast<double>(order.size()));
      },
      schedule, progress);
  std::vector<Trial> trials(3);
  trials[0].subject.protocol = "a";
  trials[1].subject.protocol = "b";
  trials[2].subject.protocol = "c";
  REQUIRE(turns.run({&trials[0], &trials[1], &trials[2]}, 3, {.seed = 5}, "").ok());
  CHECK(order == "a5 b5 c5 c6 b6 a6 a7 b7 c7 ");
  for (const Trial& trial : trials) CHECK(trial.runs.size() == 3);
}

TEST_CASE("medians and half ranges") {
  CHECK(spread_of({}).median == 0);
  CHECK(spread_of({5}).median == 5);
  CHECK(spread_of({5}).half_range == 0);
  CHECK(spread_of({9, 1, 4}).median == 4);
  CHECK(spread_of({9, 1, 4}).half_range == 4);
  CHECK(spread_of({4, 1, 2, 9}).median == 3);
  CHECK(spread_of({100, 110, 120}).half_range_percent() == Approx(9.09).margin(0.01));
  CHECK(spread_of({0, 0}).half_range_percent() == 0);
}

TEST_CASE("a trial's attempts are the median of conflicts and the worst of the rest") {
  Trial trial;
  for (const double conflicts : {10.0, 30.0, 20.0}) {
    trial.runs.push_back(rate_of(1));
    trial.runs.back().types = {{.name = "pay",
                                .conflicts_percent = conflicts,
                                .most_attempts = static_cast<std::uint64_t>(conflicts),
                                .longest_us = 1000 - conflicts}};
  }
  const std::vector<TypeAttempts> attempts = trial.attempts();
  REQUIRE(attempts.size() == 1);
  CHECK(attempts[0].conflicts_percent == 20);
  CHECK(attempts[0].most_attempts == 30);
  CHECK(attempts[0].longest_us == 990);
}

TEST_CASE("where a trial's time goes is that of the run in the middle, so that it adds up") {
  Trial trial;
  for (const double us : {90.0, 10.0, 20.0}) {
    trial.runs.push_back(rate_of(1));
    trial.runs.back().time_shares = {{.name = "read", .us = us, .round_trips = us}, {.name = "log", .us = 1}};
  }
  REQUIRE(trial.time_shares().size() == 2);
  CHECK(trial.time_shares()[0].us == 20);
  CHECK(trial.time_shares()[0].round_trips == 20);
  CHECK(Trial().time_shares().empty());
}

TEST_CASE("figures are for each commit, with what the conflicts cost") {
  support::RunReport report;
  report.seconds = 2;
  support::TypeReport& type = report.types.emplace_back();
  type.name = "pay";
  type.committed = 100;
  type.server = {{"commits", 100}, {"transactions", 105}, {"retries", 45}, {"conflicts", 50},
                 {"reads", 300},   {"writes", 100},       {"calls", 50},   {"round_trips", 250},
                 {"bytes", 6400},  {"most_attempts", 9}};
  for (int i = 0; i < 100; ++i) type.latency.record(20'000);
  const Measurement measured = measurement_of(report);
  CHECK(measured.rate == 50);
  CHECK(measured.aborts_percent == Approx(100.0 / 3));
  CHECK(measured.one_sided == 4);
  CHECK(measured.calls == 0.5);
  CHECK(measured.round_trips == 2.5);
  CHECK(measured.bytes == 64);
  CHECK(measured.p50_us == Approx(20).epsilon(0.02));
  CHECK(measured.types[0].most_attempts == 9);
}

TEST_CASE("the time left is planned, and corrected by the time that runs take") {
  Schedule schedule;
  schedule.plan(100, 50);
  const double planned = schedule.left_seconds();
  CHECK(planned > 50);
  for (int i = 0; i < 50; ++i) schedule.done(0.5, 2.5);
  CHECK(schedule.runs_left() == 50);
  CHECK(schedule.left_seconds() == Approx(50 * 2.5).epsilon(0.05));
  CHECK(schedule.left() == "about 2 minutes");
  for (int i = 0; i < 60; ++i) schedule.done(0.5, 2.5);
  CHECK(schedule.left_seconds() == 0);
}

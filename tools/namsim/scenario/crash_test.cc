// The crash table: every protocol, every victim, and of the moments of the run a share, or all with
// NAMDB_CRASH_MOMENTS=all. Otherwise NAMDB_CRASH_MOMENTS is how many of each protocol and victim are tried.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/protocols/protocol.h"
#include "tools/namsim/scenario/crash_run.h"

namespace namdb::sim {
namespace {

constexpr std::uint64_t kMoments = 12;
constexpr std::uint64_t kEarlyMoments = 6;

// How many moments lie between two that are tried.
std::uint64_t stride_of(std::uint64_t moments, bool early) {
  const char* const asked = std::getenv("NAMDB_CRASH_MOMENTS");
  if (asked != nullptr && std::string(asked) == "all") return 1;
  const std::uint64_t fallback = early ? kEarlyMoments : kMoments;
  const std::uint64_t tried = asked == nullptr ? fallback : std::strtoull(asked, nullptr, 10);
  return std::max<std::uint64_t>(1, moments / std::max<std::uint64_t>(tried, 1));
}

struct CrashCounts {
  std::uint64_t crashes = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t answered_early = 0;
  std::uint64_t told = 0;
  std::uint64_t unknown = 0;
  std::uint64_t unknown_there = 0;
};

void run_table(const protocol::ProtocolTraits& protocol, CrashClients clients, std::uint32_t memory_servers,
               CrashCounts& counts) {
  const bool early = clients == CrashClients::early;
  const CrashVerdict whole = run_without_crash(protocol.name, clients, memory_servers);
  INFO(protocol.name << " without a crash");
  REQUIRE(whole.anomaly == "");
  REQUIRE(whole.checkpoints > 2);
  REQUIRE(whole.unknown == 0);
  REQUIRE((whole.answered_early != 0) == early);
  const std::uint64_t stride = stride_of(whole.moments, early);
  std::uint64_t number = 0;
  for (const CrashVictim victim : kCrashVictims) {
    // Each victim has other moments, and another second end, in every other run.
    const std::uint64_t first = stride * static_cast<std::uint64_t>(victim) / std::size(kCrashVictims);
    for (std::uint64_t moment = first; moment < whole.moments; moment += stride, ++number) {
      Crash crash{.protocol = protocol.name,
                  .victim = victim,
                  .moment = moment,
                  .memory_servers = memory_servers,
                  .clients = clients};
      if (victim != CrashVictim::owner && number % 2 == 1) crash.again = 1 + number * 37 % 400;
      const bool often = number % 3 == 2;  // such a run may have fewer moments
      if (often) crash.checkpoint_interval_ns = Crash::kOften_ns;
      INFO(crash.text());
      const CrashVerdict verdict = run_crash(crash);
      REQUIRE(verdict.anomaly == "");
      REQUIRE((verdict.crashed || often));
      // Clients that go on learn what became of their commits.
      if (victim == CrashVictim::memory && crash.again == 0) REQUIRE(verdict.unknown == 0);
      ++counts.crashes;
      counts.acknowledged += verdict.acknowledged;
      counts.answered_early += verdict.answered_early;
      counts.told += verdict.told;
      counts.unknown += verdict.unknown;
      counts.unknown_there += verdict.unknown_there;
    }
  }
}

void run_tables(CrashClients clients, std::uint32_t memory_servers = 1) {
  CrashCounts counts;
  for (const protocol::ProtocolTraits& protocol : protocol::protocol_traits()) {
    DYNAMIC_SECTION(protocol.name) {
      run_table(protocol, clients, memory_servers, counts);
    }
  }
  const auto number = [](std::uint64_t count) { return static_cast<unsigned long long>(count); };
  std::fprintf(
      stderr,
      "%llu crashes; %llu commits acknowledged, %llu answered early, %llu sessions told of lost ones, "
      "%llu unknown, of which %llu happened\n",
      number(counts.crashes), number(counts.acknowledged), number(counts.answered_early), number(counts.told),
      number(counts.unknown), number(counts.unknown_there));
}

}  // namespace

TEST_CASE("acknowledged transactions are there after each crash, and none is there in halves", "[crash]") {
  run_tables(CrashClients::plain);
}

TEST_CASE(
    "a transaction answered early outlives its compute server, and is on disk before those that follow it",
    "[crash]") {
  run_tables(CrashClients::early);
}

TEST_CASE("the same with two memory servers, of which one or both end", "[crash][several]") {
  run_tables(CrashClients::plain, 2);
}

TEST_CASE("a transaction answered early is there, or its session is told, with two memory servers",
          "[crash][several]") {
  run_tables(CrashClients::early, 2);
}

TEST_CASE("outcomes told of transactions with ids are those that hold, after each crash", "[crash]") {
  run_tables(CrashClients::with_ids);
}

TEST_CASE("the same of transactions with ids over two memory servers", "[crash][several]") {
  run_tables(CrashClients::with_ids, 2);
}

TEST_CASE("crashes that have failed", "[crash]") {
  const Crash crashes[] = {
      // Only the entry of a hash index stayed locked: rows that are written with what they have do not lead
      // there.
      {.protocol = "si", .victim = CrashVictim::owner, .moment = 126},
      // A commit of the dead was decided after the first look, and taken for a change.
      {.protocol = "si", .victim = CrashVictim::owner, .moment = 819},
      // The locks of the dead are met one after the other, and each is looked into after 20 ms: too many
      // attempts, when a client made one each half millisecond.
      {.protocol = "nowait", .victim = CrashVictim::owner, .moment = 288},
      {.protocol = "waitdie", .victim = CrashVictim::owner, .moment = 391},
  };
  for (const Crash& crash : crashes) {
    INFO(crash.text());
    const CrashVerdict verdict = run_crash(crash);
    CHECK(verdict.anomaly == "");
    CHECK(verdict.crashed);
  }
}

TEST_CASE("a crash is decided by its numbers", "[crash]") {
  for (const CrashVictim victim : kCrashVictims) {
    const Crash crash{.protocol = protocol::kDefaultProtocol, .victim = victim, .moment = 777};
    CHECK(run_crash(crash).fingerprint == run_crash(crash).fingerprint);
  }
}

}  // namespace namdb::sim

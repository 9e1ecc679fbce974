// The checker on small hand-made histories, with and without each anomaly.
#include "tools/namsim/history.h"

#include <catch2/catch.hpp>

namespace namdb::sim {
namespace {

using Outcome = HistoryTransaction::Outcome;

// Concurrent with everything else, in a session of its own, unless the times say otherwise.
void add(History& history, std::map<std::uint64_t, Version> reads, std::map<std::uint64_t, Version> writes,
         Outcome outcome = Outcome::committed, std::uint64_t began_ns = 0, std::uint64_t ended_ns = 1000) {
  history.add({.session = history.transactions().size(),
               .began_ns = began_ns,
               .ended_ns = ended_ns,
               .outcome = outcome,
               .reads = std::move(reads),
               .writes = std::move(writes)});
}

}  // namespace

TEST_CASE("a chain of updates is snapshot isolated", "[history]") {
  History history;
  add(history, {{1, 0}}, {{1, 1}});
  add(history, {{1, 1}}, {{1, 2}});
  add(history, {{1, 2}}, {});
  CHECK_FALSE(history.check());
}

TEST_CASE("write skew is allowed", "[history]") {
  History history;
  add(history, {{1, 0}, {2, 0}}, {{1, 1}});
  add(history, {{1, 0}, {2, 0}}, {{2, 2}});
  CHECK_FALSE(history.check());
}

TEST_CASE("an aborted read is found", "[history]") {
  History history;
  add(history, {{1, 0}}, {{1, 1}}, Outcome::aborted);
  add(history, {{1, 1}}, {});
  CHECK(history.check());
}

TEST_CASE("an unknown outcome counts as committed once its write was seen", "[history]") {
  History history;
  add(history, {{1, 0}, {2, 0}}, {{1, 1}, {2, 2}}, Outcome::unknown, 0, ~std::uint64_t{0});
  add(history, {{1, 0}}, {});
  CHECK_FALSE(history.check());
  add(history, {{1, 1}, {2, 0}}, {});
  CHECK(history.check());  // half of it
}

TEST_CASE("a lost update is found", "[history]") {
  History history;
  add(history, {{1, 0}}, {{1, 1}});
  add(history, {{1, 0}}, {{1, 2}});
  CHECK(history.check());
}

TEST_CASE("read skew is found", "[history]") {
  History history;
  add(history, {{1, 0}, {2, 0}}, {{1, 1}, {2, 2}});
  add(history, {{1, 1}, {2, 0}}, {});
  CHECK(history.check());
}

TEST_CASE("a long fork is found", "[history]") {
  History history;
  add(history, {{1, 0}}, {{1, 1}});
  add(history, {{2, 0}}, {{2, 2}});
  add(history, {{1, 1}, {2, 0}}, {});
  CHECK_FALSE(history.check());
  add(history, {{1, 0}, {2, 2}}, {});
  CHECK(history.check());
}

TEST_CASE("a stale read after the writer was acknowledged is found", "[history]") {
  History history;
  add(history, {{1, 0}}, {{1, 1}}, Outcome::committed, 0, 10);
  add(history, {{1, 0}}, {}, Outcome::committed, 20, 30);
  CHECK(history.check());
}

}  // namespace namdb::sim

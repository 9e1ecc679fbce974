// Registers: small histories with each anomaly, and without it, at every level around the one that forbids
// it.
#include <catch2/catch.hpp>

#include "tools/namsim/history/testing/test_histories.h"

namespace namdb::history {
namespace {

Made registers() {
  return Made(Model::registers);
}

}  // namespace

TEST_CASE("a chain of updates of a register is strict serializable", "[check]") {
  const Made made = registers()
                        .at(0, 1, {r(1, 0), w(1, 1, 0)})
                        .at(2, 3, {r(1, 1), w(1, 2, 1), r(1, 2)})
                        .at(4, 5, {r(1, 2)});
  for (const Level& level : levels()) CHECK(made.found(std::string(level.name)).empty());
}

TEST_CASE("an empty history and empty transactions have no anomaly", "[check]") {
  CHECK(registers().found(kStrictSerializable).empty());
  CHECK(registers().add({}).add({}, Outcome::unknown).found(kStrictSerializable).empty());
}

TEST_CASE("write skew is seen as serializable and allowed as snapshot isolation", "[check]") {
  const Made made = registers().add({r(1, 0), r(2, 0), w(1, 1, 0)}).add({r(1, 0), r(2, 0), w(2, 2, 0)});
  CHECK(made.found(kStrictSnapshot).empty());
  CHECK(made.found(kSerializable) == "write skew");
}

TEST_CASE("write skew of three transactions is G2-item", "[check]") {
  const Made made =
      registers().add({r(1, 0), w(2, 1, 0)}).add({r(2, 0), w(3, 2, 0)}).add({r(3, 0), w(1, 3, 0)});
  CHECK(made.found(kStrictSnapshot).empty());
  CHECK(made.found(kSerializable) == "G2-item");
}

TEST_CASE("the read-only anomaly of snapshot isolation is G2-item", "[check]") {
  // Fekete, O'Neil, O'Neil 2004: the reader sees the deposit and not the withdrawal.
  const Made made = registers()
                        .at(0, 100, {r(1, 0), r(2, 0), w(1, 1, 0)})
                        .at(10, 20, {r(2, 0), w(2, 2, 0)})
                        .at(30, 40, {r(1, 0), r(2, 2)});
  CHECK(made.found(kStrictSnapshot).empty());
  CHECK(made.found(kSerializable) == "G2-item");
}

TEST_CASE("a read of an aborted write is G1a at every level", "[check]") {
  const Made made = registers().add({w(1, 1, 0)}, Outcome::aborted).add({r(1, 1)});
  CHECK(made.found(kReadCommitted) == "G1a");
  CHECK(registers().add({w(1, 1, 0)}, Outcome::aborted).add({r(1, 0)}).found(kStrictSerializable).empty());
  CHECK(registers().add({w(1, 1, 0)}, Outcome::aborted).add({w(1, 2, 1)}).found(kReadCommitted) == "G1a");
}

TEST_CASE("a read of a version that its writer replaced is G1b", "[check]") {
  CHECK(registers().add({w(1, 1, 0), w(1, 2, 1)}).add({r(1, 1)}).found(kReadCommitted) == "G1b");
  CHECK(registers().add({w(1, 1, 0), w(1, 2, 1)}).add({r(1, 2)}).found(kStrictSerializable).empty());
}

TEST_CASE("writes that displaced each other in both orders are G0", "[check]") {
  const Made made = registers().add({w(1, 1, 0), w(2, 3, 4)}).add({w(1, 2, 1), w(2, 4, 0)});
  CHECK(made.found(kReadCommitted) == "G0");
}

TEST_CASE("transactions that saw each other's writes are G1c", "[check]") {
  const Made made = registers().add({w(1, 1, 0), r(2, 2)}).add({w(2, 2, 0), r(1, 1)});
  CHECK(made.found(kReadCommitted) == "G1c");
}

TEST_CASE("a transaction that does not see its own write is not internally consistent", "[check]") {
  CHECK(registers().add({w(1, 1, 0), r(1, 0)}).found(kReadCommitted) == "internal");
  CHECK(registers().add({w(1, 1, 0), w(1, 2, 0)}).found(kReadCommitted) == "internal");
  CHECK(registers().add({w(1, 1, 0), r(1, 1), w(1, 2, 1), r(1, 2)}).found(kStrictSerializable).empty());
}

TEST_CASE("versions that nobody wrote, or two wrote, are found", "[check]") {
  CHECK(registers().add({r(1, 7)}).found(kReadCommitted) == "garbage read");
  CHECK(registers().add({w(1, 8, 7)}).found(kReadCommitted) == "garbage read");
  CHECK(registers().add({w(1, 7, 0)}).add({w(1, 7, 0)}).found(kReadCommitted) == "duplicate version");
  CHECK(registers().add({w(1, 0, 0)}).found(kReadCommitted) == "duplicate version");
}

TEST_CASE("two writers that displaced one version lost an update", "[check]") {
  const Made made = registers().add({r(1, 0), w(1, 1, 0)}).add({r(1, 0), w(1, 2, 0)});
  CHECK(made.found(kReadCommitted).empty());
  CHECK(made.found(kParallel) == "lost update");
}

TEST_CASE("read skew is G-single, or OTV when the older version came later", "[check]") {
  const Made skew = registers().add({w(1, 1, 0), w(2, 2, 0)}).add({r(2, 0), r(1, 1)});
  CHECK(skew.found(kReadCommitted).empty());
  CHECK(skew.found(kParallel) == "G-single");
  const Made vanished = registers().add({w(1, 1, 0), w(2, 2, 0)}).add({r(1, 1), r(2, 0)});
  CHECK(vanished.found(kReadCommitted).empty());
  CHECK(vanished.found(kParallel) == "OTV");
  CHECK(vanished.found(kSnapshot) == "OTV");
}

TEST_CASE("a read that does not repeat is an anomaly of snapshots", "[check]") {
  CHECK(registers().add({w(1, 1, 0)}).add({r(1, 0), r(1, 1)}).found(kReadCommitted).empty());
  CHECK(registers().add({w(1, 1, 0)}).add({r(1, 0), r(1, 1)}).found(kParallel) == "G-single");
}

TEST_CASE("a long fork is allowed as parallel snapshot isolation only", "[check]") {
  Made made = registers().add({w(1, 1, 0)}).add({w(2, 2, 0)}).add({r(1, 1), r(2, 0)});
  CHECK(made.found(kSerializable).empty());
  made.add({r(1, 0), r(2, 2)});
  CHECK(made.found(kParallel).empty());
  CHECK(made.found(kSnapshot) == "long fork");
}

TEST_CASE("session guarantees are named", "[check]") {
  const Made own = registers().in(1, 0, 1, {w(1, 1, 0)}).in(1, 2, 3, {r(1, 0)});
  CHECK(own.found(kReadCommitted).empty());
  CHECK(own.found(kParallel) == "read your writes");
  const Made back = registers().in(1, 0, 9, {w(1, 1, 0)}).in(2, 2, 3, {r(1, 1)}).in(2, 4, 5, {r(1, 0)});
  CHECK(back.found(kParallel) == "monotonic reads");
  const Made writes = registers().in(1, 0, 1, {w(1, 2, 1)}).in(1, 2, 3, {w(1, 1, 0)});
  CHECK(writes.found(kParallel) == "monotonic writes");
  const Made follows =
      registers().in(1, 0, 9, {w(1, 1, 0), w(2, 2, 3)}).in(2, 1, 2, {r(1, 1)}).in(2, 3, 4, {w(2, 3, 0)});
  CHECK(follows.found(kParallel) == "writes follow reads");
}

TEST_CASE("a cycle that needs the session's order says so", "[check]") {
  const Made made =
      registers().in(1, 0, 1, {w(1, 1, 0)}).in(1, 2, 3, {w(2, 2, 0)}).in(2, 0, 9, {r(2, 2), r(1, 0)});
  CHECK(made.found(kParallel) == "G-single-session");
}

TEST_CASE("a stale read after the writer was acknowledged matters in real time", "[check]") {
  const Made stale = registers().at(0, 10, {r(1, 0), w(1, 1, 0)}).at(20, 30, {r(1, 0)});
  CHECK(stale.found(kSerializable).empty());
  CHECK(stale.found(kStrictSnapshot) == "G-single-real-time");
  CHECK(registers().at(0, 20, {w(1, 1, 0)}).at(20, 30, {r(1, 0)}).found(kStrictSerializable).empty());
}

TEST_CASE("real time passes through any number of moments", "[check]") {
  Made made = registers().at(0, 1, {w(1, 1, 0)});
  for (std::uint64_t k = 1; k <= 50; ++k) made.at(10 * k, 10 * k + 1, {});
  made.at(1000, 1001, {r(1, 0)});
  CHECK(made.found(kStrictSnapshot) == "G-single-real-time");
  const Report report = check(made.history, {});
  REQUIRE(report.anomalies.size() == 1);
  CHECK(report.anomalies[0].cycle.size() == 2);
}

TEST_CASE("an unknown outcome counts as committed once its write was seen", "[check]") {
  Made made = registers().add({w(1, 1, 0), w(2, 2, 0)}, Outcome::unknown).add({r(1, 0)});
  CHECK(made.found(kStrictSerializable).empty());
  made.add({r(2, 0), r(1, 1)});
  CHECK(made.found(kParallel) == "G-single");
  // Through another one of unknown outcome.
  CHECK(registers()
            .add({w(1, 1, 0), w(2, 2, 0)}, Outcome::unknown)
            .add({w(1, 3, 1)}, Outcome::unknown)
            .add({r(2, 0), r(1, 3)})
            .found(kParallel) == "G-single");
}

TEST_CASE("reads of aborted transactions count on demand", "[check]") {
  const Made made = registers().add({w(1, 1, 0), w(2, 2, 0)}).add({r(2, 0), r(1, 1)}, Outcome::aborted);
  CHECK(made.found(kSnapshot).empty());
  CHECK(made.found(kSnapshot, true) == "G-single");
  const Made own =
      registers().add({r(1, 0), w(1, 1, 0), r(1, 1)}, Outcome::aborted).add({r(1, 0), w(1, 2, 0)});
  CHECK(own.found(kStrictSerializable, true).empty());
}

TEST_CASE("a report names the transactions, keys and reasons of a cycle", "[check]") {
  const Made made = registers().at(0, 10, {r(5, 0), w(5, 1, 0)}).at(20, 30, {r(5, 0)});
  const Report report = check(made.history, {});
  REQUIRE(report.anomalies.size() == 1);
  const Anomaly& anomaly = report.anomalies[0];
  CHECK(anomaly.keys == std::vector<Key>{5});
  CHECK(anomaly.transactions == std::vector<std::size_t>{1, 0});
  const std::string text = to_text(anomaly, made.history);
  INFO(text);
  CHECK(text.find("rw: T1 read version 0 of key 5, which T0 displaced") != std::string::npos);
  CHECK(text.find("real-time: T0 ended at 10 ns, before T1 began at 20 ns") != std::string::npos);
  CHECK(report.transactions == 2);
  CHECK(report.operations == 3);
}

}  // namespace namdb::history

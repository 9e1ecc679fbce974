// Lists: small histories with each anomaly, and without it.
#include <catch2/catch.hpp>

#include "tools/namsim/history/testing/test_histories.h"

namespace namdb::history {
namespace {

Made lists() {
  return Made(Model::lists);
}

}  // namespace

TEST_CASE("appends one after the other are strict serializable", "[check]") {
  const Made made = lists()
                        .at(0, 1, {l(1, {}), a(1, 1), l(1, {1}), a(1, 2)})
                        .at(2, 3, {a(1, 3)})
                        .at(4, 5, {l(1, {1, 2, 3}), a(1, 4), l(1, {1, 2, 3, 4})});
  for (const Level& level : levels()) CHECK(made.found(std::string(level.name)).empty());
}

TEST_CASE("appends that nobody read may be in any order", "[check]") {
  const Made made = lists().add({a(1, 1), a(2, 2)}).add({a(2, 3), a(1, 4)}).add({l(1, {}), l(2, {})});
  CHECK(made.found(kStrictSerializable).empty());
}

TEST_CASE("an append that a later reader does not see is an anomaly in real time", "[check]") {
  const Made made = lists().at(0, 1, {a(1, 1)}).at(2, 3, {l(1, {})});
  CHECK(made.found(kSerializable).empty());
  CHECK(made.found(kStrictSnapshot) == "G-single-real-time");
}

TEST_CASE("lists that do not continue each other are incompatible", "[check]") {
  const Made made = lists().add({a(1, 1)}).add({a(1, 2)}).add({l(1, {1, 2})}).add({l(1, {2})});
  CHECK(made.found(kReadCommitted) == "incompatible order");
}

TEST_CASE("elements that nobody appended, or that are there twice, are found", "[check]") {
  CHECK(lists().add({l(1, {9})}).found(kReadCommitted) == "garbage read");
  CHECK(lists().add({a(1, 1)}).add({l(1, {1, 1})}).found(kReadCommitted) == "duplicate version");
  CHECK(lists().add({a(1, 1)}).add({a(1, 1)}).found(kReadCommitted) == "duplicate version");
  // In a list that is not the longest, too.
  CHECK(lists().add({a(1, 1)}).add({l(1, {1})}).add({l(1, {})}).add({l(2, {8})}).found(kReadCommitted) ==
        "garbage read");
}

TEST_CASE("an aborted append anywhere in a list is G1a", "[check]") {
  const Made made = lists().add({a(1, 1)}, Outcome::aborted).add({a(1, 2)}).add({l(1, {1, 2})});
  CHECK(made.found(kReadCommitted) == "G1a");
}

TEST_CASE("a list that ends between two appends of one transaction is G1b", "[check]") {
  CHECK(lists().add({a(1, 1), a(1, 2)}).add({l(1, {1})}).found(kReadCommitted) == "G1b");
  CHECK(lists().add({a(1, 1), a(1, 2)}).add({l(1, {1, 2})}).found(kStrictSerializable).empty());
}

TEST_CASE("appends of two transactions that interleave are G0", "[check]") {
  CHECK(lists().add({a(1, 1), a(1, 3)}).add({a(1, 2)}).add({l(1, {1, 2, 3})}).found(kReadCommitted) == "G0");
  CHECK(lists()
            .add({a(1, 1), a(2, 2)})
            .add({a(1, 3), a(2, 4)})
            .add({l(1, {1, 3})})
            .add({l(2, {4, 2})})
            .found(kReadCommitted) == "G0");
}

TEST_CASE("transactions that read each other's appends are G1c", "[check]") {
  CHECK(lists().add({a(1, 1), l(2, {2})}).add({a(2, 2), l(1, {1})}).found(kReadCommitted) == "G1c");
}

TEST_CASE("a list without the reader's own append is not internally consistent", "[check]") {
  CHECK(lists().add({a(1, 1), l(1, {})}).found(kReadCommitted) == "internal");
  CHECK(lists().add({a(1, 1), a(1, 2), l(1, {2, 1})}).found(kReadCommitted) == "internal");
}

TEST_CASE("an append behind one that the transaction did not see is a lost update", "[check]") {
  const Made made = lists().add({l(1, {}), a(1, 1)}).add({l(1, {}), a(1, 2)}).add({l(1, {1, 2})});
  CHECK(made.found(kReadCommitted).empty());
  CHECK(made.found(kParallel) == "lost update");
}

TEST_CASE("read skew, long fork and write skew of lists are named", "[check]") {
  CHECK(lists().add({a(1, 1), a(2, 2)}).add({l(2, {}), l(1, {1})}).found(kParallel) == "G-single");
  CHECK(lists().add({a(1, 1), a(2, 2)}).add({l(1, {1}), l(2, {})}).found(kParallel) == "OTV");
  const Made fork =
      lists().add({a(1, 1)}).add({a(2, 2)}).add({l(1, {1}), l(2, {})}).add({l(1, {}), l(2, {2})});
  CHECK(fork.found(kParallel).empty());
  CHECK(fork.found(kSnapshot) == "long fork");
  const Made skew = lists().add({l(1, {}), a(2, 1)}).add({l(2, {}), a(1, 2)});
  CHECK(skew.found(kStrictSnapshot).empty());
  CHECK(skew.found(kSerializable) == "write skew");
}

TEST_CASE("session guarantees of lists are named", "[check]") {
  CHECK(lists().in(1, 0, 1, {a(1, 1)}).in(1, 2, 3, {l(1, {})}).found(kParallel) == "read your writes");
  CHECK(lists().in(1, 0, 9, {a(1, 1)}).in(2, 1, 2, {l(1, {1})}).in(2, 3, 4, {l(1, {})}).found(kParallel) ==
        "monotonic reads");
  CHECK(lists().in(1, 0, 1, {a(1, 1)}).in(1, 2, 3, {a(1, 2)}).in(2, 9, 10, {l(1, {2, 1})}).found(kParallel) ==
        "monotonic writes");
}

TEST_CASE("an append of unknown outcome counts once it was seen in any list", "[check]") {
  Made made = lists().add({a(1, 1), a(2, 2)}, Outcome::unknown).add({l(2, {})});
  CHECK(made.found(kStrictSerializable).empty());
  made.add({a(1, 3)}).add({l(1, {1, 3}), l(2, {})});
  CHECK(made.found(kParallel) == "G-single");
}

TEST_CASE("many transactions are checked in one go", "[check]") {
  // 100,000 transactions with a cycle at the very end; every list is short, sessions and times are in order.
  Made made = lists();
  constexpr std::uint64_t kTransactions = 100'000;
  std::vector<std::vector<Version>> state(kTransactions / 50);
  Version next = 0;
  for (std::uint64_t k = 0; k < kTransactions; ++k) {
    const Key one = k / 100;
    const Key other = state.size() / 2 + (k % 100 == 0 ? k : k * 7919) % (state.size() / 2);
    made.in(k % 16, 10 * k, 10 * k + 100 - k % 16,
            {l(one, state[one]), l(other, state[other]), a(one, ++next)});
    state[one].push_back(next);
  }
  CHECK(made.found(kStrictSerializable).empty());
  made.at(20 * kTransactions, 20 * kTransactions + 1, {l(0, {}), a(1, ++next)});
  CHECK_FALSE(made.found(kStrictSnapshot).empty());
}

}  // namespace namdb::history

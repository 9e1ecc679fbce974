#include "memory/index/doubts.h"

#include <catch2/catch.hpp>

namespace namdb::memory {
namespace doubts_test {

using Verdict = calls::IndexVerdict::Kind;

constexpr std::uint64_t kGrace_ns = 10;
constexpr std::uint64_t kLease_ns = 100;
constexpr std::uint64_t kAge_ns = 1000;

// Doubts with a clock that stands still until it is moved.
struct Subject {
  Subject() {
    options.index_grace_ns = kGrace_ns;
    options.index_lease_ns = kLease_ns;
    options.max_transaction_ns = kAge_ns;
    options.slack_ns = 1;
    peers.add(1, Peer{});  // has acknowledged nothing
  }
  std::uint64_t raise(const std::string& key, Doubts::Raise how = {}) {
    return doubts.raise({7, key}, how, now);
  }
  void settle(const std::string& key, std::uint64_t sequence, Verdict verdict) {
    doubts.settle({verdict, 7, sequence, key}, now);
  }
  std::vector<std::string> take(std::uint32_t limit = 100) {
    std::string items;
    doubts.take(limit, 1000, now, items);
    std::vector<std::string> keys;
    const auto doubts_given = calls::decode_index_doubts(items);
    for (const auto& doubt : *doubts_given) keys.emplace_back(doubt.key);
    return keys;
  }
  std::vector<std::string> expired() {
    std::vector<std::string> keys;
    for (const IndexEntry& entry : doubts.expired(peers, now, 100)) keys.push_back(entry.key);
    return keys;
  }
  using Keys = std::vector<std::string>;

  Options options;
  VersionEpoch epoch;
  Peers peers;
  Doubts doubts{options, epoch};
  std::uint64_t now = 1000;
};

TEST_CASE("many entries are settled in the order of their keys, in another one, and while others go",
          "[doubts]") {
  Subject subject;
  constexpr std::size_t kKeys = 300;
  const auto key = [](std::size_t i) { return "k" + std::to_string(1000 + i); };
  std::vector<std::uint64_t> sequences;
  for (std::size_t i = 0; i < kKeys; ++i) sequences.push_back(subject.raise(key(i)));
  // Another commit, before, between and behind them.
  const std::uint64_t before = subject.raise("a");
  const std::uint64_t between = subject.raise(key(10) + "x");
  const std::uint64_t behind = subject.raise("z");
  for (std::size_t i = 0; i < 100; ++i) {
    subject.settle(key(i), sequences[i], Verdict::live);
    // The next one is raised anew, and so its first verdict does not count.
    if (i == 50) sequences[i + 1] = subject.raise(key(i + 1));
    if (i == 60) subject.settle(key(i + 1), sequences[i + 1] - 1, Verdict::live);
  }
  CHECK(subject.doubts.count() == kKeys - 100 + 3);
  for (std::size_t i = kKeys; i-- > 200;) subject.settle(key(i), sequences[i], Verdict::live);
  CHECK(subject.doubts.count() == 100 + 3);
  subject.settle("a", before, Verdict::dead);
  subject.settle(key(100), sequences[100], Verdict::live);
  subject.settle(key(10) + "x", between, Verdict::live);
  subject.settle(key(101), sequences[101], Verdict::open);
  subject.settle("z", behind, Verdict::live);
  CHECK(subject.doubts.count() == 99 + 1);
  subject.now += kAge_ns + kLease_ns + 2;
  CHECK(subject.expired().empty());  // it ages from now on
  subject.now += kAge_ns + 2;
  CHECK(subject.expired() == Subject::Keys{"a"});
  CHECK(subject.doubts.count() == 99);
  subject.doubts.forget(7);
  CHECK(subject.doubts.count() == 0);
  subject.raise("m");
  subject.settle("n", 1, Verdict::live);
  CHECK(subject.doubts.count() == 1);
}

TEST_CASE("an entry in doubt is given out after its grace, and again when there is no answer", "[doubts]") {
  Subject subject;
  subject.raise("a");
  CHECK(subject.take().empty());
  subject.now += kGrace_ns;
  CHECK(subject.doubts.due(subject.now));
  CHECK(subject.take() == Subject::Keys{"a"});
  CHECK(subject.take().empty());
  subject.now += kLease_ns;
  CHECK(subject.take() == Subject::Keys{"a"});
  CHECK(subject.doubts.count(7) == 1);
}

TEST_CASE("of many doubts at once none is due soon, but held ones do not count", "[doubts]") {
  const auto raise_many = [](Subject& subject, bool held) {
    for (int i = 0; i < 2048; ++i) subject.raise("many" + std::to_string(i), {.held = held});
  };
  Subject subject;
  subject.raise("a");
  raise_many(subject, true);
  subject.now += kGrace_ns;
  CHECK(subject.take(1) == Subject::Keys{"a"});

  Subject busy;
  busy.raise("a");
  raise_many(busy, false);
  busy.now += kGrace_ns;
  CHECK(busy.take(1).empty());
  busy.now += 20 * kMillisecond_ns;
  CHECK(busy.take(1) == Subject::Keys{"a"});
}

TEST_CASE("a verdict counts only under the sequence of the latest doubt", "[doubts]") {
  Subject subject;
  const std::uint64_t first = subject.raise("a");
  const std::uint64_t second = subject.raise("a");
  CHECK(first != second);
  subject.settle("a", first, Verdict::live);
  CHECK(subject.doubts.count() == 1);
  subject.settle("a", first, Verdict::dead);
  CHECK_FALSE(subject.doubts.aging());
  subject.settle("a", second, Verdict::live);
  CHECK(subject.doubts.count() == 0);
  CHECK_FALSE(subject.doubts.due(~std::uint64_t{0} - 1));
}

TEST_CASE("a dead entry goes when its age is over, and not if it came back meanwhile", "[doubts]") {
  Subject subject;
  subject.settle("a", subject.raise("a"), Verdict::dead);
  subject.settle("b", subject.raise("b"), Verdict::dead);
  CHECK(subject.expired().empty());
  CHECK(subject.doubts.aging());
  subject.raise("b");
  subject.now += kAge_ns;
  CHECK(subject.expired().empty());
  subject.now += 1;
  CHECK(subject.expired() == Subject::Keys{"a"});
  CHECK_FALSE(subject.doubts.aging());
  CHECK(subject.take() == Subject::Keys{"b"});
}

TEST_CASE("a dead entry whose doubt was raised and settled dead again ages from the later verdict",
          "[doubts]") {
  Subject subject;
  subject.settle("a", subject.raise("a"), Verdict::dead);
  CHECK(subject.expired().empty());
  subject.now += kAge_ns;
  subject.settle("a", subject.raise("a"), Verdict::dead);
  subject.now += 1;
  CHECK(subject.expired().empty());
  subject.now += kAge_ns + 1;
  CHECK(subject.expired() == Subject::Keys{"a"});
}

TEST_CASE("dead entries go before their age once every worker has acknowledged a later epoch", "[doubts]") {
  Subject subject;
  subject.settle("a", subject.raise("a"), Verdict::dead);
  CHECK(subject.expired().empty());
  subject.peers.find(1)->acknowledged_versions = subject.epoch.current() - 1;
  CHECK(subject.expired().empty());
  subject.peers.find(1)->acknowledged_versions = subject.epoch.current();
  // An entry that dies now is not covered by that acknowledgement.
  subject.settle("b", subject.raise("b"), Verdict::dead);
  CHECK(subject.expired() == Subject::Keys{"a"});
  CHECK(subject.doubts.aging());
}

TEST_CASE("an open verdict puts the look off", "[doubts]") {
  Subject subject;
  const std::uint64_t sequence = subject.raise("a");
  subject.now += kGrace_ns;
  CHECK(subject.take().size() == 1);
  subject.settle("a", sequence, Verdict::open);
  CHECK(subject.take().empty());
  subject.now += kGrace_ns;
  CHECK(subject.take().size() == 1);
}

TEST_CASE("held doubts are kept until they are released, and cannot be settled as dead", "[doubts]") {
  Subject subject;
  const std::uint64_t sequence = subject.raise("a", {.held = true});
  subject.raise("b", {.held = true});
  subject.now += 100 * kAge_ns;
  CHECK(subject.take().empty());
  subject.settle("a", sequence, Verdict::dead);
  subject.settle("a", sequence, Verdict::open);
  CHECK_FALSE(subject.doubts.aging());
  subject.doubts.release(7, subject.now);
  CHECK(subject.take(1) == Subject::Keys{"a"});
  CHECK(subject.take() == Subject::Keys{"b"});
}

TEST_CASE("the doubts of a dropped index are forgotten, others stay", "[doubts]") {
  Subject subject;
  subject.raise("a");
  subject.settle("b", subject.raise("b"), Verdict::dead);
  subject.doubts.raise({8, "a"}, {}, subject.now);
  subject.doubts.forget(7);
  CHECK(subject.doubts.count() == 1);
  subject.now += 2 * kAge_ns;
  CHECK(subject.expired().empty());
  CHECK(subject.take() == Subject::Keys{"a"});
}

TEST_CASE("no worker is asked about an entry whose commit may not have its locks yet", "[doubts]") {
  constexpr std::uint64_t kWait_ns = 2 * calls::kAheadOfLocks_ns;
  Subject subject;
  SECTION("whatever others do to it meanwhile") {
    subject.raise("a", {.ahead = true});
    subject.now += kWait_ns / 2;
    const std::uint64_t sequence = subject.raise("a");
    subject.now += kWait_ns / 2 - 1;
    CHECK(subject.take().empty());
    subject.now += 1;
    CHECK(subject.take() == Subject::Keys{"a"});
    subject.settle("a", sequence, Verdict::dead);
    CHECK(subject.doubts.aging());
  }
  SECTION("though the index was built meanwhile") {
    subject.raise("a", {.held = true, .ahead = true});
    subject.now += kWait_ns / 2;
    subject.doubts.release(7, subject.now);
    CHECK(subject.take().empty());
    subject.now += kWait_ns / 2;
    CHECK(subject.take() == Subject::Keys{"a"});
  }
  SECTION("unless the commit says itself what became of it") {
    subject.settle("a", subject.raise("a", {.ahead = true}), Verdict::live);
    subject.raise("a");
    subject.now += kGrace_ns;
    CHECK(subject.take() == Subject::Keys{"a"});
  }
}

}  // namespace doubts_test
}  // namespace namdb::memory

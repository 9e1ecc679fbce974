// The checkers against brute force: random tiny histories, and every serial order, or every way to lay
// snapshots and commits on a line, tried one by one.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <set>

#include "common/base/random.h"
#include "tools/namsim/history/testing/test_histories.h"

namespace namdb::history {
namespace {

// key -> versions in the order of their writes.
using State = std::map<Key, std::vector<Version>>;

// Runs the transaction on the state that it reads from. Returns its writes, or nothing if it saw another
// state.
std::optional<State> replay(Model model, const Transaction& transaction, State snapshot) {
  State writes;
  for (const Operation& operation : transaction.operations) {
    std::vector<Version>& key = snapshot[operation.key];
    const Version last = key.empty() ? 0 : key.back();
    if (operation.kind == Operation::Kind::write) {
      if (model == Model::registers && operation.displaced != last) return std::nullopt;
      key.push_back(operation.version);
      writes[operation.key].push_back(operation.version);
    } else if (model == Model::registers ? operation.version != last : operation.list != key) {
      return std::nullopt;
    }
  }
  return writes;
}

void append_writes(State& state, const State& writes) {
  for (const auto& [key, versions] : writes)
    state[key].insert(state[key].end(), versions.begin(), versions.end());
}

// Whether `a` must take effect before `b`.
bool before(const Transaction& a, const Transaction& b, const Level& level) {
  if (level.sessions && a.session == b.session && a.begin_ns < b.begin_ns) return true;
  return level.real_time && a.end_ns < b.begin_ns;
}

class Oracle {
 public:
  Oracle(const History& history, const Level& level) : model_(history.model()), level_(level) {
    for (const Transaction& transaction : history.transactions()) {
      if (transaction.outcome == Outcome::committed) required_.push_back(transaction);
      if (transaction.outcome == Outcome::unknown) optional_.push_back(transaction);
    }
  }

  // With any choice of the unknown ones.
  bool allowed() {
    for (std::uint64_t choice = 0; choice < std::uint64_t{1} << optional_.size(); ++choice) {
      chosen_ = required_;
      for (std::size_t k = 0; k < optional_.size(); ++k) {
        if ((choice >> k & 1) != 0) chosen_.push_back(optional_[k]);
      }
      phase_.assign(chosen_.size(), 0);
      snapshots_.assign(chosen_.size(), {});
      writes_.assign(chosen_.size(), {});
      if (level_.strength == Strength::serializable ? serial({}) : lay({})) return true;
    }
    return false;
  }

 private:
  bool may_begin(std::size_t i) const {
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      if (k != i && phase_[k] != 2 && before(chosen_[k], chosen_[i], level_)) return false;
    }
    return true;
  }

  bool serial(const State& state) {
    bool all = true;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (phase_[i] == 2) continue;
      all = false;
      if (!may_begin(i)) continue;
      const auto writes = replay(model_, chosen_[i], state);
      if (!writes) continue;
      State next = state;
      append_writes(next, *writes);
      phase_[i] = 2;
      if (serial(next)) return true;
      phase_[i] = 0;
    }
    return all;
  }

  // Snapshot isolation: each transaction takes its snapshot at one point and commits at a later one, and no
  // other transaction committed a write of the same key in between.
  bool lay(const State& state) {
    bool all = true;
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (phase_[i] == 2) continue;
      all = false;
      if (phase_[i] == 0) {
        if (!may_begin(i)) continue;
        const auto writes = replay(model_, chosen_[i], state);
        if (!writes) continue;
        writes_[i] = *writes;
        snapshots_[i] = state;
        phase_[i] = 1;
        if (lay(state)) return true;
        phase_[i] = 0;
        continue;
      }
      bool conflict = false;
      for (const auto& [key, versions] : writes_[i]) {
        const auto now = state.find(key);
        const auto then = snapshots_[i].find(key);
        const std::size_t now_length = now == state.end() ? 0 : now->second.size();
        const std::size_t then_length = then == snapshots_[i].end() ? 0 : then->second.size();
        conflict |= now_length != then_length;
      }
      if (conflict) continue;
      State next = state;
      append_writes(next, writes_[i]);
      phase_[i] = 2;
      if (lay(next)) return true;
      phase_[i] = 1;
    }
    return all;
  }

  Model model_;
  Level level_;
  std::vector<Transaction> required_;
  std::vector<Transaction> optional_;
  std::vector<Transaction> chosen_;
  std::vector<int> phase_;  // 0 nothing, 1 snapshot taken, 2 committed
  std::vector<State> snapshots_;
  std::vector<State> writes_;
};

// Transactions take effect one after the other on the true state, but each read may look at an older state,
// and sometimes at what it should not.
History random_history(Model model, Random& random) {
  History history(model);
  const std::uint64_t transactions = random.between(2, 5);
  const std::uint64_t keys = random.between(1, 3);
  const double stale = random.unit() * 0.6;
  const double lost = random.chance(0.3) ? 0.3 : 0;
  std::vector<State> past(1);
  Version next = 0;
  for (std::uint64_t i = 0; i < transactions; ++i) {
    Transaction transaction{.session = random.below(3)};
    transaction.begin_ns = 10 * i + random.below(30);
    transaction.end_ns = transaction.begin_ns + random.below(30);
    transaction.outcome = random.chance(0.15)  ? Outcome::unknown
                          : random.chance(0.1) ? Outcome::aborted
                                               : Outcome::committed;
    if (transaction.outcome == Outcome::unknown) transaction.end_ns = Transaction::kNever;
    const State snapshot = random.chance(stale) ? past[random.below(past.size())] : past.back();
    State now = past.back();
    State own;
    for (std::uint64_t k = random.between(1, 3); k > 0; --k) {
      const Key key = random.below(keys);
      const bool fork = random.chance(lost);
      State& base = fork ? past[random.below(past.size())] : random.chance(stale / 2) ? past[0] : now;
      if (random.chance(0.5)) {
        std::vector<Version> seen = now[key];
        if (own[key].empty()) {
          const State& view = random.chance(0.8) ? snapshot : past[random.below(past.size())];
          const auto found = view.find(key);
          seen = found == view.end() ? std::vector<Version>{} : found->second;
        }
        transaction.operations.push_back(model == Model::registers ? r(key, seen.empty() ? 0 : seen.back())
                                                                   : l(key, seen));
        continue;
      }
      const std::vector<Version> displaced = own[key].empty() ? base[key] : now[key];
      ++next;
      transaction.operations.push_back(
          model == Model::registers ? w(key, next, displaced.empty() ? 0 : displaced.back()) : a(key, next));
      now[key].push_back(next);
      own[key].push_back(next);
    }
    if (transaction.outcome == Outcome::committed || random.chance(0.3)) past.push_back(now);
    history.add(std::move(transaction));
  }
  return history;
}

// Two transactions of one session with one begin have no order of their own: histories do not have them.
bool ordered(const History& history) {
  for (const Transaction& one : history.transactions()) {
    for (const Transaction& other : history.transactions()) {
      if (&one != &other && one.session == other.session && one.begin_ns == other.begin_ns) return false;
    }
  }
  return true;
}

// Whether the order of all appends is known, except for at most one behind the longest list that was read.
bool order_known(const History& history) {
  State longest;
  std::map<Key, std::size_t> unseen;
  for (const Transaction& transaction : history.transactions()) {
    if (transaction.outcome != Outcome::committed) continue;
    std::map<Key, std::size_t> own;
    for (const Operation& operation : transaction.operations) {
      if (operation.kind == Operation::Kind::write) ++own[operation.key];
      std::vector<Version> list = operation.list;
      list.resize(list.size() - std::min(list.size(), own[operation.key]));
      if (list.size() > longest[operation.key].size()) longest[operation.key] = list;
    }
  }
  for (const Transaction& transaction : history.transactions()) {
    std::set<Key> keys;
    for (const Operation& operation : transaction.operations) {
      const std::vector<Version>& list = longest[operation.key];
      if (operation.kind == Operation::Kind::write && transaction.outcome == Outcome::committed &&
          std::find(list.begin(), list.end(), operation.version) == list.end())
        keys.insert(operation.key);
    }
    for (const Key key : keys) {
      if (++unseen[key] > 1) return false;
    }
  }
  return true;
}

void compare(Model model, const std::string& name, std::uint64_t seeds) {
  const Level level = *level_from_name(name);
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Random random(seed);
    const History history = random_history(model, random);
    if (!ordered(history)) continue;
    const bool expected = Oracle(history, level).allowed();
    const Report report = check(history, {level, false});
    (expected ? good : bad) += 1;
    if (expected == report.ok()) continue;
    // Where appends were never read, their order is unknown: the checker may find too little, never too much.
    if (model == Model::lists && report.ok() && !order_known(history)) continue;
    std::string text;
    for (const Transaction& transaction : history.transactions()) {
      text += "session " + std::to_string(transaction.session) + " " + std::to_string(transaction.begin_ns) +
              ".." + std::to_string(transaction.end_ns) + " outcome " +
              std::to_string(static_cast<int>(transaction.outcome)) + ":";
      for (const Operation& operation : transaction.operations) {
        text += operation.kind == Operation::Kind::read ? " r" : " w";
        text += std::to_string(operation.key) + "=" + std::to_string(operation.version) + "<" +
                std::to_string(operation.displaced) + "[";
        for (const Version version : operation.list) text += std::to_string(version) + " ";
        text += "]";
      }
      text += "\n";
    }
    FAIL("seed " << seed << " at " << name << ": brute force says " << (expected ? "allowed" : "forbidden")
                 << ", the checker: " << first_anomaly(report, history) << "\n"
                 << text);
  }
  INFO(good << " allowed, " << bad << " forbidden");
  CHECK(good > seeds / 20);
  CHECK(bad > seeds / 20);
}

}  // namespace

TEST_CASE("registers: serializable agrees with every serial order", "[oracle]") {
  compare(Model::registers, kSerializable, 20'000);
  compare(Model::registers, kStrictSerializable, 20'000);
}

TEST_CASE("registers: snapshot isolation agrees with every placement of snapshots", "[oracle]") {
  compare(Model::registers, kSnapshot, 20'000);
  compare(Model::registers, kStrictSnapshot, 20'000);
}

TEST_CASE("lists: serializable agrees with every serial order", "[oracle]") {
  compare(Model::lists, kSerializable, 20'000);
  compare(Model::lists, kStrictSerializable, 20'000);
}

TEST_CASE("lists: snapshot isolation agrees with every placement of snapshots", "[oracle]") {
  compare(Model::lists, kSnapshot, 20'000);
  compare(Model::lists, kStrictSnapshot, 20'000);
}

}  // namespace namdb::history

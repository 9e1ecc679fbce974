// The verdict by a table of all that hosts can say of an entry.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <initializer_list>
#include <optional>
#include <set>
#include <vector>

#include "memory/coordinator/decider.h"

namespace namdb::memory {
namespace {

enum class Says : std::uint8_t {
  nothing,
  lacks,
  has,
  is_void,
  committed,
  committed_dropped,
  void_dropped,
  finished,
  dropped
};
constexpr std::array kSays = {Says::nothing,      Says::lacks,     Says::has,
                              Says::is_void,      Says::committed, Says::committed_dropped,
                              Says::void_dropped, Says::finished,  Says::dropped};

PartAnswer answer_of(Says says) {
  switch (says) {
    case Says::nothing:
      return {};
    case Says::lacks:
      return {.reached = true};
    case Says::has:
      return {.reached = true, .has = true};
    case Says::is_void:
      return {.reached = true, .has = true, .is_void = true};
    case Says::committed:
      return {.reached = true, .has = true, .committed = true};
    case Says::committed_dropped:
      return {.reached = true, .committed = true};
    case Says::void_dropped:
      return {.reached = true, .is_void = true};
    case Says::finished:
      return {.reached = true, .has = true, .finished = true};
    case Says::dropped:
      return {.reached = true, .has = false, .finished = true};
  }
  return {};
}

bool any(const std::vector<Says>& hosts, std::initializer_list<Says> what) {
  return std::ranges::any_of(hosts, [&](Says says) { return std::ranges::find(what, says) != what.end(); });
}

// Once all hosts have answered: nullopt where they contradict each other.
std::optional<bool> commits(const std::vector<Says>& hosts, bool published) {
  const bool known =
      published || any(hosts, {Says::committed, Says::committed_dropped, Says::finished, Says::dropped});
  const bool never = any(hosts, {Says::lacks, Says::is_void, Says::void_dropped});
  if (known && never) return std::nullopt;
  return !never;
}

// Every way in which the hosts that do not answer may answer later.
void complete(std::vector<Says> hosts, bool published, std::set<bool>& outcomes) {
  const auto silent = std::ranges::find(hosts, Says::nothing);
  if (silent == hosts.end()) {
    if (const auto outcome = commits(hosts, published)) outcomes.insert(*outcome);
    return;
  }
  for (const Says says : kSays) {
    if (says == Says::nothing) continue;
    *silent = says;
    complete(hosts, published, outcomes);
  }
}

Decision verdict_of(const std::vector<Says>& hosts, bool published) {
  std::vector<PartAnswer> answers;
  for (const Says says : hosts) answers.push_back(answer_of(says));
  return verdict(answers, published);
}

}  // namespace

TEST_CASE("a verdict is given as soon as no later answer can change it, and never before", "[decider]") {
  for (const bool published : {false, true}) {
    for (const Says first : kSays) {
      for (const Says second : kSays) {
        for (const Says third : kSays) {
          const std::vector<Says> hosts = {first, second, third};
          std::set<bool> outcomes;
          complete(hosts, published, outcomes);
          const Decision wanted = outcomes.empty()       ? Decision::contradiction
                                  : outcomes.size() == 2 ? Decision::wait
                                  : *outcomes.begin()    ? Decision::commit
                                                         : Decision::undo;
          INFO(static_cast<int>(first) << " " << static_cast<int>(second) << " " << static_cast<int>(third)
                                       << " published " << published);
          CHECK(verdict_of(hosts, published) == wanted);
        }
      }
    }
  }
  CHECK(verdict_of({Says::has}, false) == Decision::commit);  // one host has all of it
}

}  // namespace namdb::memory

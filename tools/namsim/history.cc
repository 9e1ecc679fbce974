#include "tools/namsim/history.h"

#include <algorithm>
#include <set>

namespace namdb::sim {
namespace {

using Outcome = HistoryTransaction::Outcome;

struct KeyVersion {
  std::uint64_t key;
  Version version;
  friend auto operator<=>(const KeyVersion&, const KeyVersion&) = default;
};

// Adjacency over transaction positions; no edge from a node to itself.
class Graph {
 public:
  explicit Graph(std::size_t nodes) : edges_(nodes) {}
  void add(std::size_t from, std::size_t to) {
    if (from != to) edges_[from].insert(to);
  }
  const std::set<std::size_t>& from(std::size_t node) const { return edges_[node]; }
  std::size_t size() const { return edges_.size(); }

  // Some cycle, or empty. Iterative, since histories are long.
  std::vector<std::size_t> cycle() const {
    enum class Colour : std::uint8_t { white, grey, black };
    std::vector<Colour> colour(size(), Colour::white);
    for (std::size_t start = 0; start < size(); ++start) {
      if (colour[start] != Colour::white) continue;
      std::vector<std::pair<std::size_t, std::set<std::size_t>::const_iterator>> stack;
      stack.emplace_back(start, edges_[start].begin());
      colour[start] = Colour::grey;
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next == edges_[node].end()) {
          colour[node] = Colour::black;
          stack.pop_back();
          continue;
        }
        const std::size_t target = *next++;
        if (colour[target] == Colour::grey) {
          std::vector<std::size_t> found;
          for (auto it = stack.rbegin(); it != stack.rend(); ++it) {
            found.push_back(it->first);
            if (it->first == target) break;
          }
          std::reverse(found.begin(), found.end());
          return found;
        }
        if (colour[target] == Colour::white) {
          colour[target] = Colour::grey;
          stack.emplace_back(target, edges_[target].begin());
        }
      }
    }
    return {};
  }

 private:
  std::vector<std::set<std::size_t>> edges_;
};

std::string describe(const HistoryTransaction& transaction, std::size_t position) {
  std::string text = "T" + std::to_string(position) + "(session " + std::to_string(transaction.session) +
                     ", " + std::to_string(transaction.began_ns) + ".." +
                     std::to_string(transaction.ended_ns) + ", reads";
  for (const auto& [key, version] : transaction.reads)
    text += " " + std::to_string(key) + "=" + std::to_string(version);
  text += ", writes";
  for (const auto& [key, version] : transaction.writes)
    text += " " + std::to_string(key) + "=" + std::to_string(version);
  return text + ")";
}

}  // namespace

std::optional<std::string> History::check() const {
  // Who wrote what; a transaction of unknown outcome counts as committed if anybody saw a write of its.
  std::map<KeyVersion, std::size_t> writer;
  for (std::size_t i = 0; i < transactions_.size(); ++i) {
    for (const auto& [key, version] : transactions_[i].writes) writer[{key, version}] = i;
  }
  std::vector<bool> counts(transactions_.size());
  for (std::size_t i = 0; i < transactions_.size(); ++i)
    counts[i] = transactions_[i].outcome == Outcome::committed;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < transactions_.size(); ++i) {
      // What an aborted transaction read must be consistent too: its reads were given to a client.
      if (!counts[i] && transactions_[i].outcome == Outcome::unknown) continue;
      for (const auto& [key, version] : transactions_[i].reads) {
        if (version == 0) continue;
        const auto found = writer.find({key, version});
        if (found == writer.end())
          return "a version that nobody wrote was read by " + describe(transactions_[i], i);
        const HistoryTransaction& source = transactions_[found->second];
        if (source.outcome == Outcome::aborted) {
          return "aborted read: " + describe(transactions_[i], i) + " of " + describe(source, found->second);
        }
        if (!counts[found->second]) counts[found->second] = changed = true;
      }
    }
  }

  // The order of versions: a version's successor is the one that displaced it.
  std::map<KeyVersion, std::size_t> successor;
  for (std::size_t i = 0; i < transactions_.size(); ++i) {
    if (!counts[i]) continue;
    for (const auto& [key, version] : transactions_[i].writes) {
      const Version displaced = transactions_[i].reads.at(key);
      const auto [other, fresh] = successor.emplace(KeyVersion{key, displaced}, i);
      if (!fresh) {
        return "lost update of key " + std::to_string(key) + ": " +
               describe(transactions_[other->second], other->second) + " and " +
               describe(transactions_[i], i);
      }
    }
  }

  Graph dependencies(transactions_.size());
  Graph anti(transactions_.size());
  std::map<std::uint64_t, std::size_t> last_of_session;
  std::vector<std::size_t> by_begin;
  for (std::size_t i = 0; i < transactions_.size(); ++i) {
    if (!counts[i]) continue;
    by_begin.push_back(i);
    for (const auto& [key, version] : transactions_[i].reads) {
      if (version != 0) dependencies.add(writer.at({key, version}), i);
      const auto next = successor.find({key, version});
      if (next != successor.end()) anti.add(i, next->second);
    }
  }
  std::sort(by_begin.begin(), by_begin.end(), [this](std::size_t a, std::size_t b) {
    return transactions_[a].began_ns < transactions_[b].began_ns;
  });
  for (const std::size_t i : by_begin) {
    const auto before = last_of_session.find(transactions_[i].session);
    if (before != last_of_session.end()) dependencies.add(before->second, i);
    last_of_session[transactions_[i].session] = i;
    for (const std::size_t j : by_begin) {
      if (transactions_[i].ended_ns < transactions_[j].began_ns) dependencies.add(i, j);
    }
  }

  Graph composed(transactions_.size());
  for (const std::size_t i : by_begin) {
    for (const std::size_t j : dependencies.from(i)) {
      composed.add(i, j);
      for (const std::size_t k : anti.from(j)) {
        if (k == i) {
          return "a transaction did not see what it depends on: " + describe(transactions_[i], i) + " and " +
                 describe(transactions_[j], j);
        }
        composed.add(i, k);
      }
    }
  }
  const std::vector<std::size_t> cycle = composed.cycle();
  if (cycle.empty()) return std::nullopt;
  std::string text = "no order of snapshots explains";
  for (const std::size_t i : cycle) text += " " + describe(transactions_[i], i);
  return text;
}

}  // namespace namdb::sim

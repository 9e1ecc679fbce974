// The dependency graph of a history: transactions, and the edges of their versions, sessions and times.
// Real-time order takes a number of edges that is linear in the transactions. There is an edge from each
// transaction to the moment of its end, from each moment to the next, and from a moment to each transaction
// that began after it. Moments are nodes behind those of the transactions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/namsim/history/anomaly.h"
#include "tools/namsim/history/versions.h"

namespace namdb::history {

struct Edge {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  EdgeKind kind = EdgeKind::ww;
  std::uint32_t entry = 0;  // ww, wr, rw: the version that was displaced or read
  // wr, rw: which operation of the reader.
  std::uint32_t operation = 0;
};

class Graph {
 public:
  // No edge leads from a node to itself.
  Graph(const History& history, const Versions& versions, bool sessions, bool real_time);

  std::uint32_t transactions() const { return transactions_; }
  std::uint32_t nodes() const { return static_cast<std::uint32_t>(first_.size() - 1); }
  bool is_moment(std::uint32_t node) const { return node >= transactions_; }
  std::uint32_t first(std::uint32_t node) const { return first_[node]; }
  std::uint32_t end(std::uint32_t node) const { return first_[node + 1]; }
  const Edge& edge(std::uint32_t index) const { return edges_[index]; }
  std::size_t edges() const { return edges_.size(); }

 private:
  void add(std::uint32_t from, std::uint32_t to, EdgeKind kind, std::uint32_t entry = 0,
           std::uint32_t operation = 0) {
    if (from != to) edges_.push_back({from, to, kind, entry, operation});
  }
  void add_sessions(const History& history, const Versions& versions);
  std::uint32_t add_real_time(const History& history, const Versions& versions);

  std::uint32_t transactions_ = 0;
  std::vector<Edge> edges_;           // sorted by `from`
  std::vector<std::uint32_t> first_;  // by node, and the end
};

}  // namespace namdb::history

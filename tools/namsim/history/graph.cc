#include "tools/namsim/history/graph.h"

#include <algorithm>
#include <tuple>

namespace namdb::history {

Graph::Graph(const History& history, const Versions& versions, bool sessions, bool real_time)
    : transactions_(static_cast<std::uint32_t>(history.transactions().size())) {
  for (std::uint32_t at = 0; at < versions.entries.size(); ++at) {
    const VersionEntry& entry = versions.entries[at];
    if (entry.writer == kNobody || !versions.effective[entry.writer]) continue;
    for (const std::uint32_t next : entry.next) {
      if (versions.effective[next]) add(entry.writer, next, EdgeKind::ww, at);
    }
  }
  for (const ReadEntry& read : versions.reads) {
    const VersionEntry& entry = versions.entries[read.entry];
    if (entry.writer != kNobody && versions.effective[entry.writer])
      add(entry.writer, read.transaction, EdgeKind::wr, read.entry, read.operation);
    for (const std::uint32_t next : entry.next) {
      if (versions.effective[next]) add(read.transaction, next, EdgeKind::rw, read.entry, read.operation);
    }
  }
  if (sessions) add_sessions(history, versions);
  const std::uint32_t nodes = real_time ? add_real_time(history, versions) : transactions_;

  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return std::tie(a.from, a.to, a.kind, a.entry, a.operation) <
           std::tie(b.from, b.to, b.kind, b.entry, b.operation);
  });
  first_.assign(nodes + 1, 0);
  for (const Edge& edge : edges_) ++first_[edge.from + 1];
  for (std::uint32_t node = 0; node < nodes; ++node) first_[node + 1] += first_[node];
}

void Graph::add_sessions(const History& history, const Versions& versions) {
  const std::vector<Transaction>& all = history.transactions();
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < transactions_; ++i) {
    if (versions.takes_part[i]) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(all[a].session, all[a].begin_ns, a) < std::tie(all[b].session, all[b].begin_ns, b);
  });
  for (std::size_t k = 1; k < order.size(); ++k) {
    if (all[order[k - 1]].session == all[order[k]].session) add(order[k - 1], order[k], EdgeKind::session);
  }
}

std::uint32_t Graph::add_real_time(const History& history, const Versions& versions) {
  const std::vector<Transaction>& all = history.transactions();
  std::vector<std::uint32_t> by_begin;
  for (std::uint32_t i = 0; i < transactions_; ++i) {
    if (versions.takes_part[i]) by_begin.push_back(i);
  }
  std::vector<std::uint32_t> by_end = by_begin;
  std::sort(by_begin.begin(), by_begin.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(all[a].begin_ns, a) < std::tie(all[b].begin_ns, b);
  });
  std::sort(by_end.begin(), by_end.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tie(all[a].end_ns, a) < std::tie(all[b].end_ns, b);
  });
  std::uint32_t nodes = transactions_;
  std::size_t ended = 0;
  for (const std::uint32_t i : by_begin) {
    const bool moment = ended < by_end.size() && all[by_end[ended]].end_ns < all[i].begin_ns;
    if (moment) {
      if (nodes > transactions_) add(nodes - 1, nodes, EdgeKind::real_time);
      ++nodes;
    }
    for (; ended < by_end.size() && all[by_end[ended]].end_ns < all[i].begin_ns; ++ended)
      add(by_end[ended], nodes - 1, EdgeKind::real_time);
    if (nodes > transactions_) add(nodes - 1, i, EdgeKind::real_time);
  }
  return nodes;
}

}  // namespace namdb::history

#include "compute/procedure/chopping_graph.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

namespace namdb::procedure {
namespace {

using Groups = std::vector<std::vector<std::size_t>>;

// Sets of numbers that are one.
class Connected {
 public:
  explicit Connected(std::size_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), 0); }
  std::size_t find(std::size_t node) {
    while (parents_[node] != node) node = parents_[node] = parents_[parents_[node]];
    return node;
  }
  void connect(std::size_t a, std::size_t b) { parents_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parents_;
};

// A table, or a part of it: a table meets all of its parts.
bool meets(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  return b.starts_with(a) && (a.size() == b.size() || b[a.size()] == '.');
}

void add_common(std::span<const std::string> a, std::span<const std::string> b,
                std::set<std::string>& common) {
  for (const std::string& one : a) {
    for (const std::string& other : b) {
      if (meets(one, other)) common.insert(one.size() > other.size() ? one : other);
    }
  }
}

std::set<std::string> conflicts_of(const Piece& a, const Piece& b, const ChoppingRules& rules) {
  std::set<std::string> common;
  add_common(a.writes, b.writes, common);
  if (!rules.commutativity) add_common(a.commutes, b.commutes, common);
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    add_common(one->writes, other->reads, common);
    add_common(one->writes, other->commutes, common);
    add_common(one->commutes, other->reads, common);
  }
  return common;
}

bool changes(const Piece& piece) {
  return !piece.writes.empty() || !piece.commutes.empty();
}

Status wrong(const Chopping& chopping, const std::string& what) {
  return Status(ErrorCode::invalid_parameter_value,
                "the pieces of procedure \"" + chopping.procedure + "\": " + what);
}

Status check(std::span<const Chopping> procedures) {
  std::set<std::string_view> names;
  for (const Chopping& chopping : procedures) {
    if (!names.insert(chopping.procedure).second) return wrong(chopping, "they are declared twice");
    if (chopping.pieces.empty()) return wrong(chopping, "there are none");
    std::set<std::string_view> before;
    for (const Piece& piece : chopping.pieces) {
      for (const std::string& needed : piece.needs) {
        if (!before.contains(needed))
          return wrong(chopping,
                       "\"" + piece.name + "\" needs \"" + needed + "\", which does not come before it");
      }
      if (!before.insert(piece.name).second) return wrong(chopping, "two are named \"" + piece.name + "\"");
    }
  }
  return {};
}

// The groups of one procedure's pieces, which only ever become larger.
class Merger {
 public:
  Merger(const Chopping& chopping, const ChoppingRules& rules)
      : pieces_(chopping.pieces), rules_(rules), sets_(pieces_.size()) {}

  void merge(std::size_t a, std::size_t b) { sets_.connect(a, b); }

  // In the order in which they run.
  Groups run() {
    for (;;) {
      const std::optional<Groups> ordered = order();
      if (!ordered) continue;  // some were merged
      const std::size_t last = last_that_aborts(*ordered);
      const auto first = std::ranges::find_if(*ordered, [this](const auto& group) {
        return std::ranges::any_of(group, [this](std::size_t piece) { return changes(pieces_[piece]); });
      });
      const auto seen = static_cast<std::size_t>(first - ordered->begin());
      if (last == ordered->size() || seen >= last) return *ordered;
      merge((*ordered)[seen].front(), (*ordered)[last].front());
    }
  }

 private:
  Groups groups() {
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (std::size_t piece = 0; piece < pieces_.size(); ++piece) members[sets_.find(piece)].push_back(piece);
    Groups all;
    for (auto& [representative, pieces] : members) all.push_back(std::move(pieces));
    std::ranges::sort(all);
    return all;
  }

  std::size_t last_that_aborts(const Groups& ordered) const {
    for (std::size_t i = ordered.size(); i-- > 0;) {
      if (std::ranges::any_of(ordered[i], [this](std::size_t piece) { return pieces_[piece].aborts; }))
        return i;
    }
    return ordered.size();
  }

  // Whether some piece of the group needs one of the other, or must come behind it.
  bool needs(const std::vector<std::size_t>& group, const std::vector<std::size_t>& other) const {
    for (const std::size_t piece : group) {
      for (const std::size_t earlier : other) {
        if (earlier >= piece) continue;
        if (!rules_.reordering ||
            std::ranges::find(pieces_[piece].needs, pieces_[earlier].name) != pieces_[piece].needs.end())
          return true;
      }
    }
    return false;
  }

  // Those that others cannot see first, so that those that abort come before what others see.
  int rank(const std::vector<std::size_t>& group) const {
    const bool seen =
        std::ranges::any_of(group, [this](std::size_t piece) { return changes(pieces_[piece]); });
    const bool aborts =
        std::ranges::any_of(group, [this](std::size_t piece) { return pieces_[piece].aborts; });
    if (!rules_.reordering || !seen) return 0;
    return aborts ? 1 : 2;
  }

  // Nothing: groups that need each other have been merged.
  std::optional<Groups> order() {
    Groups waiting = groups();
    Groups ordered;
    while (!waiting.empty()) {
      auto next = waiting.end();
      for (auto group = waiting.begin(); group != waiting.end(); ++group) {
        const bool ready = std::ranges::none_of(
            waiting, [&](const auto& other) { return &other != &*group && needs(*group, other); });
        if (ready && (next == waiting.end() || rank(*group) < rank(*next))) next = group;
      }
      if (next == waiting.end()) {
        merge_cycle(waiting);
        return std::nullopt;
      }
      ordered.push_back(std::move(*next));
      waiting.erase(next);
    }
    return ordered;
  }

  // Each of them needs another one: following that ends in a cycle.
  void merge_cycle(const Groups& waiting) {
    std::vector<std::size_t> path{0};
    for (;;) {
      for (std::size_t other = 0; other < waiting.size(); ++other) {
        if (other == path.back() || !needs(waiting[path.back()], waiting[other])) continue;
        const auto again = std::ranges::find(path, other);
        if (again == path.end()) {
          path.push_back(other);
          break;
        }
        for (auto group = again; group != path.end(); ++group)
          merge(waiting[*group].front(), waiting[other].front());
        return;
      }
    }
  }

  const std::vector<Piece>& pieces_;
  const ChoppingRules& rules_;
  Connected sets_;
};

// The pieces are nodes 0, 1, ...; behind them each procedure is one, also the procedure itself: another run.
ChoppedProcedure chop_one(const ChoppingGraph& graph, std::size_t procedure, const ChoppingRules& rules) {
  const std::size_t pieces = graph.procedures[procedure].pieces.size();
  Connected nodes(pieces + graph.procedures.size());
  for (const ConflictEdge& edge : graph.conflicts) {
    nodes.connect(pieces + edge.one.procedure, pieces + edge.other.procedure);
    if (edge.one.procedure == procedure) nodes.connect(edge.one.piece, pieces + edge.other.procedure);
    if (edge.other.procedure == procedure) nodes.connect(edge.other.piece, pieces + edge.one.procedure);
  }
  Merger merger(graph.procedures[procedure], rules);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    for (std::size_t other = piece + 1; other < pieces; ++other) {
      if (nodes.find(piece) == nodes.find(other)) merger.merge(piece, other);
    }
  }
  return {merger.run()};
}

}  // namespace

bool ChoppingGraph::is_free(std::size_t procedure, std::size_t piece) const {
  const ConflictEdge::End end{procedure, piece};
  return std::ranges::none_of(conflicts,
                              [&](const ConflictEdge& edge) { return edge.one == end || edge.other == end; });
}

Result<ChoppingGraph> chop(std::vector<Chopping> procedures, ChoppingRules rules) {
  if (Status status = check(procedures); !status.ok()) return status;
  ChoppingGraph graph{.procedures = std::move(procedures), .conflicts = {}, .chopped = {}};
  std::vector<ConflictEdge::End> ends;
  for (std::size_t i = 0; i < graph.procedures.size(); ++i) {
    for (std::size_t piece = 0; piece < graph.procedures[i].pieces.size(); ++piece)
      ends.push_back({i, piece});
  }
  const auto piece_at = [&graph](ConflictEdge::End end) -> const Piece& {
    return graph.procedures[end.procedure].pieces[end.piece];
  };
  for (std::size_t i = 0; i < ends.size(); ++i) {
    for (std::size_t j = i; j < ends.size(); ++j) {
      const std::set<std::string> tables = conflicts_of(piece_at(ends[i]), piece_at(ends[j]), rules);
      if (!tables.empty()) graph.conflicts.push_back({ends[i], ends[j], {tables.begin(), tables.end()}});
    }
  }
  for (std::size_t i = 0; i < graph.procedures.size(); ++i)
    graph.chopped.push_back(chop_one(graph, i, rules));
  return graph;
}

}  // namespace namdb::procedure

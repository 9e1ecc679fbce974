// Cycles of a dependency graph: strongly connected components by Tarjan's algorithm (linear), and in each the
// shortest cycle that can be found within a bound of work.
//
// A *view* says which edges count, and whether rw edges may follow each other. If they may not, a state of
// the search is a node together with a flag: it was entered by an rw edge. A component of such states is a
// closed walk without two adjacent rw edges, which snapshot isolation forbids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/namsim/history/graph.h"

namespace namdb::history {

struct View {
  bool ww = true;
  bool wr = false;
  bool rw = false;
  bool rw_side_by_side = true;
};

// State: 2 * node + (entered by an rw edge, and that matters).
using State = std::uint32_t;

class CycleSearch {
 public:
  explicit CycleSearch(const Graph& graph);

  // All components of more than one state, each sorted.
  std::vector<std::vector<State>> components(const View& view);
  // A cycle of edge positions with one edge of the kind and otherwise only edges of the view `rest`, within
  // the component (found with a view that has all of these). It is the shortest such cycle, unless the search
  // exceeds `work` edges after it has found one. Empty if there is none, or none was found with 10 times that
  // work: then cut_short().
  std::vector<std::uint32_t> cycle(const std::vector<State>& component, EdgeKind required, const View& rest,
                                   std::uint64_t work);
  bool cut_short() const { return cut_short_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool allowed(const View& view, State from, const Edge& edge) const;
  static State target(const View& view, const Edge& edge) {
    const bool entered = edge.kind == EdgeKind::rw && !view.rw_side_by_side;
    return 2 * edge.to + (entered ? 1 : 0);
  }
  // Edge positions of a shortest path within the marked component; moments count nothing.
  bool path(const View& view, State from, State to, std::uint32_t bound, std::vector<std::uint32_t>& edges,
            std::uint64_t& work);

  const Graph& graph_;
  bool cut_short_ = false;
  std::vector<bool> inside_;  // by state: in the component that is searched
  // Of a breadth-first search; valid where round_ is the current one.
  std::vector<std::uint32_t> round_;
  std::vector<std::uint32_t> distance_;
  std::vector<std::uint32_t> came_by_;
  std::vector<State> came_from_;
  std::uint32_t current_round_ = 0;
};

}  // namespace namdb::history

#include "tools/namsim/history/cycles.h"

#include <algorithm>
#include <deque>

namespace namdb::history {

CycleSearch::CycleSearch(const Graph& graph)
    : graph_(graph),
      inside_(2 * graph.nodes()),
      round_(2 * graph.nodes()),
      distance_(2 * graph.nodes()),
      came_by_(2 * graph.nodes()),
      came_from_(2 * graph.nodes()) {}

bool CycleSearch::allowed(const View& view, State from, const Edge& edge) const {
  switch (edge.kind) {
    case EdgeKind::ww:
      return view.ww;
    case EdgeKind::wr:
      return view.wr;
    case EdgeKind::rw:
      return view.rw && (view.rw_side_by_side || from % 2 == 0);
    case EdgeKind::session:
    case EdgeKind::real_time:
      return true;
  }
  return false;
}

std::vector<std::vector<State>> CycleSearch::components(const View& view) {
  struct Frame {
    State state;
    std::uint32_t next;  // position of the edge to look at
  };
  const std::size_t states = 2 * std::size_t{graph_.nodes()};
  std::vector<std::uint32_t> index(states, kNone);
  std::vector<std::uint32_t> low(states);
  std::vector<bool> on_stack(states);
  std::vector<State> stack;
  std::vector<Frame> frames;
  std::uint32_t counter = 0;
  std::vector<std::vector<State>> found;
  const auto enter = [&](State state) {
    index[state] = low[state] = counter++;
    stack.push_back(state);
    on_stack[state] = true;
    frames.push_back({state, graph_.first(state / 2)});
  };
  for (State start = 0; start < states; start += 2) {
    if (index[start] != kNone) continue;
    enter(start);
    while (!frames.empty()) {
      Frame& frame = frames.back();
      if (frame.next != graph_.end(frame.state / 2)) {
        const Edge& edge = graph_.edge(frame.next++);
        if (!allowed(view, frame.state, edge)) continue;
        const State to = target(view, edge);
        if (index[to] == kNone) {
          enter(to);
        } else if (on_stack[to]) {
          low[frame.state] = std::min(low[frame.state], index[to]);
        }
        continue;
      }
      const State done = frame.state;
      frames.pop_back();
      if (!frames.empty()) low[frames.back().state] = std::min(low[frames.back().state], low[done]);
      if (low[done] != index[done]) continue;
      std::vector<State> component;
      State member = kNone;
      do {
        member = stack.back();
        stack.pop_back();
        on_stack[member] = false;
        component.push_back(member);
      } while (member != done);
      if (component.size() > 1) {
        std::sort(component.begin(), component.end());
        found.push_back(std::move(component));
      }
    }
  }
  return found;
}

bool CycleSearch::path(const View& view, State from, State to, std::uint32_t bound,
                       std::vector<std::uint32_t>& edges, std::uint64_t& work) {
  ++current_round_;
  std::deque<State> queue{from};
  round_[from] = current_round_;
  distance_[from] = 0;
  came_by_[from] = kNone;
  while (!queue.empty()) {
    const State state = queue.front();
    queue.pop_front();
    if (state == to) break;
    if (distance_[state] >= bound) continue;
    for (std::uint32_t at = graph_.first(state / 2); at < graph_.end(state / 2); ++at) {
      ++work;
      const Edge& edge = graph_.edge(at);
      if (!allowed(view, state, edge)) continue;
      const State next = target(view, edge);
      if (!inside_[next]) continue;
      // Passing through moments costs nothing: the step was counted when time was entered.
      const std::uint32_t cost = graph_.is_moment(edge.from) ? 0 : 1;
      const std::uint32_t distance = distance_[state] + cost;
      if (round_[next] == current_round_ && distance_[next] <= distance) continue;
      round_[next] = current_round_;
      distance_[next] = distance;
      came_by_[next] = at;
      came_from_[next] = state;
      if (cost == 0) {
        queue.push_front(next);
      } else {
        queue.push_back(next);
      }
    }
  }
  if (round_[to] != current_round_) return false;
  edges.clear();
  for (State state = to; state != from; state = came_from_[state]) edges.push_back(came_by_[state]);
  std::reverse(edges.begin(), edges.end());
  return true;
}

std::vector<std::uint32_t> CycleSearch::cycle(const std::vector<State>& component, EdgeKind required,
                                              const View& rest, std::uint64_t work) {
  for (const State state : component) inside_[rest.rw_side_by_side ? state / 2 * 2 : state] = true;
  std::vector<std::uint32_t> best;
  std::uint32_t best_length = kNone;
  std::vector<std::uint32_t> found;
  std::uint64_t done = 0;
  const auto enough = [&] {
    if (!best.empty()) return best_length == 2 || done > work;
    if (done <= 10 * work) return false;
    cut_short_ = true;
    return true;
  };
  for (const State state : component) {
    // The edge that closes the cycle: after it comes what may come after it.
    if (state % 2 != 0) continue;
    for (std::uint32_t at = graph_.first(state / 2); at < graph_.end(state / 2) && !enough(); ++at) {
      const Edge& edge = graph_.edge(at);
      if (edge.kind != required) continue;
      const State head = target(rest, edge);
      if (!inside_[head]) continue;
      // A path as long as the best cycle closes no shorter one.
      if (!path(rest, head, state, best_length, found, done)) continue;
      const std::uint32_t length = distance_[state] + 1;
      if (length >= best_length) continue;
      best_length = length;
      best = found;
      best.insert(best.begin(), at);
    }
    if (enough()) break;
  }
  for (const State state : component) inside_[rest.rw_side_by_side ? state / 2 * 2 : state] = false;
  return best;
}

}  // namespace namdb::history

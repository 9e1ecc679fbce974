#include "tools/namsim/history/check.h"

#include <algorithm>
#include <set>

#include "tools/namsim/history/cycles.h"

namespace namdb::history {
namespace {

// Cycles reported for one search; more say nothing new.
constexpr std::size_t kCycles = 10;
// The number of edges that the search for a shorter cycle may follow.
constexpr std::uint64_t kWork = 20'000'000;

std::string named(std::size_t transaction) {
  return "T" + std::to_string(transaction);
}

class Checker {
 public:
  Checker(const History& history, const CheckOptions& options)
      : history_(history),
        level_(options.level),
        versions_(find_versions(history, options.all_reads)),
        graph_(history, versions_, level_.sessions, level_.real_time),
        search_(graph_) {}

  Report run() {
    Report report;
    for (const Transaction& transaction : history_.transactions()) {
      ++report.transactions;
      report.committed += transaction.outcome == Outcome::committed ? 1 : 0;
      report.aborted += transaction.outcome == Outcome::aborted ? 1 : 0;
      report.unknown += transaction.outcome == Outcome::unknown ? 1 : 0;
      report.operations += transaction.operations.size();
    }
    report.edges = graph_.edges();
    anomalies_ = std::move(versions_.anomalies);
    find_cycles({.ww = true}, EdgeKind::ww);
    find_cycles({.ww = true, .wr = true}, EdgeKind::wr);
    if (level_.strength >= Strength::parallel_snapshot) find_missed_writes();
    if (level_.strength >= Strength::serializable)
      find_cycles({.ww = true, .wr = true, .rw = true}, EdgeKind::rw);
    for (const AnomalyInfo& info : anomaly_table()) {
      for (Anomaly& anomaly : anomalies_) {
        if (anomaly.kind == info.kind && level_.forbids(info.kind))
          report.anomalies.push_back(std::move(anomaly));
      }
    }
    report.search_cut_short = search_.cut_short();
    return report;
  }

 private:
  // One cycle of each component that has an edge of that kind.
  void find_cycles(const View& view, EdgeKind required) {
    std::size_t found = 0;
    for (const std::vector<State>& component : search_.components(view)) {
      if (found == kCycles) break;
      found += add(search_.cycle(component, required, view, kWork)) ? 1 : 0;
    }
  }

  // One rw edge, or several that are not side by side.
  void find_missed_writes() {
    const View apart{.ww = true, .wr = true, .rw = true, .rw_side_by_side = false};
    const View none{.ww = true, .wr = true};
    std::size_t found = 0;
    for (const std::vector<State>& component : search_.components(apart)) {
      if (found == kCycles) break;
      std::vector<std::uint32_t> cycle = search_.cycle(component, EdgeKind::rw, none, kWork);
      if (cycle.empty() && level_.strength >= Strength::snapshot)
        cycle = search_.cycle(component, EdgeKind::rw, apart, kWork);
      found += add(cycle) ? 1 : 0;
    }
  }

  // False if the cycle is empty or is there already.
  bool add(const std::vector<std::uint32_t>& edges) {
    if (edges.empty()) return false;
    // Moments are not shown: time leads from the one that ended to the one that began.
    std::vector<Edge> cycle;
    for (const std::uint32_t at : edges) {
      const Edge& edge = graph_.edge(at);
      if (graph_.is_moment(edge.from)) {
        cycle.back().to = edge.to;
      } else {
        cycle.push_back(edge);
      }
    }
    Anomaly anomaly;
    std::set<Key> keys;
    for (const Edge& edge : cycle) {
      anomaly.transactions.push_back(edge.from);
      anomaly.cycle.push_back(step(edge));
      anomaly.session |= edge.kind == EdgeKind::session;
      anomaly.real_time |= edge.kind == EdgeKind::real_time;
      if (anomaly.cycle.back().key) keys.insert(*anomaly.cycle.back().key);
    }
    anomaly.keys.assign(keys.begin(), keys.end());
    anomaly.kind = classify(cycle, keys.size() == 1);
    anomaly.sentence = anomaly_info(anomaly.kind).sentence;
    std::set<std::size_t> members(anomaly.transactions.begin(), anomaly.transactions.end());
    if (!seen_.insert(std::move(members)).second) return false;
    anomalies_.push_back(std::move(anomaly));
    return true;
  }

  AnomalyKind classify(const std::vector<Edge>& cycle, bool one_key) const {
    const auto count = [&](EdgeKind kind) {
      return std::count_if(cycle.begin(), cycle.end(), [&](const Edge& edge) { return edge.kind == kind; });
    };
    const auto rw = count(EdgeKind::rw);
    const auto wr = count(EdgeKind::wr);
    const bool one_session = count(EdgeKind::session) == 1 && count(EdgeKind::real_time) == 0;
    const bool data_only = count(EdgeKind::session) + count(EdgeKind::real_time) == 0;
    if (rw == 0 && wr == 0)
      return one_session && one_key ? AnomalyKind::monotonic_writes : AnomalyKind::dirty_write;
    if (rw == 0) {
      if (one_session && wr == 1 && count(EdgeKind::ww) > 0) return AnomalyKind::writes_follow_reads;
      return AnomalyKind::circular_information;
    }
    if (rw == 1) {
      if (one_session && one_key && wr == 0) return AnomalyKind::read_your_writes;
      if (one_session && one_key && wr == 1) return AnomalyKind::monotonic_reads;
      if (data_only && one_key && wr == 0) return AnomalyKind::lost_update;
      return vanishes(cycle) ? AnomalyKind::observed_transaction_vanishes
                             : AnomalyKind::single_anti_dependency;
    }
    for (std::size_t k = 0; k < cycle.size(); ++k) {
      const Edge& next = cycle[(k + 1) % cycle.size()];
      if (cycle[k].kind == EdgeKind::rw && next.kind == EdgeKind::rw)
        return cycle.size() == 2 ? AnomalyKind::write_skew : AnomalyKind::anti_dependency_cycle;
    }
    return AnomalyKind::long_fork;
  }

  // A transaction read a version of another, and after that one that the other had displaced.
  static bool vanishes(const std::vector<Edge>& cycle) {
    if (cycle.size() != 2) return false;
    const Edge& a = cycle[0];
    const Edge& b = cycle[1];
    if (a.kind == EdgeKind::wr && b.kind == EdgeKind::rw) return a.operation < b.operation;
    return a.kind == EdgeKind::rw && b.kind == EdgeKind::wr && b.operation < a.operation;
  }

  Step step(const Edge& edge) const {
    Step step{.from = edge.from, .to = edge.to, .kind = edge.kind};
    const std::string from = named(edge.from);
    const std::string to = named(edge.to);
    const Transaction& first = history_.transactions()[edge.from];
    const Transaction& second = history_.transactions()[edge.to];
    if (edge.kind == EdgeKind::session) {
      step.reason = from + " came before " + to + " in session " + std::to_string(first.session);
      return step;
    }
    if (edge.kind == EdgeKind::real_time) {
      step.reason = from + " ended at " + std::to_string(first.end_ns) + " ns, before " + to + " began at " +
                    std::to_string(second.begin_ns) + " ns";
      return step;
    }
    const VersionEntry& entry = versions_.entries[edge.entry];
    step.key = entry.key;
    const std::string of_key = " of key " + std::to_string(entry.key);
    const std::string version = history_.model() == Model::registers
                                    ? "version " + std::to_string(entry.version) + of_key
                                : entry.version == 0 ? "the empty list" + of_key
                                                     : "element " + std::to_string(entry.version) + of_key;
    const bool lists = history_.model() == Model::lists;
    if (edge.kind == EdgeKind::wr) {
      step.reason = from + " wrote " + version + ", which " + to + " read";
    } else if (edge.kind == EdgeKind::ww) {
      step.reason = from + " wrote " + version + (lists ? ", behind which " : ", which ") + to +
                    (lists ? " appended" : " displaced");
    } else {
      step.reason = from + " read " + version + (lists ? " as the last, behind which " : ", which ") + to +
                    (lists ? " appended" : " displaced");
    }
    return step;
  }

  const History& history_;
  const Level level_;
  Versions versions_;
  Graph graph_;
  CycleSearch search_;
  std::vector<Anomaly> anomalies_;
  std::set<std::set<std::size_t>> seen_;
};

}  // namespace

Report check(const History& history, const CheckOptions& options) {
  return Checker(history, options).run();
}

std::string to_text(const Anomaly& anomaly, const History& history) {
  std::string text = anomaly.name() + ": " + anomaly.sentence;
  for (const Step& step : anomaly.cycle) {
    text += "\n  ";
    text += edge_name(step.kind);
    text += ": " + step.reason;
  }
  for (const std::size_t position : anomaly.transactions) {
    const Transaction& transaction = history.transactions()[position];
    text += "\n  " + named(position) + ": session " + std::to_string(transaction.session) + ", " +
            std::to_string(transaction.begin_ns) + " to " +
            (transaction.end_ns == Transaction::kNever ? "ever" : std::to_string(transaction.end_ns)) +
            " ns, " +
            (transaction.outcome == Outcome::committed ? "committed"
             : transaction.outcome == Outcome::aborted ? "aborted"
                                                       : "unknown");
  }
  return text;
}

std::string first_anomaly(const Report& report, const History& history) {
  if (!report.anomalies.empty()) return to_text(report.anomalies.front(), history);
  return report.search_cut_short ? "the search for cycles was cut short" : "";
}

}  // namespace namdb::history

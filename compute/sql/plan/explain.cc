#include "compute/sql/plan/explain.h"

#include <nlohmann/json.hpp>

#include "compute/sql/plan/explain_tree.h"

namespace namdb::sql {
namespace {

using Object = nlohmann::ordered_json;

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

const PlanCosts::Cost* cost_of(const ExplainNode& node, const ExplainedRun* run) {
  if (run == nullptr || node.part == nullptr) return nullptr;
  const auto found = run->parts.parts.find(node.part);
  return found == run->parts.parts.end() ? nullptr : &found->second;
}

std::string cost_line(const PlanCosts::Cost& cost) {
  return "Cost: rows " + number(cost.rows) + ", operations " + number(cost.counters.one_sided()) +
         ", calls " + number(cost.counters.calls) + ", round trips " + number(cost.counters.round_trips) +
         ", bytes " + number(cost.counters.bytes());
}

// `column`: where the node's line begins, behind the arrow if it has one.
void add_lines(const ExplainNode& node, const ExplainedRun* run, std::size_t column,
               std::vector<std::string>& lines) {
  constexpr std::string_view kArrow = "->  ";
  const bool outermost = column == 0;
  lines.push_back(outermost ? node.line
                            : std::string(column - kArrow.size(), ' ') + std::string(kArrow) + node.line);
  const std::string below(column + 2, ' ');
  for (const std::string& detail : node.details) lines.push_back(below + detail);
  if (const PlanCosts::Cost* const cost = cost_of(node, run)) lines.push_back(below + cost_line(*cost));
  for (const ExplainNode& child : node.children) add_lines(child, run, column + 2 + kArrow.size(), lines);
}

void add_counters(const fabric::OperationCounters& counters, Object& object) {
  object["One-Sided Operations"] = counters.one_sided();
  object["Reads"] = counters.reads;
  object["Writes"] = counters.writes;
  object["Compare-and-Swaps"] = counters.compare_and_swaps;
  object["Fetch-and-Adds"] = counters.fetch_adds;
  object["Repeated Operations"] = counters.rereads;
  object["Calls"] = counters.calls;
  object["Round Trips"] = counters.round_trips;
  object["Bytes"] = counters.bytes();
}

Object object_of(const ExplainNode& node, const ExplainedRun* run, bool outermost) {
  Object object = Object::object();
  object["Node Type"] = node.type;
  if (!outermost) object["Parent Relationship"] = "Outer";
  for (const auto& [name, value] : node.properties) object[name] = value;
  if (outermost && run != nullptr) object["Actual Rows"] = run->rows;
  if (const PlanCosts::Cost* const cost = cost_of(node, run)) {
    object["Rows Fetched"] = cost->rows;
    add_counters(cost->counters, object);
  }
  if (node.children.empty()) return object;
  Object& plans = object["Plans"] = Object::array();
  for (const ExplainNode& child : node.children) plans.push_back(object_of(child, run, false));
  return object;
}

}  // namespace

std::vector<std::string> explain_text(const Plan& plan, const ExplainedRun* run) {
  std::vector<std::string> lines;
  add_lines(explain_tree(plan), run, 0, lines);
  if (run == nullptr) return lines;
  const fabric::OperationCounters& cost = run->total;
  lines.push_back("Rows: " + number(run->rows));
  lines.push_back("One-Sided Operations: " + number(cost.one_sided()) + " (read " + number(cost.reads) +
                  ", write " + number(cost.writes) + ", compare-and-swap " + number(cost.compare_and_swaps) +
                  ", fetch-and-add " + number(cost.fetch_adds) + "; " + number(cost.rereads) + " repeated)");
  lines.push_back("Calls: " + number(cost.calls));
  lines.push_back("Round Trips: " + number(cost.round_trips));
  lines.push_back("Bytes: " + number(cost.bytes()) + " (read " + number(cost.read_bytes) + ", written " +
                  number(cost.write_bytes) + ", called " + number(cost.call_bytes) + ")");
  if (run->without_commit) lines.emplace_back("(without the commit)");
  return lines;
}

std::string explain_json(const Plan& plan, const ExplainedRun* run) {
  Object statement = Object::object();
  statement["Plan"] = object_of(explain_tree(plan), run, true);
  if (run != nullptr) {
    Object& total = statement["Total Cost"] = Object::object();
    add_counters(run->total, total);
    total["Includes Commit"] = !run->without_commit;
  }
  Object all = Object::array();
  all.push_back(std::move(statement));
  return all.dump(2, ' ', false, Object::error_handler_t::replace);
}

}  // namespace namdb::sql

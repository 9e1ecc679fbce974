#include "compute/sql/plan/explain.h"

#include <algorithm>

#include "compute/sql/expression/expression_text.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

std::string key_line(const Source& source, const std::string& name) {
  std::string line = "Key Read on " + name + " using " + source.table->name + "_pkey (";
  const layout::Schema& schema = source.table->schema;
  for (std::size_t i = 0; i < schema.key().size(); ++i)
    line += (i == 0 ? "" : ", ") + schema.columns()[schema.key()[i]].name;
  line += ")";
  std::size_t keys = 1;
  for (const std::vector<ExprPtr>& values : source.key) keys = std::max(keys, values.size());
  return keys == 1 ? line : line + ", " + std::to_string(keys) + " keys";
}

std::string source_line(const Source& source) {
  std::string name = source.name;
  if (source.table != nullptr && source.table->name != source.name)
    name = source.table->name + " " + source.name;
  if (source.table == nullptr && source.virtual_table == nullptr) return "Result (no table)";
  if (source.virtual_table != nullptr) return "Virtual Table Scan on " + name;
  if (!source.key.empty()) return key_line(source, name);
  if (source.index_path == nullptr) return "Table Scan on " + name;
  return std::string(source.index_path->descending ? "Index Scan Backward" : "Index Scan") + " using " +
         source.index_path->index->name + " on " + name;
}

// As PostgreSQL shows it: each of several conditions in parentheses.
std::string index_condition(const Source& source) {
  std::string text;
  const std::vector<ExprPtr>& conditions = source.index_path->conditions;
  for (const ExprPtr& condition : conditions)
    text += (text.empty() ? "" : " AND ") + expression_text(*condition, source.table->schema);
  return conditions.size() > 1 ? "(" + text + ")" : text;
}

// `arrow` is the text before the source's line.
void add_source(std::vector<std::string>& lines, const Source& source, const std::string& arrow) {
  lines.push_back(arrow + source_line(source));
  const std::string indent(arrow.size() + 2, ' ');
  const IndexPath* path = source.index_path.get();
  if (path != nullptr && !path->conditions.empty())
    lines.push_back(indent + "Index Cond: " + index_condition(source));
  const bool filtered = path == nullptr ? source.filter != nullptr : path->has_other_conditions;
  if (filtered && source.key.empty()) lines.push_back(indent + "Filter on each row");
}

}  // namespace

std::vector<std::string> explain_plan(const Plan& plan) {
  std::vector<std::string> lines;
  if (const auto* select = plan.as<SelectPlan>()) {
    std::string indent;
    const auto wrap = [&](std::string line) {
      lines.push_back(indent + (indent.empty() ? "" : "->  ") + line);
      indent += indent.empty() ? "  " : "      ";
    };
    if (select->limit != nullptr || select->offset != nullptr) wrap("Limit");
    if (!select->order.empty()) wrap("Sort in memory");
    if (!select->aggregates.empty()) wrap("Aggregate");
    add_source(lines, select->source, indent.empty() ? "" : indent + "->  ");
  } else if (const auto* insert = plan.as<InsertPlan>()) {
    lines.push_back("Insert on " + insert->table->name);
    lines.push_back("  ->  Values (" + std::to_string(insert->rows.size()) + " rows)");
  } else if (const auto* update = plan.as<UpdatePlan>()) {
    lines.push_back("Update on " + update->source.table->name);
    add_source(lines, update->source, "  ->  ");
  } else if (const auto* deletion = plan.as<DeletePlan>()) {
    lines.push_back("Delete on " + deletion->source.table->name);
    add_source(lines, deletion->source, "  ->  ");
  } else if (const auto* call = plan.as<CallPlan>()) {
    lines.push_back("Call of " + call->definition->name);
    for (const storage::TableRef& table : call->tables) lines.push_back("  Table " + table->name);
  }
  return lines;
}

std::vector<std::string> explain_cost(const fabric::OperationCounters& cost, std::uint64_t rows) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  return {
      "Rows: " + number(rows),
      "One-Sided Operations: " + number(cost.one_sided()) + " (read " + number(cost.reads) + ", write " +
          number(cost.writes) + ", compare-and-swap " + number(cost.compare_and_swaps) + ", fetch-and-add " +
          number(cost.fetch_adds) + "; " + number(cost.rereads) + " repeated)",
      "Calls: " + number(cost.calls),
      "Round Trips: " + number(cost.round_trips),
      "Bytes: " + number(cost.bytes()) + " (read " + number(cost.read_bytes) + ", written " +
          number(cost.write_bytes) + ", called " + number(cost.call_bytes) + ")",
  };
}

}  // namespace namdb::sql

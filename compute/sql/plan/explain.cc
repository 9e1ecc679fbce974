#include "compute/sql/plan/explain.h"

#include <algorithm>
#include <span>

#include "compute/sql/expression/expression_text.h"
#include "compute/sql/plan/routine.h"
#include "compute/sql/system/virtual_table.h"
#include "compute/sql/value/value_format.h"

namespace namdb::sql {
namespace {

std::string key_line(const Source& source, const std::string& name) {
  std::string line = "Key Read on " + name + " using " + source.table->primary_key_name() + " (";
  const layout::Schema& schema = source.table->schema;
  for (std::size_t i = 0; i < schema.key().size(); ++i)
    line += (i == 0 ? "" : ", ") + schema.columns()[schema.key()[i]].name;
  line += ")";
  std::size_t keys = 1;
  for (const std::vector<ExprPtr>& values : source.key) {
    if (values[0]->type.is_array()) return line + ", a key for each element";
    keys = std::max(keys, values.size());
  }
  return keys == 1 ? line : line + ", " + std::to_string(keys) + " keys";
}

std::string derived_line(const DerivedTable& table, const std::string& name) {
  if (table.query == nullptr) return "Values (" + std::to_string(table.values.size()) + " rows)";
  if (table.right == nullptr) return "Subquery " + name;
  if (table.working != nullptr) return "Recursive Union " + name;
  switch (table.operation) {
    case SetOperation::union_all:
      return "Union All";
    case SetOperation::union_distinct:
      return "Union";
    case SetOperation::intersect_all:
      return "Intersect All";
    case SetOperation::intersect:
      return "Intersect";
    case SetOperation::except_all:
      return "Except All";
    case SetOperation::except:
      break;
  }
  return "Except";
}

std::string source_line(const Source& source) {
  std::string name = source.name;
  if (source.table != nullptr && source.table->name != source.name)
    name = source.table->name + " " + source.name;
  if (source.derived != nullptr) return derived_line(*source.derived, name);
  if (source.working != nullptr) return "Working Table Scan on " + name;
  if (source.function != nullptr) return "Function Scan" + (name.empty() ? name : " on " + name);
  if (source.table == nullptr && source.virtual_table == nullptr) return "Result (no table)";
  if (source.virtual_table != nullptr) return "Virtual Table Scan on " + name;
  if (!source.key.empty()) return key_line(source, name);
  if (source.index_path == nullptr) return "Table Scan on " + name;
  return std::string(source.index_path->descending ? "Index Scan Backward" : "Index Scan") + " using " +
         source.index_path->index->name + " on " + name;
}

using Names = std::span<const std::string>;

// As PostgreSQL shows it: each of several conditions in parentheses.
std::string index_condition(const IndexPath& path, Names names) {
  std::string text;
  for (const ExprPtr& condition : path.conditions)
    text += (text.empty() ? "" : " AND ") + expression_text(*condition, names);
  return path.conditions.size() > 1 ? "(" + text + ")" : text;
}

void add_select(std::vector<std::string>& lines, const SelectPlan& select, std::string indent);

// `arrow` is the text before the source's line; `names` are those of the columns.
void add_source(std::vector<std::string>& lines, const Source& source, const std::string& arrow,
                Names names) {
  lines.push_back(arrow + source_line(source));
  const std::string indent(arrow.find_first_not_of(' ') == std::string::npos ? 2 : arrow.find('>') + 5, ' ');
  const IndexPath* path = source.index_path.get();
  if (path != nullptr && !path->conditions.empty())
    lines.push_back(indent + "Index Cond: " + index_condition(*path, names));
  const bool filtered = path == nullptr ? source.filter != nullptr : path->has_other_conditions;
  if (filtered && source.key.empty()) lines.push_back(indent + "Filter on each row");
  if (source.derived == nullptr) return;
  for (const SelectPlan* query : {source.derived->query.get(), source.derived->right.get()}) {
    if (query != nullptr) add_select(lines, *query, indent);
  }
}

std::vector<std::string> names_of(const Source& source) {
  std::vector<std::string> names;
  if (source.table == nullptr) return names;
  for (const layout::Column& column : source.table->schema.columns()) names.push_back(column.name);
  return names;
}

void add_source(std::vector<std::string>& lines, const Source& source, const std::string& arrow) {
  add_source(lines, source, arrow, names_of(source));
}

std::string join_words(const JoinedSource& joined) {
  const std::string kind = joined.kind == JoinKind::left ? "Left Join" : "Join";
  switch (joined.method) {
    case JoinMethod::first:
      return "";
    case JoinMethod::by_key:
      return kind + " by Key: ";
    case JoinMethod::by_index:
      return kind + " by Index: ";
    case JoinMethod::by_function:
      return kind + " by Function: ";
    case JoinMethod::hash:
      return kind + " in memory by Values: ";
    case JoinMethod::all:
      break;
  }
  return kind + " in memory of all Rows: ";
}

void add_join(std::vector<std::string>& lines, const JoinPlan& join, const std::string& indent) {
  for (const JoinedSource& joined : join.sources) {
    add_source(lines, joined.source, indent + "->  " + join_words(joined), join.slots);
    const std::string below = indent + "      ";
    std::string condition;
    for (std::size_t i = 0; i < joined.hash_keys.size(); ++i) {
      condition += (i == 0 ? "(" : " AND (") + expression_text(*joined.outer_keys[i], join.slots) + " = " +
                   expression_text(*joined.hash_keys[i], join.slots) + ")";
    }
    if (!condition.empty()) lines.push_back(below + "Equal Values: " + condition);
    if (joined.match != nullptr && joined.method != JoinMethod::by_key &&
        joined.method != JoinMethod::by_index)
      lines.push_back(below + "Join Filter: " + expression_text(*joined.match, join.slots));
    if (joined.filter != nullptr)
      lines.push_back(below + "Filter: " + expression_text(*joined.filter, join.slots));
  }
}

// `indent`: before an arrow; empty: the first line has none.
void add_select(std::vector<std::string>& lines, const SelectPlan& select, std::string indent) {
  const auto wrap = [&](const std::string& line) {
    lines.push_back(indent + (indent.empty() ? "" : "->  ") + line);
    indent += indent.empty() ? "  " : "      ";
  };
  if (select.limit != nullptr || select.offset != nullptr) wrap("Limit");
  if (!select.locks.empty()) wrap("Lock Rows");
  if (!select.order.empty()) wrap("Sort in memory");
  if (select.distinct) wrap("Distinct in memory");
  if (select.grouped) wrap(select.groups.empty() ? "Aggregate" : "Group in memory");
  if (select.join != nullptr) {
    wrap("Join");
    add_join(lines, *select.join, indent);
  } else {
    add_source(lines, select.source, indent.empty() ? "" : indent + "->  ");
  }
}

void add_changed(std::vector<std::string>& lines, const Source& source, const ChangedRowsPlan* joined) {
  if (joined != nullptr) return add_select(lines, joined->query, "  ");
  add_source(lines, source, "  ->  ");
}

}  // namespace

std::vector<std::string> explain_plan(const Plan& plan) {
  std::vector<std::string> lines;
  if (const auto* select = plan.as<SelectPlan>()) {
    add_select(lines, *select, "");
  } else if (const auto* insert = plan.as<InsertPlan>()) {
    lines.push_back("Insert on " + insert->table->name);
    if (insert->conflict != nullptr)
      lines.push_back(std::string("  On Conflict: ") + (insert->conflict->updates ? "Update" : "Nothing"));
    if (insert->query != nullptr) {
      add_select(lines, *insert->query, "  ");
    } else {
      lines.push_back("  ->  Values (" + std::to_string(insert->rows.size()) + " rows)");
    }
  } else if (const auto* update = plan.as<UpdatePlan>()) {
    lines.push_back("Update on " + update->source.table->name);
    add_changed(lines, update->source, update->joined.get());
  } else if (const auto* deletion = plan.as<DeletePlan>()) {
    lines.push_back("Delete on " + deletion->source.table->name);
    add_changed(lines, deletion->source, deletion->joined.get());
  } else if (const auto* call = plan.as<CallPlan>()) {
    lines.push_back("Call of " + call->definition->name);
    for (const storage::TableRef& table : call->tables) lines.push_back("  Table " + table->name);
  } else if (const auto* routine = plan.as<CallRoutinePlan>()) {
    lines.push_back("Call of " + routine->signature->name);
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

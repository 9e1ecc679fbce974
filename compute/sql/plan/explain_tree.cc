#include "compute/sql/plan/explain_tree.h"

#include <algorithm>
#include <span>

#include "compute/sql/expression/expression_text.h"
#include "compute/sql/plan/foreign_key_graph.h"
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
  if (table.windows != nullptr) return "WindowAgg";
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

ExplainNode select_node(const SelectPlan& select);

std::string type_of(const Source& source) {
  if (source.derived != nullptr) {
    const DerivedTable& table = *source.derived;
    if (table.query == nullptr) return "Values Scan";
    if (table.windows != nullptr) return "WindowAgg";
    if (table.right == nullptr) return "Subquery Scan";
    return table.working != nullptr ? "Recursive Union" : derived_line(table, "");
  }
  if (source.working != nullptr) return "WorkTable Scan";
  if (source.function != nullptr) return "Function Scan";
  if (source.virtual_table != nullptr) return "Virtual Table Scan";
  if (source.table == nullptr) return "Result";
  if (!source.key.empty()) return "Key Read";
  return source.index_path == nullptr ? "Table Scan" : "Index Scan";
}

ExplainNode source_node(const Source& source, const std::string& words, Names names) {
  ExplainNode node;
  node.line = words + source_line(source);
  node.type = type_of(source);
  const IndexPath* const path = source.index_path.get();
  const bool by_key = source.table != nullptr && !source.key.empty();
  if (path != nullptr)
    node.properties.emplace_back("Scan Direction", path->descending ? "Backward" : "Forward");
  if (by_key) node.properties.emplace_back("Index Name", source.table->primary_key_name());
  if (!by_key && path != nullptr) node.properties.emplace_back("Index Name", path->index->name);
  if (source.table != nullptr) {
    node.part = &source;
    node.properties.emplace_back("Relation Name", source.table->name);
  }
  if (!source.name.empty()) node.properties.emplace_back("Alias", source.name);
  if (path != nullptr && !path->conditions.empty()) {
    node.details.push_back("Index Cond: " + index_condition(*path, names));
    node.properties.emplace_back("Index Cond", index_condition(*path, names));
  }
  const bool filtered = path == nullptr ? source.filter != nullptr : path->has_other_conditions;
  if (filtered && source.key.empty()) node.details.emplace_back("Filter on each row");
  if (source.derived == nullptr) return node;
  for (const SelectPlan* query : {source.derived->query.get(), source.derived->right.get()}) {
    if (query != nullptr) node.children.push_back(select_node(*query));
  }
  return node;
}

std::vector<std::string> names_of(const Source& source) {
  std::vector<std::string> names;
  if (source.table == nullptr) return names;
  for (const layout::Column& column : source.table->schema.columns()) names.push_back(column.name);
  return names;
}

std::string join_words(const JoinedSource& joined) {
  const std::string kind = joined.kind == JoinKind::left ? "Left Join" : "Join";
  switch (joined.method) {
    case JoinMethod::first:
      return "";
    case JoinMethod::by_key:
      return kind + " by Key";
    case JoinMethod::by_index:
      return kind + " by Index";
    case JoinMethod::by_function:
      return kind + " by Function";
    case JoinMethod::hash:
      return kind + " in memory by Values";
    case JoinMethod::all:
      break;
  }
  return kind + " in memory of all Rows";
}

ExplainNode joined_node(const JoinedSource& joined, Names slots) {
  const std::string words = join_words(joined);
  ExplainNode node = source_node(joined.source, words.empty() ? words : words + ": ", slots);
  if (!words.empty()) {
    node.properties.emplace_back("Join Type", joined.kind == JoinKind::left ? "Left" : "Inner");
    node.properties.emplace_back("Join Method", words);
  }
  const auto add = [&node](const std::string& name, const std::string& in_json, const std::string& text) {
    node.details.push_back(name + ": " + text);
    node.properties.emplace_back(in_json, text);
  };
  std::string condition;
  for (std::size_t i = 0; i < joined.hash_keys.size(); ++i) {
    condition += (i == 0 ? "(" : " AND (") + expression_text(*joined.outer_keys[i], slots) + " = " +
                 expression_text(*joined.hash_keys[i], slots) + ")";
  }
  if (!condition.empty()) add("Equal Values", "Hash Cond", condition);
  const bool looks_up = joined.method == JoinMethod::by_key || joined.method == JoinMethod::by_index;
  if (joined.match != nullptr && !looks_up)
    add("Join Filter", "Join Filter", expression_text(*joined.match, slots));
  if (joined.filter != nullptr) add("Filter", "Filter", expression_text(*joined.filter, slots));
  return node;
}

ExplainNode plain_node(std::string line, std::string type) {
  ExplainNode node;
  node.line = std::move(line);
  node.type = std::move(type);
  return node;
}

// The nodes around it, the outermost first.
ExplainNode select_node(const SelectPlan& select) {
  std::vector<ExplainNode> around;
  if (select.limit != nullptr || select.offset != nullptr) around.push_back(plain_node("Limit", "Limit"));
  if (!select.locks.empty()) {
    around.push_back(plain_node("Lock Rows", "LockRows"));
    around.back().part = &select.locks;
  }
  if (!select.order.empty()) around.push_back(plain_node("Sort in memory", "Sort"));
  if (select.distinct) around.push_back(plain_node("Distinct in memory", "Unique"));
  if (select.grouped)
    around.push_back(plain_node(select.groups.empty() ? "Aggregate" : "Group in memory", "Aggregate"));
  ExplainNode node;
  if (select.join != nullptr) {
    node = plain_node("Join", "Join");
    for (const JoinedSource& joined : select.join->sources)
      node.children.push_back(joined_node(joined, select.join->slots));
  } else {
    node = source_node(select.source, "", names_of(select.source));
  }
  for (; !around.empty(); around.pop_back()) {
    around.back().children.push_back(std::move(node));
    node = std::move(around.back());
  }
  return node;
}

// The ways to the rows that reference those which the statement removes or changes.
void add_foreign_keys(ExplainNode& node, const ForeignKeyGraph* graph) {
  if (graph == nullptr) return;
  for (const std::size_t position : graph->tables.front().referencing) {
    const ForeignKeyGraph::Reference& reference = graph->references[position];
    const storage::Table& child = *graph->tables[reference.child].table;
    std::string way = "Table Scan";
    if (reference.children_by_key) way = "Key Read";
    if (reference.child_index != nullptr) way = "Index Scan using " + reference.child_index->name;
    const std::string text = way + " on " + child.name;
    node.details.push_back("Foreign Key " + reference.key.name + ": " + text);
    node.properties.emplace_back("Foreign Key " + reference.key.name, text);
  }
}

ExplainNode change_node(const std::string& operation, const Source& source, const ChangedRowsPlan* joined,
                        const ForeignKeyGraph* foreign_keys) {
  ExplainNode node = plain_node(operation + " on " + source.table->name, "ModifyTable");
  node.properties = {{"Operation", operation}, {"Relation Name", source.table->name}, {"Alias", source.name}};
  node.part = &source.key;
  add_foreign_keys(node, foreign_keys);
  node.children.push_back(joined != nullptr ? select_node(joined->query)
                                            : source_node(source, "", names_of(source)));
  return node;
}

ExplainNode insert_node(const InsertPlan& insert) {
  ExplainNode node = plain_node("Insert on " + insert.table->name, "ModifyTable");
  node.properties = {
      {"Operation", "Insert"}, {"Relation Name", insert.table->name}, {"Alias", insert.table->name}};
  node.part = &insert.table;
  if (insert.conflict != nullptr) {
    const std::string resolution = insert.conflict->updates ? "Update" : "Nothing";
    node.details.push_back("On Conflict: " + resolution);
    node.properties.emplace_back("Conflict Resolution", resolution);
  }
  node.children.push_back(
      insert.query != nullptr
          ? select_node(*insert.query)
          : plain_node("Values (" + std::to_string(insert.rows.size()) + " rows)", "Values Scan"));
  return node;
}

}  // namespace

ExplainNode explain_tree(const Plan& plan) {
  if (const auto* select = plan.as<SelectPlan>()) return select_node(*select);
  if (const auto* insert = plan.as<InsertPlan>()) return insert_node(*insert);
  if (const auto* update = plan.as<UpdatePlan>())
    return change_node("Update", update->source, update->joined.get(), update->foreign_keys.get());
  if (const auto* deletion = plan.as<DeletePlan>())
    return change_node("Delete", deletion->source, deletion->joined.get(), deletion->foreign_keys.get());
  if (const auto* with = plan.as<WithPlan>()) {
    ExplainNode node = explain_tree(*with->statement);
    for (const WithPlan::Query& query : with->queries) {
      node.children.push_back(explain_tree(*query.statement));
      node.children.back().line = "WITH, before it: " + node.children.back().line;
    }
    return node;
  }
  if (const auto* call = plan.as<CallPlan>()) {
    ExplainNode node = plain_node("Call of " + call->definition->name, "Call");
    node.properties.emplace_back("Procedure Name", call->definition->name);
    for (const storage::TableRef& table : call->tables) node.details.push_back("Table " + table->name);
    return node;
  }
  const auto* const routine = plan.as<CallRoutinePlan>();
  if (routine == nullptr) return {};
  ExplainNode node = plain_node("Call of " + routine->signature->name, "Call");
  node.properties.emplace_back("Procedure Name", routine->signature->name);
  return node;
}

}  // namespace namdb::sql

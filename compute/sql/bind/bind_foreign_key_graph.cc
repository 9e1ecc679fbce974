// The foreign keys that a statement checks (plan/foreign_key_graph.h).
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "compute/sql/bind/bind_check.h"
#include "compute/sql/bind/bind_column.h"
#include "compute/sql/bind/bind_foreign_key.h"
#include "compute/sql/bind/check_status.h"
#include "compute/sql/value/row_id.h"

namespace namdb::sql {
namespace {

using storage::ForeignKeyAction;
using Reference = ForeignKeyGraph::Reference;

std::set<std::uint32_t> as_set(const std::vector<std::uint32_t>& columns) {
  return {columns.begin(), columns.end()};
}

bool has_key_of(const layout::Schema& schema, const std::vector<std::uint32_t>& columns) {
  return !has_row_id(schema) && as_set(columns) == as_set(schema.key());
}

bool changes_rows(ForeignKeyAction action) {
  return action != ForeignKeyAction::no_action && action != ForeignKeyAction::restricted;
}

class GraphBuilder {
 public:
  explicit GraphBuilder(StatementBinder& binder)
      : binder_(binder), graph_(std::make_shared<ForeignKeyGraph>()) {}

  Result<std::shared_ptr<ForeignKeyGraph>> build(const storage::TableRef& table, bool removes) {
    const std::size_t root = add_table(table);
    NAMDB_SQL_CHECK(add_own(root));
    if (removes) NAMDB_SQL_CHECK(add_referencing(root));
    return graph_;
  }
  // The tables that the write and its actions may change.
  const std::set<std::uint32_t>& changed() const { return changed_; }

 private:
  std::size_t add_table(const storage::TableRef& table) {
    const auto [place, is_new] = tables_.emplace(table->id, graph_->tables.size());
    if (is_new) graph_->tables.emplace_back().table = table;
    return place->second;
  }

  // The foreign keys of a table whose rows are inserted or changed.
  Status add_own(std::size_t position) {
    const storage::TableRef table = graph_->tables[position].table;
    for (const storage::ForeignKey& key : table->foreign_keys) {
      storage::TableRef parent = key.references == 0 ? table : related(key.references);
      // It was dropped: the constraint is about to go.
      if (parent == nullptr) continue;
      NAMDB_SQL_ASSIGN(const std::size_t reference, add_reference(table, parent, key));
      graph_->tables[position].references.push_back(reference);
    }
    return {};
  }

  // Those that reference a table whose rows are removed or changed.
  Status add_referencing(std::size_t position) {
    const storage::TableRef table = graph_->tables[position].table;
    std::map<std::uint32_t, storage::TableRef> others = binder_.input.related;
    others.emplace(table->id, table);
    for (const auto& [id, child] : others) {
      for (const storage::ForeignKey& key : child->foreign_keys) {
        const bool is_own = id == table->id && key.references == 0;
        if (!is_own && key.references != table->id) continue;
        NAMDB_SQL_ASSIGN(const std::size_t reference, add_reference(child, table, key));
        graph_->tables[position].referencing.push_back(reference);
        if (changes_rows(key.on_delete) || changes_rows(key.on_update))
          NAMDB_SQL_CHECK(add_changed(graph_->references[reference].child));
      }
    }
    return {};
  }

  // A table that actions change.
  Status add_changed(std::size_t position) {
    const storage::TableRef table = graph_->tables[position].table;
    if (!changed_.insert(table->id).second) return {};
    NAMDB_SQL_ASSIGN(graph_->tables[position].checks, bind_checks_of(binder_, *table));
    ExpressionBinder expressions(binder_.parameters, binder_.input.facts, nullptr);
    expressions.set_query(&binder_, nullptr);
    std::vector<ExprPtr> defaults;
    for (const layout::Column& column : table->schema.columns()) {
      NAMDB_SQL_ASSIGN(ExprPtr value, default_of(expressions, column));
      defaults.push_back(std::move(value));
    }
    graph_->tables[position].defaults = std::move(defaults);
    if (position == 0) return {};
    NAMDB_SQL_CHECK(add_own(position));
    return add_referencing(position);
  }

  storage::TableRef related(std::uint32_t id) const {
    const auto found = binder_.input.related.find(id);
    return found == binder_.input.related.end() ? nullptr : found->second;
  }

  std::span<const storage::IndexRef> indexes(const storage::TableRef& table) const {
    Source source;
    source.table = table;
    return indexes_of(binder_.input, source);
  }

  Result<std::size_t> add_reference(const storage::TableRef& child, const storage::TableRef& parent,
                                    const storage::ForeignKey& key) {
    const auto known = references_.find({child->id, key.name});
    if (known != references_.end()) return known->second;
    Reference reference;
    reference.key = key;
    reference.child = add_table(child);
    reference.parent = add_table(parent);
    for (std::size_t i = 0; i < key.columns.size(); ++i) {
      const auto column = child->schema.find(key.columns[i]);
      const auto referenced = parent->schema.find(key.referenced[i]);
      if (!column || !referenced)
        return Status(ErrorCode::corrupt_data, "foreign key \"" + key.name + "\" names unknown columns");
      reference.columns.push_back(*column);
      reference.referenced.push_back(*referenced);
    }
    NAMDB_SQL_CHECK(find_parent_key(*parent, indexes(parent), reference));
    find_child_path(*child, indexes(child), reference);
    references_.emplace(std::pair(child->id, key.name), graph_->references.size());
    graph_->references.push_back(std::move(reference));
    return graph_->references.size() - 1;
  }

  static Status find_parent_key(const storage::Table& parent, std::span<const storage::IndexRef> indexes,
                                Reference& reference) {
    if (has_key_of(parent.schema, reference.referenced)) return {};
    for (const storage::IndexRef& index : indexes) {
      if (!index->unique || !index->ready() || index->replaced()) continue;
      std::set<std::uint32_t> columns;
      for (const layout::IndexColumn& column : index->shape.columns()) columns.insert(column.column);
      if (columns != as_set(reference.referenced)) continue;
      reference.parent_index = index;
      return {};
    }
    return Status(
        ErrorCode::invalid_foreign_key,
        "there is no unique constraint matching given keys for referenced table \"" + parent.name + "\"");
  }

  static void find_child_path(const storage::Table& child, std::span<const storage::IndexRef> indexes,
                              Reference& reference) {
    reference.children_by_key = has_key_of(child.schema, reference.columns);
    if (reference.children_by_key) return;
    const std::set<std::uint32_t> wanted = as_set(reference.columns);
    for (const storage::IndexRef& index : indexes) {
      if (!index->ready() || index->replaced()) continue;
      std::size_t columns = 0;
      while (columns < index->shape.parts().size() && wanted.contains(index->shape.parts()[columns].column))
        ++columns;
      if (index->hash && columns < index->shape.columns().size()) continue;
      if (index->hash) columns = index->shape.columns().size();
      if (columns <= reference.child_index_columns) continue;
      reference.child_index = index;
      reference.child_index_columns = columns;
    }
  }

  StatementBinder& binder_;
  std::shared_ptr<ForeignKeyGraph> graph_;
  std::map<std::uint32_t, std::size_t> tables_;
  std::map<std::pair<std::uint32_t, std::string>, std::size_t> references_;
  std::set<std::uint32_t> changed_;
};

bool assigns(const std::vector<std::uint32_t>& columns, const std::set<std::uint32_t>& assigned) {
  return std::ranges::any_of(columns, [&](std::uint32_t column) { return assigned.contains(column); });
}

}  // namespace

Result<std::shared_ptr<const ForeignKeyGraph>> foreign_keys_of_write(
    StatementBinder& binder, const storage::TableRef& table, WriteKind kind,
    const std::set<std::uint32_t>* assigned) {
  const bool has_own = !table->foreign_keys.empty();
  const bool removes = kind != WriteKind::inserts;
  if (!has_own && binder.input.related.empty()) return std::shared_ptr<const ForeignKeyGraph>();
  GraphBuilder builder(binder);
  NAMDB_SQL_ASSIGN(const std::shared_ptr<ForeignKeyGraph> graph, builder.build(table, removes));
  const ForeignKeyGraph::Table& root = graph->tables.front();
  bool counts = kind == WriteKind::inserts ? !root.references.empty()
                : kind == WriteKind::inserts_or_updates
                    ? !root.references.empty() || !root.referencing.empty()
                    : !root.referencing.empty();
  if (kind == WriteKind::updates) {
    const std::set<std::uint32_t>& changed = *assigned;
    counts =
        std::ranges::any_of(root.references,
                            [&](std::size_t i) { return assigns(graph->references[i].columns, changed); }) ||
        std::ranges::any_of(root.referencing,
                            [&](std::size_t i) { return assigns(graph->references[i].referenced, changed); });
  }
  if (!counts) return std::shared_ptr<const ForeignKeyGraph>();
  for (const std::uint32_t changed : builder.changed()) {
    if (changed != table->id) binder.writes.push_back(changed);
  }
  return std::shared_ptr<const ForeignKeyGraph>(graph);
}

}  // namespace namdb::sql

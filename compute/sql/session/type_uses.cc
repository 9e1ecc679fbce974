#include "compute/sql/session/type_uses.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "compute/sql/bind/bind_enumeration.h"
#include "compute/sql/bind/bind_routine.h"
#include "compute/sql/session/catalog_definitions.h"
#include "compute/sql/value/generated_column.h"

namespace namdb::sql {

using reactor::Task;

namespace {

std::string name_in_quotes(std::string_view name) {
  return "\"" + std::string(name) + "\"";
}

bool has_type(const storage::Table& table, std::uint32_t enumeration) {
  return std::ranges::any_of(table.schema.columns(), [&](const layout::Column& column) {
    return enumeration_of(column) == enumeration;
  });
}

bool is_of(const Type& type, std::uint32_t enumeration) {
  return is_made(type.id) && enumeration_id(type.id) == enumeration;
}

bool has_type(const RoutineSignature& signature, std::uint32_t enumeration) {
  return is_of(signature.result, enumeration) ||
         std::ranges::any_of(signature.parameters, [&](const RoutineParameter& parameter) {
           return is_of(parameter.type, enumeration);
         });
}

// An expression of a table that the catalog keeps as text.
struct TableText {
  std::string owner;  // "constraint c on table t"
  std::string expression;
};

using Columns = std::set<const layout::Column*>;

// Without those of the columns `unused`.
std::vector<TableText> texts_of(const std::string& table, const layout::Schema& schema,
                                const std::vector<storage::TableCheck>& checks, const Columns& unused = {}) {
  std::vector<TableText> texts;
  for (const storage::TableCheck& check : checks)
    texts.push_back({"constraint " + check.name + " on table " + table, check.expression});
  for (const layout::Column& column : schema.columns()) {
    const auto generation = generation_of(column);
    if (!generation || unused.contains(&column)) continue;
    const std::string owner = is_index_column(column) ? "an index of table " + table
                                                      : "column " + column.name + " of table " + table;
    texts.push_back({owner, generation->expression});
    if (!generation->predicate.empty()) texts.push_back({owner, generation->predicate});
  }
  return texts;
}

std::vector<TableText> texts_of(const storage::Table& table) {
  return texts_of(table.name, table.schema, table.checks);
}

// The columns of expressions that no index has, except those that the block drops. They go when the table's
// rows are replaced.
Columns unused_columns(const storage::Table& table, const BlockChanges& block) {
  Columns unused;
  const std::vector<layout::Column>& columns = table.schema.columns();
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    if (!is_index_column(columns[i])) continue;
    const bool is_used = std::ranges::any_of(table.indexes, [&](const storage::IndexRef& index) {
      return !block.dropped.contains(index->name) &&
             std::ranges::count(index->shape.columns(), i, &layout::IndexColumn::column) != 0;
    });
    if (!is_used) unused.insert(&columns[i]);
  }
  return unused;
}

void add_types(const layout::Schema& schema, std::map<std::uint32_t, std::string>& used) {
  for (const layout::Column& column : schema.columns()) {
    if (const std::uint32_t id = enumeration_of(column); id != 0) used.emplace(id, "");
  }
}

}  // namespace

// Texts that name the type would mean nothing any more.
Task<Status> TypeUses::check_type_unnamed(const Enumeration* type) {
  const auto routines = co_await engine_.routines();
  if (!routines.ok()) co_return routines.status();
  for (const storage::RoutineRef& routine : *routines) {
    if (!is_procedure(*routine)) continue;
    const auto signature = read_signature(routine, facts_, routines_);
    if (!signature.ok()) continue;
    std::string definition = routine->definition;
    const Result<bool> is_named = co_await names_type(std::move(definition), type);
    if (!is_named.ok()) co_return is_named.status();
    if (!*is_named && !has_type(**signature, type->id)) continue;
    co_return Status(
        ErrorCode::feature_not_supported,
        "RENAME of a type that function " + name_in_quotes(routine->name) + " names is not supported");
  }
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  const auto refused = [](const std::string& by) {
    return Status(ErrorCode::feature_not_supported,
                  "RENAME of a type that " + by + " names is not supported");
  };
  for (const storage::TableRef& table : engine_.cached_tables()) {
    for (const TableText& text : texts_of(*table)) {
      std::string query = "SELECT " + text.expression;
      const Result<bool> is_named = co_await names_type(std::move(query), type);
      if (!is_named.ok()) co_return is_named.status();
      if (*is_named) co_return refused("an expression of table " + name_in_quotes(table->name));
    }
  }
  const auto views = co_await read_views(&engine_);
  if (!views.ok()) co_return views.status();
  for (const ViewRef& view : *views) {
    std::string query = view->query;
    const Result<bool> is_named = co_await names_type(std::move(query), type);
    if (!is_named.ok()) co_return is_named.status();
    if (*is_named) co_return refused("view " + name_in_quotes(view->name));
  }
  co_return Status();
}

Task<Result<bool>> TypeUses::names_type(std::string query, const Enumeration* type) {
  ParsedText parsed = co_await parser_.parse(&query);
  if (Status status = parser_.check_parsed(parsed); !status.ok()) co_return status;
  bool is_named = false;
  for (std::size_t i = 0; parsed.error() == nullptr && i < parsed.tree().statement_count(); ++i) {
    const Node statement = parsed.tree().statement(i);
    if (statement.body == nullptr) continue;
    for (const std::string_view name : types_named_by(*statement.body))
      is_named = is_named || name == type->name || (name.starts_with('_') && name.substr(1) == type->name);
  }
  parser_.forget(std::move(parsed));
  co_return is_named;
}

Task<Status> TypeUses::add_named_types(std::string query, UsedTypes* used) {
  if (facts_.types == nullptr || facts_.types->empty()) co_return Status();
  ParsedText parsed = co_await parser_.parse(&query);
  if (Status status = parser_.check_parsed(parsed); !status.ok()) co_return status;
  for (std::size_t i = 0; parsed.error() == nullptr && i < parsed.tree().statement_count(); ++i) {
    const Node statement = parsed.tree().statement(i);
    if (statement.body == nullptr) continue;
    for (std::string_view name : types_named_by(*statement.body)) {
      auto known = facts_.types->find(name);
      if (known == facts_.types->end() && name.starts_with('_')) known = facts_.types->find(name.substr(1));
      if (known != facts_.types->end()) (*used)[enumeration_id(known->second)] = known->first;
    }
  }
  parser_.forget(std::move(parsed));
  co_return Status();
}

Task<Status> TypeUses::hold_types(const txn::TableDefinition* definition) {
  UsedTypes used;
  add_types(definition->schema, used);
  for (const TableText& text : texts_of(definition->name, definition->schema, definition->checks)) {
    std::string query = "SELECT " + text.expression;
    Status status = co_await add_named_types(std::move(query), &used);
    if (!status.ok()) co_return status;
  }
  co_return co_await hold_types(std::move(used));
}

Task<Status> TypeUses::hold_types(const View* view) {
  UsedTypes used;
  for (const View::Column& column : view->columns) {
    if (is_made(column.type.id)) used.emplace(enumeration_id(column.type.id), "");
  }
  std::string query = view->query;
  Status status = co_await add_named_types(std::move(query), &used);
  if (!status.ok()) co_return status;
  co_return co_await hold_types(std::move(used));
}

Task<Status> TypeUses::hold_types(const RoutineSignature* signature) {
  UsedTypes used;
  const auto add = [&used](const Type& type) {
    if (is_made(type.id)) used.emplace(enumeration_id(type.id), "");
  };
  add(signature->result);
  for (const RoutineParameter& parameter : signature->parameters) add(parameter.type);
  const storage::RoutineRef made = engine_.cached_routine(signature->name);
  if (made != nullptr) {
    // The defaults of parameters, and an expression after RETURN, but no body in a string.
    std::string definition = made->definition;
    if (Status named = co_await add_named_types(std::move(definition), &used); !named.ok()) co_return named;
  }
  if (used.empty()) co_return Status();
  if (Status held = co_await hold_types(std::move(used)); !held.ok()) co_return held;
  if (Status read = co_await types_.read(); !read.ok()) co_return read;
  // A name of the text may mean nothing any more.
  const storage::RoutineRef now = engine_.cached_routine(signature->name);
  co_return now == nullptr ? Status() : signature_of(now, &facts_).status();
}

// A type is written anew, as it is, so that its entry has another version: a drop or a RENAME that has not
// seen the use fails, and looks again.
Task<Status> TypeUses::hold_types(UsedTypes used) {
  for (const auto& [id, name] : used) {
    while (true) {
      const auto all = co_await engine_.routines();
      if (!all.ok()) co_return all.status();
      const std::uint32_t wanted = id;
      const auto there = std::ranges::find(*all, wanted, [](const auto& routine) { return routine->id; });
      std::string known = name.empty() ? std::string(internal_type_name(enumeration_type(id))) : name;
      const Status missing(ErrorCode::undefined_object, "type " + name_in_quotes(known) + " does not exist");
      if (there == all->end()) co_return missing;
      const Result<Enumeration> type = enumeration_of(**there);
      if (!type.ok()) co_return type.status();
      if (!name.empty() && type->name != name) co_return missing;
      txn::RoutineDefinition definition;
      definition.name = (*there)->name;
      definition.text = (*there)->definition;
      definition.replaces_version = (*there)->version;
      Status status = co_await engine_.create_routine(std::move(definition));
      if (status.ok()) break;
      const bool is_other =
          status.code() == ErrorCode::duplicate_function || status.code() == ErrorCode::undefined_function;
      if (!is_other) co_return status;
    }
  }
  co_return Status();
}

Task<void> TypeUses::undo_replacement(storage::RoutineRef before, storage::RoutineRef made) {
  if (made == nullptr) co_return;
  txn::RoutineDefinition definition;
  definition.name = before->name;
  definition.text = before->definition;
  definition.replaces_version = made->version;
  // The first error tells more.
  static_cast<void>(co_await engine_.create_routine(std::move(definition)));
}

Task<Status> TypeUses::check_not_in_texts(const Enumeration* type, std::string text, std::string what) {
  const auto refused = [&](const std::string& by) {
    return Status(ErrorCode::feature_not_supported, what + " that " + by + " names is not supported");
  };
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  std::vector<std::string> with_type;
  for (const storage::TableRef& table : *tables) {
    const bool has = has_type(*table, type->id);
    if (has) with_type.push_back(table->name);
    for (const TableText& one : texts_of(*table)) {
      if (one.expression.find(text) == std::string::npos) continue;
      std::string query = "SELECT " + one.expression;
      const Result<bool> is_named = co_await names_type(std::move(query), type);
      if (!is_named.ok()) co_return is_named.status();
      if (has || *is_named) co_return refused("an expression of table " + name_in_quotes(table->name));
    }
  }
  const auto views = co_await read_views(&engine_);
  if (!views.ok()) co_return views.status();
  for (const ViewRef& view : *views) {
    const bool reads =
        std::ranges::any_of(with_type, [&view](const std::string& table) { return view->reads(table); });
    const bool shows = std::ranges::any_of(
        view->columns, [&](const View::Column& column) { return is_of(column.type, type->id); });
    if (view->query.find(text) == std::string::npos) continue;
    std::string query = view->query;
    const Result<bool> is_named = co_await names_type(std::move(query), type);
    if (!is_named.ok()) co_return is_named.status();
    if (reads || shows || *is_named) co_return refused("view " + name_in_quotes(view->name));
  }
  co_return Status();
}

Task<Status> TypeUses::find_type_dependents(std::uint32_t id, Dependents* dependents) {
  const Enumeration* const type = known_enumeration(enumeration_type(id));
  const std::string shown(type_name(enumeration_type(id)));
  const auto note = [&](std::string dependent) {
    if (std::ranges::find(dependents->names, dependent) != dependents->names.end()) return;
    dependents->texts.push_back(dependent + " depends on type " + shown);
    dependents->names.push_back(std::move(dependent));
  };
  const auto read = co_await engine_.tables();
  if (!read.ok()) co_return read.status();
  // Those that ALTER TABLE fills count, too: they will be the tables.
  std::vector<storage::TableRef> tables = engine_.cached_tables();
  for (const storage::TableRef& table : tables) {
    const auto replaced =
        std::ranges::find(tables, table->replaces, [](const storage::TableRef& other) { return other->id; });
    const std::string& name =
        table->replaces == 0 || replaced == tables.end() ? table->name : (*replaced)->name;
    if (block_.dropped.contains(name)) continue;
    const Columns unused = table->replaces == 0 ? unused_columns(*table, block_) : Columns();
    for (const layout::Column& column : table->schema.columns()) {
      const std::string owner = is_index_column(column) ? "an index of table " + name
                                                        : "column " + column.name + " of table " + name;
      if (enumeration_of(column) == id && !unused.contains(&column)) note(owner);
    }
    for (const TableText& text : texts_of(name, table->schema, table->checks, unused)) {
      if (type == nullptr) continue;
      std::string query = "SELECT " + text.expression;
      const Result<bool> is_named = co_await names_type(std::move(query), type);
      if (!is_named.ok()) co_return is_named.status();
      if (*is_named) note(text.owner);
    }
  }
  const auto routines = co_await engine_.routines();
  if (!routines.ok()) co_return routines.status();
  for (const storage::RoutineRef& routine : *routines) {
    if (storage::is_view(*routine)) {
      const Result<ViewRef> view = view_of(*routine);
      if (!view.ok()) co_return view.status();
      for (const View::Column& column : (*view)->columns) {
        if (is_of(column.type, id)) note("column " + column.name + " of view " + (*view)->name);
      }
      if (type == nullptr) continue;
      std::string query = (*view)->query;
      const Result<bool> is_named = co_await names_type(std::move(query), type);
      if (!is_named.ok()) co_return is_named.status();
      if (*is_named) note("view " + (*view)->name);
    }
    if (!is_procedure(*routine)) continue;
    const auto signature = read_signature(routine, facts_, routines_);
    if (!signature.ok()) continue;
    std::string types;
    for (const RoutineParameter& parameter : (*signature)->parameters) {
      if (parameter.is_input())
        types += (types.empty() ? "" : ",") + std::string(type_name(parameter.type.id));
    }
    bool is_used = has_type(**signature, id);
    if (!is_used && type != nullptr) {
      std::string definition = routine->definition;
      const Result<bool> is_named = co_await names_type(std::move(definition), type);
      if (!is_named.ok()) co_return is_named.status();
      is_used = *is_named;
    }
    if (is_used) note("function " + (*signature)->name + "(" + types + ")");
  }
  co_return Status();
}

}  // namespace namdb::sql

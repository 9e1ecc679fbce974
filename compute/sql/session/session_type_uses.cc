// The uses of types that statements have made: columns of tables and views, functions, and texts of the
// catalog. A type that is in use is not dropped. Everything here is read from the catalog of now.
#include <algorithm>
#include <string>
#include <utility>

#include "compute/sql/session/session.h"
#include "compute/sql/value/generated_column.h"

namespace namdb::sql {

using reactor::Task;

namespace {

std::string with_quotes(std::string_view name) {
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

bool names_type(const RoutineSignature& signature, std::uint32_t enumeration) {
  return is_of(signature.result, enumeration) ||
         std::ranges::any_of(signature.parameters, [&](const RoutineParameter& parameter) {
           return is_of(parameter.type, enumeration);
         });
}

// The expressions of a table that the catalog keeps as text.
std::vector<std::string> expressions_of(const storage::Table& table) {
  std::vector<std::string> texts;
  for (const storage::TableCheck& check : table.checks) texts.push_back(check.expression);
  for (const layout::Column& column : table.schema.columns()) {
    const auto generation = generation_of(column);
    if (!generation) continue;
    texts.push_back(generation->expression);
    texts.push_back(generation->predicate);
  }
  return texts;
}

}  // namespace

// Texts that name the type would mean nothing any more.
Task<Status> Session::check_type_unnamed(const Enumeration* type) {
  const auto routines = co_await engine_.routines();
  if (!routines.ok()) co_return routines.status();
  for (const storage::RoutineRef& routine : *routines) {
    if (!is_procedure(*routine)) continue;
    const auto signature = read_signature(routine);
    if (!signature.ok() || !names_type(**signature, type->id)) continue;
    co_return Status(
        ErrorCode::feature_not_supported,
        "RENAME of a type that function " + with_quotes(routine->name) + " names is not supported");
  }
  co_return co_await check_not_in_texts(type, type->shown_name, "RENAME of a type");
}

Task<Status> Session::check_not_in_texts(const Enumeration* type, std::string text, std::string what) {
  const auto refused = [&](const std::string& by) {
    return Status(ErrorCode::feature_not_supported, what + " that " + by + " names is not supported");
  };
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  std::vector<std::string> with_type;
  for (const storage::TableRef& table : *tables) {
    if (!has_type(*table, type->id)) continue;
    with_type.push_back(table->name);
    for (const std::string& expression : expressions_of(*table)) {
      if (expression.find(text) != std::string::npos)
        co_return refused("an expression of table " + with_quotes(table->name));
    }
  }
  const auto views = co_await read_views();
  if (!views.ok()) co_return views.status();
  for (const ViewRef& view : *views) {
    const bool reads =
        std::ranges::any_of(with_type, [&view](const std::string& table) { return view->reads(table); });
    const bool shows = std::ranges::any_of(
        view->columns, [&](const View::Column& column) { return is_of(column.type, type->id); });
    if ((reads || shows) && view->query.find(text) != std::string::npos)
      co_return refused("view " + with_quotes(view->name));
  }
  co_return Status();
}

Task<Status> Session::find_type_dependents(std::uint32_t id, Dependents* dependents) {
  const std::string type(type_name(enumeration_type(id)));
  const auto note = [&](std::string dependent) {
    if (std::ranges::find(dependents->names, dependent) != dependents->names.end()) return;
    dependents->texts.push_back(dependent + " depends on type " + type);
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
    if (dropped_in_block_.contains(name)) continue;
    for (const layout::Column& column : table->schema.columns()) {
      if (enumeration_of(column) == id) note("column " + column.name + " of table " + name);
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
    }
    if (!is_procedure(*routine)) continue;
    const auto signature = read_signature(routine);
    if (!signature.ok()) continue;
    std::string types;
    for (const RoutineParameter& parameter : (*signature)->parameters) {
      if (parameter.is_input())
        types += (types.empty() ? "" : ",") + std::string(type_name(parameter.type.id));
    }
    if (names_type(**signature, id)) note("function " + (*signature)->name + "(" + types + ")");
  }
  co_return Status();
}

// Its version is read before its uses. A session that uses it writes it anew, with another version, after its
// use is in the catalog (hold_types): so the uses are read again then.
Task<Status> Session::drop_type(std::uint32_t id) {
  types_version_ = 0;
  while (true) {
    const auto all = co_await engine_.routines();
    if (!all.ok()) co_return all.status();
    const auto there = std::ranges::find(*all, id, [](const auto& routine) { return routine->id; });
    if (there == all->end()) co_return Status();  // another session has dropped it
    Result<Enumeration> type = enumeration_of(**there);
    if (!type.ok()) co_return type.status();
    const std::string name = type->name;
    know_enumeration(std::move(type).value());
    Dependents dependents;
    Status status = co_await find_type_dependents(id, &dependents);
    Drop drop;
    drop.kind = RelationKind::type;
    if (status.ok() && !dependents.names.empty()) status = refuse_drop(drop, {name}, dependents);
    if (!status.ok()) co_return status;
    std::string key = (*there)->name;
    status = co_await engine_.drop_routine(std::move(key), (*there)->version);
    if (status.ok() || status.code() != ErrorCode::undefined_function) co_return status;
  }
}

Task<Status> Session::drop_type_unless_used(std::uint32_t id, ResultSink& sink) {
  const ErrorFields error = error_;
  Status status = co_await drop_type(id);
  if (status.ok() || status.code() != ErrorCode::dependent_objects_still_exist) co_return status;
  notify(sink, "WARNING", "01000",
         "type " + std::string(type_name(enumeration_type(id))) + " stays: " + error_.detail);
  error_ = error;
  co_return Status();
}

}  // namespace namdb::sql

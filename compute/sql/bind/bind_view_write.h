// INSERT, UPDATE and DELETE of a view that shows columns of one table: the statement changes that table.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

// The same statement of the table.
struct ChangedView {
  Source source;                       // the table, with the view's condition, under the view's name
  std::vector<std::uint32_t> columns;  // of the table, that the view shows
  Scope scope;                         // has these only, by the view's names
  Json body;                           // the statement's, with the table's names of what it assigns
};
struct ViewChange {
  std::string_view verb;  // "insert into"
  storage::Privileges privilege = 0;
  bool is_read = false;           // the statement names columns that it reads
  const char* targets = nullptr;  // the list of what it assigns; null: there is none
};
// nullopt: the statement's relation is not a view. object_not_in_prerequisite_state: it cannot be changed.
Result<std::optional<ChangedView>> bind_changed_view(StatementBinder& binder, const Json& body,
                                                     const ViewChange& change);

}  // namespace namdb::sql

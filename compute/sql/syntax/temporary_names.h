// Temporary tables in syntax trees. The catalog keeps such a table, and the objects that belong to it, under
// names with a prefix of the session. When a statement names the table, the binder sees the catalog's name in
// place of the statement's.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "compute/sql/catalog/temporary_name.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

// The relations of a session.
class TemporaryNames {
 public:
  virtual ~TemporaryNames() = default;
  virtual std::string_view prefix() const = 0;
  virtual bool has_table(std::string_view name) const = 0;
  virtual bool has_index(std::string_view name) const = 0;
};

// Whether the statement makes one.
bool makes_temporary_table(Node statement);
// Of a statement of a client, and the text that it was read from. invalid_name: an identifier has a character
// that marks the names which the server makes.
Status check_names(Node statement, std::string_view text);
// The statement with the names under which its temporary relations are kept. Errors feature_not_supported,
// invalid_table_definition: a foreign key between a temporary and another table.
Result<Json> with_temporary_names(Node statement, const TemporaryNames& names);

}  // namespace namdb::sql

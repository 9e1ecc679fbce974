// A view, as the catalog keeps it: the text of its query, the types of its columns, and the columns that the
// relations which it reads had when it was created. `*` means these columns for ever.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "compute/api/routine.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

struct View {
  struct Column {
    std::string name;
    Type type;
  };
  // A table or a view that the query names.
  struct Relation {
    std::vector<std::string> columns;  // that `*` gives
    std::vector<std::string> used;     // that the query names, or `*` gives; perhaps some more
  };

  std::uint32_t id = 0;       // of its routine
  std::uint64_t version = 0;  // likewise
  std::string name;
  std::string statement;  // CREATE VIEW ..., as it was written
  std::string query;      // SELECT ..., a part of that
  std::vector<Column> columns;
  std::map<std::string, Relation, std::less<>> relations;
  std::vector<std::string> routines;  // the functions written in SQL that the query calls

  bool reads(std::string_view relation) const { return relations.contains(relation); }
  bool reads(std::string_view relation, std::string_view column) const;
};
using ViewRef = std::shared_ptr<const View>;

// As a routine's definition. Without id and version.
std::string text_of(const View& view);
// The view in a routine that is one. Error corrupt_data.
Result<ViewRef> view_of(const storage::Routine& routine);

}  // namespace namdb::sql

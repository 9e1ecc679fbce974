// A drop of several objects, and the objects that depend on them: foreign keys of other tables, and views.
#pragma once

#include <string>
#include <vector>

#include "compute/sql/session/block_changes.h"

namespace namdb::sql {

// DROP of several tables or indexes.
struct Drop {
  RelationKind kind = RelationKind::table;
  std::vector<std::string> names;
  bool if_exists = false;
  bool cascades = false;
  bool silently = false;  // without a word of what CASCADE drops
};

// The drop of a relation whose dependents were found when the drop was requested.
inline Drop silent_drop(RelationKind kind, const std::string& name) {
  Drop drop;
  drop.kind = kind;
  drop.names.push_back(name);
  drop.if_exists = drop.cascades = drop.silently = true;
  return drop;
}

struct Dependents {
  struct Key {
    std::string table;
    std::string name;
  };
  std::vector<Key> keys;
  std::vector<Key> inner;          // foreign keys among the dropped tables themselves
  std::vector<std::string> views;  // each before those that it reads
  std::vector<std::string> texts;  // "view v depends on table t"
  std::vector<std::string> names;  // "view v"
};

}  // namespace namdb::sql

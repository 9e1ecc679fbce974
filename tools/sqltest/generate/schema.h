// The tables, views and functions that generated statements are about: the same on both servers.
#pragma once

#include <string>
#include <vector>

#include "common/base/random.h"

namespace namdb::sqltest {

struct Column {
  std::string name;
  std::string type;  // as rules.h has them
};

struct Relation {
  std::string name;
  std::vector<Column> columns;
  std::vector<std::string> key;     // columns that are unique together; empty: none
  std::vector<std::string> unique;  // columns, each unique by itself
  std::vector<std::string> given;   // columns whose values the server gives
  bool is_table = true;
};

const std::vector<Relation>& relations();

// Drops what is there, in an order that works.
std::vector<std::string> schema_removal();
std::vector<std::string> schema_statements();
// Makes all tables empty and fills them.
std::vector<std::string> fill_statements(Random& random);

}  // namespace namdb::sqltest

// Generates INSERT, UPDATE and DELETE, blocks of statements, and statements that are wrong on purpose.
#pragma once

#include <string>
#include <vector>

#include "tools/sqltest/generate/queries.h"

namespace namdb::sqltest {

// Statements that belong together, in their order.
struct Unit {
  std::vector<Tree> statements;
  bool writes = false;
  bool block = false;
  bool mistaken = false;  // the statement has a mistake on purpose
};

class Units {
 public:
  explicit Units(Random& random) : random_(random), queries_(random) {}
  Unit next();

 private:
  Tree write();
  Tree insert();
  Tree update();
  Tree remove();
  Tree write_in_with();
  Tree returning(const Source& source, bool aliased);
  Tree value_for(const Relation& table, const Column& column, bool may_repeat);
  Tree key_condition(const Relation& table, const std::string& alias);
  Tree mistake();
  Unit block();

  Random& random_;
  Queries queries_;
};

}  // namespace namdb::sqltest

// Generates expressions of a type, of the columns in sight.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "tools/sqltest/generate/rules.h"
#include "tools/sqltest/generate/schema.h"
#include "tools/sqltest/generate/tree.h"

namespace namdb::sqltest {

struct Source {
  std::string alias;
  std::vector<Column> columns;
};

struct Scope {
  std::vector<Source> sources;
  const Scope* outer = nullptr;  // of the query around
};

class Expressions {
 public:
  // Makes a query of one value of that type, as a subquery in an expression: "(SELECT ...)", or
  // "EXISTS (...)" for bool.
  using MakeSubquery = std::function<Tree(const std::string& type, const Scope& scope)>;

  Expressions(Random& random, MakeSubquery subquery) : random_(random), subquery_(std::move(subquery)) {}

  struct Options {
    int depth = 2;
    bool may_fail = false;  // also what raises errors for some values
    bool subqueries = false;
    bool plain = false;  // no values at the edges
  };
  Tree expression(const std::string& type, const Scope& scope, const Options& options);
  // A condition as people write them: a column compared with values.
  Tree condition(const Scope& scope, const Options& options);
  // An aggregate of the type, or of any. `type` is set.
  Tree aggregate(std::string& type, const Scope& scope, const Options& options);

 private:
  Tree of_rule(const Rule& rule, const std::string& type, const Scope& scope, Options options);
  Tree leaf_of(const std::string& type, const Scope& scope, const Options& options);
  Tree column_condition(const Scope& scope, const Options& options);

  Random& random_;
  MakeSubquery subquery_;
};

// A type that is drawn often where it is common.
std::string pick_type(Random& random);
// The columns of a type in sight, as names with their aliases: those of queries around only now and then.
std::vector<std::string> columns_of(Random& random, const Scope& scope, const std::string& type);

}  // namespace namdb::sqltest

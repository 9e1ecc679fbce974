// Generates queries: SELECT of all sorts, VALUES, UNION and its like, WITH.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/sqltest/generate/expressions.h"

namespace namdb::sqltest {

// The kind of an ORDER BY that leaves no choice: rows are compared in their order where the statement has one
// outside of its subqueries.
inline constexpr std::string_view kOrderKind = "order";
bool has_order(const Tree& statement);

struct Query {
  Tree tree;
  std::vector<Column> columns;
};

class Queries {
 public:
  explicit Queries(Random& random);

  // A whole statement.
  Tree statement();
  // Rows of these types; `limit`: it may have ORDER BY and LIMIT.
  Query query(const std::vector<std::string>& types, const Scope* outer, int depth, bool limit);
  // A subquery in an expression.
  Tree subquery(const std::string& type, const Scope& scope);
  // Expressions without a table, or of one row: errors in them are the only ones that there can be.
  Tree values_of_one_row();

  Expressions& expressions() { return expressions_; }
  std::string new_alias(std::string_view prefix);
  void restart() {
    aliases_ = 0;
    named_.clear();
  }
  // A source of the relation's columns under a new alias.
  Source source_of(const Relation& relation);

 private:
  struct From {
    Tree tree;
    std::vector<std::string> order;  // columns that are unique together; empty: there are none
    std::vector<Tree> conditions;    // for WHERE
  };
  From from(Scope& scope, int depth);
  Tree item(Scope& scope, std::vector<std::string>& order, int depth, bool only_table, bool small);
  Tree join_condition(const Scope& scope, std::size_t left_sources);
  Query select(const std::vector<std::string>& types, const Scope* outer, int depth, bool limit);
  Query grouped(const std::vector<std::string>& types, const Scope* outer, int depth, bool limit);
  Query set_operation(const std::vector<std::string>& types, const Scope* outer, int depth, bool limit);
  Query values(const std::vector<std::string>& types, const Scope* outer);
  Tree with_statement();
  Tree recursive_statement();
  Tree order_of(const std::vector<std::string>& names, bool with_limit);
  Tree order_by_all(const std::vector<std::string>& types, bool limit);
  std::vector<std::string> some_types(std::size_t most);

  Random& random_;
  Expressions expressions_;
  int aliases_ = 0;
  std::vector<Relation> named_;  // queries of WITH
};

}  // namespace namdb::sqltest

// FROM: its tables and joins, put together one by one. A part of bind_from() and bind_changed_join(), in
// three files: bind_from.cc has tables, views and queries of WITH; bind_lateral.cc has subqueries and
// functions, which may read the tables before them; bind_join.cc has joins.
//
// Conditions of inner joins are those of WHERE; those of outer joins stay with the table on the nullable
// side, which is one table. One object binds one FROM; the binders that it is given outlive it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compute/sql/bind/bind_expression.h"
#include "compute/sql/bind/bind_statement.h"

namespace namdb::sql {

class FromBinder {
 public:
  FromBinder(StatementBinder& binder, ExpressionBinder& expressions)
      : binder_(binder), expressions_(expressions) {}

  Status bind(const Json& items);
  // The table that UPDATE or DELETE changes, behind bind(): FROM does not see it.
  Status bind_changed(const Json& range_var, ChangedJoin& changed);
  // The functions of the select list that give several rows: a table that has no name.
  Status bind_set_calls(const Json& targets);

  // Once all is bound: the columns that names may mean, the tables, and the conditions of inner joins.
  Scope scope() const { return scope_of_part(whole_); }
  std::vector<JoinTable>& tables() { return tables_; }
  std::vector<ExprPtr>& conditions() { return conditions_; }

 private:
  using Barred = std::vector<std::size_t>;  // tables that functions and queries in FROM must not read

  // A table, or a join: its tables, and what `*` gives.
  struct Part {
    std::vector<std::size_t> tables;
    std::vector<Scope::Shown> shown;
    std::vector<ExprPtr> filters;  // of plain views
  };
  static void add_part(Part& whole, Part part);
  // Rows of the part are left out before they are joined.
  void use_filters(Part& part);
  Scope scope_of_part(const Part& part) const;

  // --- bind_from.cc ---
  Result<Part> bind_item(const Json& item);
  Result<Part> bind_relation(const Json& range_var);
  const View* find_view(const Json& range_var) const;
  bool names_sequence(const Json& range_var) const;
  // In the query of a view, `*` gives the columns that there were when it was created.
  void hide_later_columns(const Json& body, std::vector<Scope::Column>& columns) const;
  const CommonTable* find_common_table(const Json& range_var) const;
  // Its query sees those that WITH has named before it.
  Result<Part> bind_common_table(const Json& range_var, const CommonTable& named);
  // A subquery may run once for several rounds.
  Result<Part> bind_working_table(const Json& range_var, const CommonTable& named);
  // `named`: of WITH.
  Result<Part> add_derived(const Json& body, BoundQuery query, const CommonTable& named);
  // The table that the view reads, with the view's columns, and its condition as one of the statement's.
  Result<Part> add_plain_view(const Json& body, const View& view, BoundQuery query);
  // `names_of_columns`: of its first ones, unless the alias has some; a column whose name becomes empty is
  // hidden.
  Result<Part> add_table(const Json& body, Source source, std::vector<std::string> names_of_columns);

  // --- bind_lateral.cc ---
  // A subquery in FROM does not see the other tables, unless it is LATERAL.
  Result<Part> bind_subselect(const Json& body);
  // nullopt: it reads no table before it.
  Result<std::optional<Part>> bind_lateral(const Json& body, const Json& query);
  // The function sees the tables before it.
  Result<Part> bind_function(const Json& body);
  // A function or query on the right side of RIGHT JOIN gives rows that are there without the left side's.
  Status check_barred(const Expr& expr) const;
  // pg_get_keywords().
  static const VirtualTable* table_of_function(const Json& body);

  // --- bind_join.cc ---
  Result<Part> bind_join(const Json& join);
  // Its rows are made before those of all other joins.
  Result<Part> bind_full_join(const Json& join, Part left, Part right);
  // The columns of USING or NATURAL.
  static std::vector<std::string> merged_names(const Json& join, const Part& left, const Part& right);
  Status bind_quals(const Json& join, const Part& joined, std::vector<ExprPtr>& conditions);
  static std::vector<std::string> common_names(const Part& left, const Part& right);
  static Result<Scope::Shown> take_shown(Part& part, const std::string& name, std::string_view side);
  // The columns of USING come first, as those of the side that is always there.
  Result<Part> merge(Part left, Part right, const std::vector<std::string>& names, std::string_view type,
                     std::vector<ExprPtr>& conditions);
  // Integers compare as they are, whatever their widths.
  static Type common_type(const Type& left, const Type& right, const Type& compared);

  static constexpr std::size_t kMaxTables = 64;  // of one statement

  StatementBinder& binder_;
  ExpressionBinder& expressions_;
  std::vector<JoinTable> tables_;
  Scope all_;  // of the tables, in their order
  std::vector<ExprPtr> conditions_;
  const Json* relation_ = nullptr;  // the last name in FROM that is a table's or a view's
  Part whole_;
  std::size_t depth_ = 0;
  Barred barred_;
};

}  // namespace namdb::sql

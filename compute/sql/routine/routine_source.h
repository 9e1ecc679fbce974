// The body of a routine, parsed: all SQL in it, and the names of the tables and procedures that it needs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compute/procedure/registry.h"
#include "compute/sql/plan/routine.h"
#include "compute/sql/syntax/plpgsql.h"
#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {

class RoutineSource {
 public:
  // `definition`: the statement that creates the routine. Errors are those of its syntax, and of statements
  // that namdb does not have.
  static std::variant<std::unique_ptr<RoutineSource>, SyntaxError> parse(
      std::shared_ptr<const RoutineSignature> signature, const std::string& definition);
  RoutineSource(const RoutineSource&) = delete;
  RoutineSource& operator=(const RoutineSource&) = delete;

  const std::shared_ptr<const RoutineSignature>& signature() const { return signature_; }
  // The tree of a routine in PL/pgSQL.
  const PlpgsqlTree& tree() const { return tree_; }
  // The statement, or `SELECT expression`, of a PLpgSQL_expr.
  Node fragment(const Json& expression) const;
  // The type that a declaration names: `text` as PLpgSQL_type has it.
  struct DeclaredType {
    enum class Kind : std::uint8_t { plain, record, row_of_table, of_column };
    Kind kind = Kind::plain;
    SyntaxTree tree;                 // plain: SELECT NULL::type
    std::vector<std::string> names;  // table, and column; or a variable
  };
  const DeclaredType& type(std::string_view text) const;
  // The statements of a routine in SQL.
  const SyntaxTree& statements() const { return statements_; }

  std::vector<std::string> tables(const procedure::ProcedureRegistry& procedures) const;
  std::vector<std::string> called() const;

 private:
  RoutineSource() = default;
  std::optional<SyntaxError> parse_body(const std::string& definition);
  std::optional<SyntaxError> parse_expression(const std::string& definition);
  // Whether RETURN has a value where it must have one.
  Status check_return(std::string_view step, const Json& body) const;
  std::optional<SyntaxError> parse_fragments();
  std::optional<SyntaxError> parse_fragment(std::string_view step, std::string_view member, const Json& body);
  std::optional<SyntaxError> parse_type(const std::string& type_text);

  std::shared_ptr<const RoutineSignature> signature_;
  PlpgsqlTree tree_;
  SyntaxTree statements_;
  std::map<const Json*, SyntaxTree> fragments_;
  std::map<std::string, DeclaredType, std::less<>> types_;
};

}  // namespace namdb::sql

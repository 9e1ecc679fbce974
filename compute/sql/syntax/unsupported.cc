// Errors of constructs that PostgreSQL has and namdb does not have, by their names.
#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>

#include "compute/sql/syntax/syntax.h"

namespace namdb::sql {
namespace {

struct MemberName {
  std::string_view member;
  std::string_view construct;
};

constexpr std::array kMemberNames = {
    MemberName{"withClause", "WITH"},
    MemberName{"indirection", "an assignment to an element or a field"},
    MemberName{"groupClause", "GROUP BY"},
    MemberName{"groupDistinct", "GROUP BY DISTINCT"},
    MemberName{"havingClause", "HAVING"},
    MemberName{"windowClause", "WINDOW"},
    MemberName{"distinctClause", "DISTINCT"},
    MemberName{"lockingClause", "FOR UPDATE/SHARE"},
    MemberName{"intoClause", "SELECT INTO"},
    MemberName{"returningList", "RETURNING"},
    MemberName{"onConflictClause", "ON CONFLICT"},
    MemberName{"sortClause", "ORDER BY"},
    MemberName{"valuesLists", "VALUES"},
    MemberName{"usingClause", "USING"},
    MemberName{"fromClause", "FROM"},
    MemberName{"agg_filter", "FILTER"},
    MemberName{"agg_order", "ORDER BY in an aggregate"},
    MemberName{"agg_within_group", "WITHIN GROUP"},
    MemberName{"over", "OVER (window functions)"},
    MemberName{"func_variadic", "VARIADIC"},
    MemberName{"inhRelations", "INHERITS"},
    MemberName{"partspec", "PARTITION BY"},
    MemberName{"partbound", "PARTITION OF"},
    MemberName{"ofTypename", "OF type"},
    MemberName{"tablespacename", "TABLESPACE"},
    MemberName{"accessMethod", "USING method"},
    MemberName{"collClause", "COLLATE"},
    MemberName{"indirection", "indirection"},
    MemberName{"arrayBounds", "arrays"},
    MemberName{"setof", "SETOF"},
    MemberName{"pct_type", "%TYPE"},
    MemberName{"schemaname", "a schema other than public"},
    MemberName{"catalogname", "a database name"},
    MemberName{"tablesample", "TABLESAMPLE"},
};

// "CreateFunctionStmt" -> "CREATE FUNCTION".
std::string words(std::string_view kind) {
  if (kind.ends_with("Stmt")) kind.remove_suffix(4);
  std::string result;
  for (std::size_t i = 0; i < kind.size(); ++i) {
    const auto c = static_cast<unsigned char>(kind[i]);
    if (i > 0 && std::isupper(c) && !std::isupper(static_cast<unsigned char>(kind[i - 1]))) result += ' ';
    if (c != '_') result += static_cast<char>(std::toupper(c));
  }
  return result;
}

constexpr std::array kKindNames = {
    MemberName{"IndexStmt", "CREATE INDEX"},
    MemberName{"RuleStmt", "CREATE RULE"},
    MemberName{"CreateSchemaStmt", "CREATE SCHEMA"},
    MemberName{"CreateSeqStmt", "CREATE SEQUENCE"},
    MemberName{"CreateTableAsStmt", "CREATE TABLE AS"},
    MemberName{"CreateTrigStmt", "CREATE TRIGGER"},
    MemberName{"CreatedbStmt", "CREATE DATABASE"},
    MemberName{"DropdbStmt", "DROP DATABASE"},
    MemberName{"RenameStmt", "ALTER ... RENAME"},
    MemberName{"CopyStmt", "COPY"},
    MemberName{"ConstraintsSetStmt", "SET CONSTRAINTS"},
    MemberName{"LockStmt", "LOCK TABLE"},
    MemberName{"GrantStmt", "GRANT or REVOKE"},
    MemberName{"SubLink", "a subquery"},
    MemberName{"RangeSubselect", "a subquery"},
    MemberName{"RangeFunction", "a function in FROM"},
    MemberName{"JoinExpr", "JOIN"},
    MemberName{"A_ArrayExpr", "ARRAY"},
    MemberName{"RowExpr", "ROW"},
    MemberName{"A_Indirection", "indirection"},
    MemberName{"CollateClause", "COLLATE"},
    MemberName{"GroupingFunc", "GROUPING"},
    MemberName{"BitString", "a bit string"},
    MemberName{"MultiAssignRef", "assignment of a row"},
    MemberName{"CurrentOfExpr", "WHERE CURRENT OF"},
    MemberName{"NamedArgExpr", "a named argument"},
};

std::string_view find_name(std::span<const MemberName> table, std::string_view key) {
  const auto row = std::ranges::find(table, key, &MemberName::member);
  return row == table.end() ? std::string_view() : row->construct;
}

}  // namespace

Status only(const Json& body, std::string_view statement, std::initializer_list<std::string_view> known) {
  if (!body.is_object()) return {};
  for (const auto& [member, value] : body.items()) {
    if (member == "location" || std::ranges::find(known, member) != known.end()) continue;
    const std::string_view construct = find_name(kMemberNames, member);
    return unsupported(std::string(construct.empty() ? std::string_view(member) : construct) + " in " +
                       std::string(statement));
  }
  return {};
}

Status unsupported(Node unknown) {
  const std::string_view name = find_name(kKindNames, unknown.kind);
  return unsupported(name.empty() ? words(unknown.kind) : std::string(name));
}

Status unsupported(std::string_view construct) {
  return Status(ErrorCode::feature_not_supported, std::string(construct) + " is not supported");
}

}  // namespace namdb::sql

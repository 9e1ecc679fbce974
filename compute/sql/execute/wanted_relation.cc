#include "compute/sql/execute/wanted_relation.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "compute/sql/catalog/system_relations.h"
#include "compute/sql/plan/conditions.h"

namespace namdb::sql {
namespace {

// Columns by which rows are about one relation, or about the table that it belongs to.
struct Identifying {
  std::string_view schema;
  std::string_view relation;
  std::string_view column;
  bool is_name = false;
};
constexpr std::array kIdentifying = {
    Identifying{kCatalogSchema, "pg_class", "oid"},
    Identifying{kCatalogSchema, "pg_class", "relname", true},
    Identifying{kCatalogSchema, "pg_attribute", "attrelid"},
    Identifying{kCatalogSchema, "pg_attrdef", "adrelid"},
    Identifying{kCatalogSchema, "pg_index", "indexrelid"},
    Identifying{kCatalogSchema, "pg_index", "indrelid"},
    Identifying{kCatalogSchema, "pg_constraint", "conrelid"},
    Identifying{kCatalogSchema, "pg_tables", "tablename", true},
    Identifying{kCatalogSchema, "pg_indexes", "tablename", true},
    Identifying{kInformationSchema, "tables", "table_name", true},
};

const Identifying* find_identifying(const SystemRelation& relation, std::uint32_t column) {
  if (column >= relation.columns.size()) return nullptr;
  const auto found = std::ranges::find_if(kIdentifying, [&](const Identifying& known) {
    return known.schema == relation.schema && known.relation == relation.name &&
           known.column == relation.columns[column].name;
  });
  return found == kIdentifying.end() ? nullptr : &*found;
}

// The table's column that an expression names.
std::optional<std::uint32_t> column_of(const Expr& expr, const JoinedSource* joined) {
  if (expr.kind != ExprKind::column) return std::nullopt;
  if (joined == nullptr) return expr.index;
  const auto read = std::ranges::find(joined->reads, expr.index, &JoinedSource::Read::slot);
  if (read == joined->reads.end()) return std::nullopt;
  return read->column;
}

// The name of a pattern that matches nothing else, as psql makes it of "\\d name": ^(name)$
std::string_view only_match(std::string_view pattern) {
  if (!pattern.starts_with("^(") || !pattern.ends_with(")$")) return {};
  const std::string_view name = pattern.substr(2, pattern.size() - 4);
  const bool is_plain = std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return is_plain ? name : std::string_view();
}

void take(const Expr& condition, const SystemRelation& relation, const JoinedSource* joined, const Run& run,
          WantedRelation* wanted) {
  const bool is_equation = condition.kind == ExprKind::compare && condition.op == '=';
  const bool is_pattern = condition.kind == ExprKind::regex && condition.op == '~';
  if ((!is_equation && !is_pattern) || condition.args.size() != 2) return;
  const bool is_turned = is_equation && condition.args[0]->kind != ExprKind::column;
  const auto column = column_of(*condition.args[is_turned ? 1 : 0], joined);
  const Expr& value = *condition.args[is_turned ? 0 : 1];
  const bool is_known = value.kind == ExprKind::constant || value.kind == ExprKind::parameter;
  const Identifying* const identifying = column && is_known ? find_identifying(relation, *column) : nullptr;
  if (identifying == nullptr || (is_pattern && !identifying->is_name)) return;
  Datum datum;
  if (!evaluate(value, run.context(), datum).ok() || datum.null) return;
  if (identifying->is_name) {
    wanted->name = is_pattern ? only_match(datum.text) : datum.text;
  } else if (Type{value.type}.type_class() == TypeClass::oid ||
             Type{value.type}.type_class() == TypeClass::integer) {
    wanted->oid = datum.integer;
  }
}

}  // namespace

WantedRelation wanted_relation(const Source& source, const JoinedSource* joined, const Run& run) {
  WantedRelation wanted;
  if (source.filter == nullptr || source.virtual_table->relation == nullptr) return wanted;
  for (const Expr* const condition : conjuncts(*source.filter))
    take(*condition, *source.virtual_table->relation, joined, run, &wanted);
  return wanted;
}

}  // namespace namdb::sql

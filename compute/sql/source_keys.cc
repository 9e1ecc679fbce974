#include "compute/sql/source_keys.h"

#include <string_view>
#include <unordered_set>

#include "common/layout/key.h"
#include "compute/sql/characters.h"

namespace namdb::sql {
namespace {

// The conditions that AND connects.
void conjuncts(const Expr& filter, std::vector<const Expr*>& out) {
  if (filter.kind != ExprKind::logical_and) {
    out.push_back(&filter);
    return;
  }
  for (const ExprPtr& part : filter.args) conjuncts(*part, out);
}

// `integer_column = 1.5` compares as numeric; the column is below a cast that loses nothing.
const Expr& without_cast(const Expr& expr) {
  if (expr.kind != ExprKind::cast || expr.explicit_cast) return expr;
  const Expr& inner = *expr.args[0];
  const bool exact_string =
      inner.type.is_string() && expr.type.id != TypeId::bpchar && inner.type.id != TypeId::bpchar;
  const bool exact_number =
      inner.type.is_integer() && (expr.type.is_integer() || expr.type.id == TypeId::numeric);
  return exact_string || exact_number ? inner : expr;
}

// Whether equality of the column with such a value is equality of what is stored: then the value, converted,
// is the key. Comparisons that convert the column (integer = 1.5::float8) are not.
bool decides_key(const Expr& column, const Expr& value) {
  // An integer column compared as numeric: the key exists only if the number is whole.
  const bool numeric_for_integer = column.type.is_integer() && value.type.id == TypeId::numeric;
  return (column.type.type_class() == value.type.type_class() || numeric_for_integer) &&
         is_row_independent(value);
}

bool is_column(const Expr& expr, std::uint32_t column) {
  return expr.kind == ExprKind::column && expr.index == column;
}

// The values that the condition leaves to the column; none when it says nothing of the kind.
std::vector<const Expr*> values_of(const Expr& condition, std::uint32_t column) {
  if (condition.kind == ExprKind::compare && condition.op == '=') {
    for (std::size_t side = 0; side < 2; ++side) {
      const Expr& left = without_cast(*condition.args[side]);
      const Expr& right = *condition.args[1 - side];
      if (is_column(left, column) && decides_key(left, right)) return {&right};
    }
  } else if (condition.kind == ExprKind::in_list) {
    const Expr& left = without_cast(*condition.args[0]);
    if (!is_column(left, column)) return {};
    std::vector<const Expr*> values;
    for (std::size_t i = 1; i < condition.args.size(); ++i) {
      if (!decides_key(left, *condition.args[i])) return {};
      values.push_back(condition.args[i].get());
    }
    return values;
  }
  return {};
}

// The scaled integer of a numeric column that equals the number exactly.
bool exact_scaled(const Decimal& number, unsigned scale, std::int64_t& out) {
  const Result<Decimal> scaled = rescale(number, scale);
  if (!scaled.ok() || compare(*scaled, number) != 0) return false;
  if (scaled->value < INT64_MIN || scaled->value > INT64_MAX) return false;
  out = static_cast<std::int64_t>(scaled->value);
  return true;
}

// False when no value of the column equals the datum.
bool add_to_key(layout::Key& key, const layout::Column& column, const Type& type, const Datum& value) {
  if (value.null) return false;
  if (column.type == layout::ColumnType::character)
    return key.add_text(without_trailing_blanks(value.text)).ok();
  if (column.is_string()) return key.add_text(value.text).ok();
  if (column.type == layout::ColumnType::double_precision) return key.add_real(value.real).ok();
  std::int64_t number = value.integer;
  if (type.id == TypeId::numeric) {
    const unsigned scale = column.type == layout::ColumnType::numeric ? column.scale : 0;
    if (!exact_scaled(value.decimal(), scale, number)) return false;
  }
  return key.add_integer(number).ok();
}

}  // namespace

void find_key(Source& source) {
  if (source.filter == nullptr) return;
  std::vector<const Expr*> conditions;
  conjuncts(*source.filter, conditions);
  const std::vector<std::uint32_t>& columns = source.table->schema.key();
  std::vector<std::vector<ExprPtr>> key;
  std::size_t lists = 0;
  for (const std::uint32_t column : columns) {
    std::vector<const Expr*> best;
    for (const Expr* condition : conditions) {
      std::vector<const Expr*> values = values_of(*condition, column);
      if (!values.empty() && (best.empty() || values.size() < best.size())) best = std::move(values);
    }
    if (best.empty()) return;
    if (best.size() > 1 && ++lists > 1) return;
    std::vector<ExprPtr>& copies = key.emplace_back();
    for (const Expr* value : best) copies.push_back(clone(*value));
  }
  source.key = std::move(key);
}

Status evaluate_keys(const Source& source, const EvalContext& context, Keys& keys) {
  const layout::Schema& schema = source.table->schema;
  keys.key_bytes = schema.key_bytes();
  // All values first: each expression is evaluated, if only for its errors.
  std::vector<std::vector<Datum>> values(source.key.size());
  std::size_t count = 1;
  for (std::size_t i = 0; i < source.key.size(); ++i) {
    for (const ExprPtr& expr : source.key[i]) {
      Datum value;
      if (Status status = evaluate(*expr, context, value); !status.ok()) return status;
      values[i].push_back(value);
    }
    count = std::max(count, values[i].size());
  }
  for (std::size_t row = 0; row < count; ++row) {
    layout::Key key(schema);
    bool possible = true;
    for (std::size_t i = 0; i < values.size() && possible; ++i) {
      const std::size_t choice = values[i].size() == 1 ? 0 : row;
      possible =
          add_to_key(key, schema.columns()[schema.key()[i]], source.key[i][choice]->type, values[i][choice]);
    }
    if (possible) keys.add(key.bytes());
  }
  if (count == 1) return {};
  std::unordered_set<std::string_view> seen;
  const Keys all = std::move(keys);
  keys = {all.key_bytes, {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view bytes(reinterpret_cast<const char*>(all[i].data()), all.key_bytes);
    if (seen.insert(bytes).second) keys.add(all[i]);
  }
  return {};
}

}  // namespace namdb::sql

#include "compute/sql/execute/source_keys.h"

#include <absl/container/flat_hash_set.h>

#include <cmath>
#include <string_view>

#include "compute/sql/execute/column_values.h"
#include "compute/sql/value/characters.h"

namespace namdb::sql {
namespace {

// The scaled integer of a numeric column that equals the number exactly.
bool exact_scaled(const Decimal& number, unsigned scale, std::int64_t& out) {
  const Result<Decimal> scaled = rescale(number, scale);
  if (!scaled.ok() || compare(*scaled, number) != 0) return false;
  if (scaled->value < INT64_MIN || scaled->value > INT64_MAX) return false;
  out = static_cast<std::int64_t>(scaled->value);
  return true;
}

}  // namespace

bool add_to_key(layout::Key& key, const layout::Column& column, const Type& type, const Datum& value) {
  if (value.null) return false;
  if (column.type == layout::ColumnType::character)
    return key.add_text(without_trailing_blanks(value.text)).ok();
  if (column.is_string()) return key.add_text(value.text).ok();
  if (column.is_real()) {
    const bool fits = column.type != layout::ColumnType::real || std::isnan(value.real) ||
                      static_cast<double>(static_cast<float>(value.real)) == value.real;
    return fits && key.add_real(value.real).ok();
  }
  std::int64_t number = value.integer;
  if (type.id == TypeId::numeric) {
    const unsigned scale = column.type == layout::ColumnType::numeric ? column.scale : 0;
    if (!exact_scaled(value.decimal(), scale, number)) return false;
  }
  return key.add_integer(number).ok();
}

layout::Key key_of(const layout::Schema& schema, std::span<const Datum> values) {
  layout::Key key(schema);
  for (std::size_t i = 0; i < schema.key().size(); ++i) {
    const layout::Column& column = schema.columns()[schema.key()[i]];
    const bool fits = add_to_key(key, column, column_type(column), values[i]);
    NAMDB_CHECK(fits);
  }
  return key;
}

reactor::Task<Status> evaluate_keys(Run& run, const Source& source, std::span<const Datum> outer,
                                    Keys& keys) {
  EvalContext context = run.context();
  context.values = outer;
  const layout::Schema& schema = source.table->schema;
  keys.key_bytes = schema.key_bytes();
  // Evaluates all values first: each expression may end in an error.
  std::vector<std::vector<ColumnValue>> values(source.key.size());
  std::size_t count = 1;
  bool none = false;
  Status status;
  for (std::size_t i = 0; i < source.key.size(); ++i) {
    status = co_await evaluate_values(run, &source.key[i], context, &values[i]);
    if (!status.ok()) co_return status;
    count = std::max(count, values[i].size());
    none = none || values[i].empty();
  }
  if (none) co_return Status();
  for (std::size_t row = 0; row < count; ++row) {
    layout::Key key(schema);
    bool possible = true;
    for (std::size_t i = 0; i < values.size() && possible; ++i) {
      const ColumnValue& value = values[i][values[i].size() == 1 ? 0 : row];
      possible = add_to_key(key, schema.columns()[schema.key()[i]], value.type, value.value);
    }
    if (possible) keys.add(key.bytes());
    if (run.value_ends_turn()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  if (count == 1) co_return Status();
  absl::flat_hash_set<std::string_view> seen;
  const Keys all = std::move(keys);
  keys = {all.key_bytes, {}};
  seen.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string_view bytes(reinterpret_cast<const char*>(all[i].data()), all.key_bytes);
    if (seen.insert(bytes).second) keys.add(all[i]);
    if (run.value_ends_turn()) status = co_await run.take_turn();
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

}  // namespace namdb::sql

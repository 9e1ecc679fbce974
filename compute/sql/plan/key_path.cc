#include "compute/sql/plan/key_path.h"

#include <algorithm>

namespace namdb::sql {

void find_key(Source& source, std::span<const Expr* const> conditions, const TableColumns& columns) {
  std::vector<std::vector<ExprPtr>> key;
  std::size_t lists = 0;
  for (const std::uint32_t column : source.table->schema.key()) {
    std::vector<const Expr*> best;
    for (const Expr* condition : conditions) {
      std::vector<const Expr*> values = equal_values(*condition, columns, column);
      if (restricts_more(values, best)) best = std::move(values);
    }
    if (best.empty()) return;
    if (is_list(best) && ++lists > 1) return;
    std::vector<ExprPtr>& copies = key.emplace_back();
    for (const Expr* value : best) copies.push_back(clone(*value));
  }
  source.key = std::move(key);
}

void find_key(Source& source) {
  if (source.table != nullptr && source.filter != nullptr) find_key(source, conjuncts(*source.filter), {});
}

bool has_one_key(const Source& source) {
  if (source.table == nullptr || source.key.empty()) return false;
  return std::ranges::all_of(source.key, [](const std::vector<ExprPtr>& values) {
    return values.size() == 1 && values[0] != nullptr && !values[0]->type.is_array();
  });
}

}  // namespace namdb::sql

#include "compute/sql/execute/row_order.h"

#include <algorithm>

namespace namdb::sql {

bool comes_before(std::span<const OrderItem> order, const Datum* left, const Datum* right, Work* work) {
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Datum& a = left[i];
    const Datum& b = right[i];
    if (a.null != b.null) return a.null == order[i].nulls_first;
    if (a.null) continue;
    if (work != nullptr) work->charge(Work::kOperator_units + std::min(a.text.size(), b.text.size()));
    const int compared = compare_values(order[i].value->type.id, a, b);
    if (compared != 0) return (compared < 0) != order[i].descending;
  }
  return false;
}

}  // namespace namdb::sql

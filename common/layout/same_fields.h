// Whether two rows have the same bytes in the columns of an index: most updates leave them as they are, and
// comparing them takes less than making two keys (index_key.h).
#pragma once

#include <algorithm>
#include <cstring>

#include "common/layout/index_key.h"

namespace namdb::layout {

// For two rows of the shape's table. True: their keys are equal. False: their keys may still be equal.
inline bool has_same_fields(const IndexShape& shape, const RowView& left, const RowView& right) {
  const Schema& schema = shape.schema();
  return std::ranges::all_of(shape.parts(), [&](const IndexColumn& part) {
    const std::uint32_t at = schema.field_offset(part.column);
    return left.is_null(part.column) == right.is_null(part.column) &&
           std::memcmp(left.bytes().data() + at, right.bytes().data() + at,
                       schema.columns()[part.column].field_bytes()) == 0;
  });
}

}  // namespace namdb::layout

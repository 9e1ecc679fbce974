// Rows of one table side by side in memory, as a scan gives them: without an allocation for each. The block
// is used again from batch to batch, and borrows the schema.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "common/layout/row.h"

namespace namdb::txn {

class RowBlock {
 public:
  void clear() {
    bytes_.clear();
    count_ = 0;
  }
  // All rows have the same schema.
  void add(const layout::Schema& schema, std::span<const std::byte> row) {
    schema_ = &schema;
    row_bytes_ = schema.row_bytes();
    const std::span<const std::byte> bytes = row.first(row_bytes_);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    ++count_;
  }
  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Valid until the next add() or clear().
  layout::RowView operator[](std::size_t row) const {
    return {*schema_, std::span(bytes_).subspan(row * row_bytes_, row_bytes_)};
  }

 private:
  const layout::Schema* schema_ = nullptr;
  std::size_t row_bytes_ = 0;
  std::size_t count_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace namdb::txn

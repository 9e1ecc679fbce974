// Building the key bytes of a primary key (schema.h), column by column in key order.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "common/layout/row.h"
#include "common/layout/schema.h"

namespace namdb::layout {

// Owns the bytes; keys up to 64 bytes need no allocation. Borrows the schema.
class Key {
 public:
  explicit Key(const Schema& schema);

  // Append the next key column. Same checks as RowWriter; an error leaves the key unfinished.
  Status add_integer(std::int64_t value);
  Status add_real(double value);
  Status add_text(std::string_view value);
  // For procedures whose values are known to fit: a value that does not is a programming error.
  Key& integer(std::int64_t value);
  Key& text(std::string_view value);

  bool complete() const { return position_ == schema_->key().size(); }
  std::span<const std::byte> bytes() const { return {data(), schema_->key_bytes()}; }

 private:
  std::byte* data() { return large_.empty() ? small_.data() : large_.data(); }
  const std::byte* data() const { return large_.empty() ? small_.data() : large_.data(); }
  const Schema* schema_;
  std::size_t position_ = 0;
  std::array<std::byte, 64> small_{};
  std::vector<std::byte> large_;
};

}  // namespace namdb::layout

// Reading and writing the fields of a row (schema.h). A RowView reads, a Row owns bytes and writes; both
// borrow the schema. Setters check the range of numbers and the length of strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/layout/schema.h"

namespace namdb::layout {

class RowView {
 public:
  RowView() = default;
  RowView(const Schema& schema, std::span<const std::byte> bytes) : schema_(&schema), bytes_(bytes) {}

  const Schema& schema() const { return *schema_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const std::byte> key() const {
    return bytes_.subspan(schema_->key_offset(), schema_->key_bytes());
  }

  bool is_null(std::uint32_t column) const {
    return (std::to_integer<unsigned>(bytes_[column / 8]) >> (column % 8) & 1) != 0;
  }
  // bigint, integer, smallint, boolean, numeric (scaled), timestamp (µs since 2000). NULL reads as 0.
  std::int64_t integer(std::uint32_t column) const;
  double real(std::uint32_t column) const;
  std::string_view text(std::uint32_t column) const;
  // The field of a column that is_wide().
  const std::byte* wide(std::uint32_t column) const { return bytes_.data() + schema_->field_offset(column); }

 protected:
  template <typename T>
  T load(std::uint32_t column) const {
    T value;
    std::memcpy(&value, bytes_.data() + schema_->field_offset(column), sizeof(T));
    return value;
  }
  const Schema* schema_ = nullptr;
  std::span<const std::byte> bytes_;
};

// Writes into the caller's bytes; row_bytes() long.
class RowWriter {
 public:
  RowWriter(const Schema& schema, std::span<std::byte> bytes) : schema_(&schema), bytes_(bytes) {}

  void set_null(std::uint32_t column);
  // Error numeric_out_of_range when the column's type cannot hold the value.
  Status set_integer(std::uint32_t column, std::int64_t value);
  // A column of type real keeps the nearest number that it can hold.
  void set_real(std::uint32_t column, double value);
  // Error string_too_long; char(n) drops trailing blanks first.
  Status set_text(std::uint32_t column, std::string_view value);
  // Sets the field of a column that is_wide().
  void set_wide(std::uint32_t column, const std::byte* field);
  RowView view() const { return RowView(*schema_, bytes_); }

 private:
  void mark(std::uint32_t column, bool null);
  const Schema* schema_;
  std::span<std::byte> bytes_;
};

// Writes one field given its column, for RowWriter and Key. `field` is field_bytes() long.
Status store_integer(const Column& column, std::byte* field, std::int64_t value);
void store_real(const Column& column, std::byte* field, double value);
Status store_text(const Column& column, std::byte* field, std::string_view value);

// A row of its own, all NULL at first (the key zero-filled).
class Row {
 public:
  explicit Row(const Schema& schema) : schema_(&schema), bytes_(schema.row_bytes()) {}
  Row(const Schema& schema, std::span<const std::byte> bytes)
      : schema_(&schema), bytes_(bytes.begin(), bytes.end()) {}
  const Schema& schema() const { return *schema_; }
  RowView view() const { return RowView(*schema_, bytes_); }
  RowWriter writer() { return RowWriter(*schema_, bytes_); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::span<const std::byte> key() const { return view().key(); }

 private:
  const Schema* schema_;
  std::vector<std::byte> bytes_;
};

}  // namespace namdb::layout

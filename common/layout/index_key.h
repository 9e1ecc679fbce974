// Keys of secondary indexes: byte strings whose order (bytes compared as unsigned, a prefix before its
// extensions) is the order of the values that they stand for.
//
// A key holds the index's columns, and then the columns of the primary key that are not among them. So no two
// entries of an index are equal, and the primary key can be read from an entry. A column is
//   nullable columns   one byte: 1 = a value follows, 2 = NULL, nothing follows (NULL sorts last)
//   integers, numeric, dates and times   big-endian in the type's width, sign bit flipped
//   boolean            one byte
//   floating point     IEEE bits big-endian; sign bit flipped, or all bits where it was set. -0 is 0, and any
//                      NaN is one that sorts behind infinity
//   strings, bytes     their bytes, 0 as 1 1 and 1 as 1 2, and a closing 0
//   intervals, decimal their order alone (wide_value.h); they are no part of a primary key
// A descending column has all of its bits flipped, so that NULL comes first there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/layout/row.h"
#include "common/layout/schema.h"

namespace namdb::layout {

struct IndexColumn {
  std::uint32_t column = 0;  // position in the table
  bool descending = false;
  friend bool operator==(const IndexColumn&, const IndexColumn&) = default;
};

// Which columns an index has, and in which order its keys hold them. Borrows the schema.
class IndexShape {
 public:
  // Error invalid_table_definition when there is no column, one that the table does not have, or one twice.
  static Result<IndexShape> create(const Schema& schema, std::vector<IndexColumn> columns);

  const Schema& schema() const { return *schema_; }
  // As the index was declared.
  std::span<const IndexColumn> columns() const { return std::span(parts_).first(declared_); }
  // The same, and the primary key's remaining columns.
  std::span<const IndexColumn> parts() const { return parts_; }
  // The length of the longest key.
  std::size_t max_key_bytes() const;
  // The length of the longest part that declared columns take of a key.
  std::size_t max_declared_bytes() const;

 private:
  std::size_t max_bytes(std::span<const IndexColumn> parts) const;

  const Schema* schema_ = nullptr;
  std::size_t declared_ = 0;
  std::vector<IndexColumn> parts_;
};

// An entry of an index: the whole key, and how much of it the declared columns take. A unique index has at
// most one visible row for those bytes, unless they hold a NULL.
struct IndexKey {
  std::string bytes;
  std::size_t declared_bytes = 0;
  bool has_null = false;  // in a declared column

  std::string_view declared() const { return std::string_view(bytes).substr(0, declared_bytes); }
  friend bool operator==(const IndexKey&, const IndexKey&) = default;
};

// The key of a row.
IndexKey index_key(const IndexShape& shape, const RowView& row);

// Builds the first columns of a key from values, for bounds of a search. Borrows the shape.
class IndexPrefix {
 public:
  explicit IndexPrefix(const IndexShape& shape) : shape_(&shape) {}

  // Append the next column; there is one. The values are those of RowView; integer columns must be able to
  // hold theirs, and char(n) comes without its trailing blanks.
  IndexPrefix& null();
  IndexPrefix& integer(std::int64_t value);
  IndexPrefix& real(double value);
  IndexPrefix& text(std::string_view value);
  IndexPrefix& wide(const std::byte* field);

  std::string_view bytes() const { return bytes_; }
  std::size_t columns() const { return position_; }

 private:
  const IndexShape* shape_;
  std::size_t position_ = 0;
  std::string bytes_;
};

// Keys in [low, high); no high: to the end.
struct IndexRange {
  std::string low;
  std::optional<std::string> high;
  bool descending = false;
  std::uint64_t limit = 0;  // how many rows are wanted; 0: all
};

// All keys that begin with the prefix.
IndexRange index_range(const IndexPrefix& prefix);

// The least byte string that is greater than all that begin with `prefix`; nullopt when there is none.
std::optional<std::string> index_successor(std::string_view prefix);

// The declared columns alone, of a key that begins with them; nullopt when it does not.
std::optional<IndexKey> declared_key_of(const IndexShape& shape, std::string_view key);

// The primary key's bytes (schema.h) from a key of the index; nullopt when the bytes are malformed.
std::optional<std::vector<std::byte>> primary_key_of(const IndexShape& shape, std::string_view key);

}  // namespace namdb::layout

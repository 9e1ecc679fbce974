#include "common/layout/index_key.h"

#include <algorithm>
#include <bit>

#include "common/layout/index_page.h"
#include "common/layout/long_value.h"
#include "common/layout/real_value.h"
#include "common/layout/wide_value.h"

namespace namdb::layout {
namespace {

constexpr char kValue = 1;
constexpr char kNull = 2;
constexpr char kEnd = 0;
constexpr char kEscape = 1;  // before 1 for the byte 0, before 2 for the byte 1

std::uint64_t low_mask(std::uint32_t width_bytes) {
  return ~std::uint64_t{0} >> (64 - 8 * width_bytes);
}

std::uint64_t sign_bit(std::uint32_t width_bytes) {
  return std::uint64_t{1} << (8 * width_bytes - 1);
}

void append_big_endian(std::string& out, std::uint64_t value, std::uint32_t width_bytes) {
  for (std::uint32_t i = width_bytes; i > 0; --i) out.push_back(static_cast<char>(value >> (8 * (i - 1))));
}

bool flipped_sign(ColumnType type) {
  return type != ColumnType::boolean;
}

void append_integer(std::string& out, const Column& column, std::int64_t value) {
  const std::uint32_t width_bytes = column.field_bytes();
  const std::uint64_t sign = flipped_sign(column.type) ? sign_bit(width_bytes) : 0;
  append_big_endian(out, (static_cast<std::uint64_t>(value) & low_mask(width_bytes)) ^ sign, width_bytes);
}

void append_real(std::string& out, const Column& column, double value) {
  value = stored_real(column, value);
  const std::uint32_t width_bytes = column.field_bytes();
  const std::uint64_t bits = column.type == ColumnType::real
                                 ? std::bit_cast<std::uint32_t>(static_cast<float>(value))
                                 : std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = sign_bit(width_bytes);
  append_big_endian(out, (bits & sign) != 0 ? ~bits : bits | sign, width_bytes);
}

void append_text(std::string& out, std::string_view value) {
  for (const char byte : value) {
    if (byte == 0 || byte == kEscape) {
      out.push_back(kEscape);
      out.push_back(static_cast<char>(byte + 1));
    } else {
      out.push_back(byte);
    }
  }
  out.push_back(kEnd);
}

void flip(std::string& bytes, std::size_t from) {
  for (std::size_t i = from; i < bytes.size(); ++i) bytes[i] = static_cast<char>(~bytes[i]);
}

// `append` puts the value behind the marker of a nullable column.
template <typename Append>
void append_column(std::string& out, const Schema& schema, IndexColumn part, Append append) {
  const std::size_t from = out.size();
  const Column& column = schema.columns()[part.column];
  if (!column.not_null) out.push_back(kValue);
  append(column);
  if (part.descending) flip(out, from);
}

void append_null(std::string& out, IndexColumn part) {
  const std::size_t from = out.size();
  out.push_back(kNull);
  if (part.descending) flip(out, from);
}

// Takes columns off the front of a key.
class Reader {
 public:
  explicit Reader(std::string_view key) : rest_(key) {}

  bool at_end() const { return rest_.empty(); }
  std::size_t left_bytes() const { return rest_.size(); }
  bool took_null() const { return took_null_; }
  // False when the bytes are malformed for that column. A NULL, and a wide value, leave `field` as it is.
  bool take(const Column& column, bool descending, std::byte* field) {
    flip_ = descending ? 0xff : 0;
    if (!column.not_null) {
      const auto marker = next();
      if (!marker) return false;
      if (*marker == kNull) {
        took_null_ = true;
        return true;
      }
      if (*marker != kValue) return false;
    }
    if (column.is_wide()) {
      const std::uint32_t width_bytes = wide_key_bytes(column);
      if (rest_.size() < width_bytes) return false;
      rest_.remove_prefix(width_bytes);
      return true;
    }
    return column.is_string() ? take_text(column, field) : take_number(column, field);
  }

 private:
  std::optional<std::uint8_t> next() {
    if (rest_.empty()) return std::nullopt;
    const auto byte = static_cast<std::uint8_t>(static_cast<std::uint8_t>(rest_.front()) ^ flip_);
    rest_.remove_prefix(1);
    return byte;
  }

  bool take_number(const Column& column, std::byte* field) {
    const std::uint32_t width_bytes = column.field_bytes();
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < width_bytes; ++i) {
      const auto byte = next();
      if (!byte) return false;
      value = value << 8 | *byte;
    }
    const std::uint64_t sign = sign_bit(width_bytes);
    if (column.is_real()) {
      const std::uint64_t bits = (value & sign) != 0 ? value & ~sign : ~value;
      store_real(column, field,
                 column.type == ColumnType::real
                     ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                     : std::bit_cast<double>(bits));
      return true;
    }
    if (flipped_sign(column.type)) value ^= sign;
    const unsigned unused_bits = 64 - 8 * width_bytes;
    const bool is_signed = flipped_sign(column.type);
    const auto integer = is_signed ? static_cast<std::int64_t>(value << unused_bits) >> unused_bits
                                   : static_cast<std::int64_t>(value);
    return store_integer(column, field, integer).ok();
  }

  bool take_text(const Column& column, std::byte* field) {
    std::string text;
    while (text.size() <= column.length_bytes) {
      auto byte = next();
      if (!byte) return false;
      if (*byte == kEnd) return store_text(column, field, text).ok();
      if (*byte == kEscape) {
        byte = next();
        if (!byte || (*byte != 1 && *byte != 2)) return false;
        --*byte;
      }
      text.push_back(static_cast<char>(*byte));
    }
    return false;
  }

  std::string_view rest_;
  std::uint8_t flip_ = 0;
  bool took_null_ = false;
};

}  // namespace

Result<IndexShape> IndexShape::create(const Schema& schema, std::vector<IndexColumn> columns) {
  if (columns.empty())
    return Status(ErrorCode::invalid_table_definition, "an index needs at least one column");
  IndexShape shape;
  shape.schema_ = &schema;
  shape.declared_ = columns.size();
  std::vector<bool> used(schema.columns().size());
  for (const IndexColumn& part : columns) {
    if (part.column >= used.size() || used[part.column]) {
      return Status(ErrorCode::invalid_table_definition,
                    "an index names a column twice or one that is not there");
    }
    used[part.column] = true;
  }
  shape.parts_ = std::move(columns);
  for (const std::uint32_t column : schema.key()) {
    if (!used[column]) shape.parts_.push_back({column, false});
  }
  return shape;
}

std::size_t IndexShape::max_bytes(std::span<const IndexColumn> parts) const {
  std::size_t bytes = 0;
  for (const IndexColumn& part : parts) {
    const Column& column = schema_->columns()[part.column];
    bytes += (column.not_null ? 0 : 1) + (column.is_string() ? 2 * std::size_t{column.length_bytes} + 1
                                          : column.is_wide() ? wide_key_bytes(column)
                                                             : column.field_bytes());
  }
  return bytes;
}

std::size_t IndexShape::max_key_bytes() const {
  return max_bytes(parts_);
}

std::size_t IndexShape::max_declared_bytes() const {
  return max_bytes(columns());
}

IndexKey index_key(const IndexShape& shape, const RowView& row) {
  IndexKey key;
  const Schema& schema = shape.schema();
  const auto parts = shape.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::uint32_t column = parts[i].column;
    const bool declared = i < shape.columns().size();
    if (row.is_null(column) && !schema.columns()[column].not_null) {
      append_null(key.bytes, parts[i]);
      key.has_null = key.has_null || declared;
    } else {
      append_column(key.bytes, schema, parts[i], [&](const Column& type) {
        if (type.is_string() && is_long(row, column)) {
          // Its bytes are not known here. Writers refuse a key of this length.
          append_text(key.bytes, std::string(kMaxIndexPage_bytes, '\xff'));
        } else if (type.is_string()) {
          append_text(key.bytes, row.text(column));
        } else if (type.is_real()) {
          append_real(key.bytes, type, row.real(column));
        } else if (type.is_wide()) {
          append_wide_key(key.bytes, type, row.wide(column));
        } else {
          append_integer(key.bytes, type, row.integer(column));
        }
      });
    }
    if (declared) key.declared_bytes = key.bytes.size();
  }
  return key;
}

IndexPrefix& IndexPrefix::null() {
  append_null(bytes_, shape_->parts()[position_++]);
  return *this;
}

IndexPrefix& IndexPrefix::integer(std::int64_t value) {
  append_column(bytes_, shape_->schema(), shape_->parts()[position_++],
                [&](const Column& column) { append_integer(bytes_, column, value); });
  return *this;
}

IndexPrefix& IndexPrefix::real(double value) {
  append_column(bytes_, shape_->schema(), shape_->parts()[position_++],
                [&](const Column& column) { append_real(bytes_, column, value); });
  return *this;
}

IndexPrefix& IndexPrefix::text(std::string_view value) {
  append_column(bytes_, shape_->schema(), shape_->parts()[position_++],
                [&](const Column&) { append_text(bytes_, value); });
  return *this;
}

IndexPrefix& IndexPrefix::wide(const std::byte* field) {
  append_column(bytes_, shape_->schema(), shape_->parts()[position_++],
                [&](const Column& column) { append_wide_key(bytes_, column, field); });
  return *this;
}

IndexRange index_range(const IndexPrefix& prefix) {
  return {std::string(prefix.bytes()), index_successor(prefix.bytes()), false, 0};
}

std::optional<std::string> index_successor(std::string_view prefix) {
  std::string successor(prefix);
  while (!successor.empty() && successor.back() == '\xff') successor.pop_back();
  if (successor.empty()) return std::nullopt;
  successor.back() = static_cast<char>(static_cast<std::uint8_t>(successor.back()) + 1);
  return successor;
}

std::optional<IndexKey> declared_key_of(const IndexShape& shape, std::string_view key) {
  std::vector<std::byte> ignored;
  Reader reader(key);
  for (const IndexColumn& part : shape.columns()) {
    const Column& column = shape.schema().columns()[part.column];
    ignored.resize(std::max<std::size_t>(ignored.size(), column.field_bytes()));
    if (!reader.take(column, part.descending, ignored.data())) return std::nullopt;
  }
  const std::size_t length = key.size() - reader.left_bytes();
  return IndexKey{std::string(key.substr(0, length)), length, reader.took_null()};
}

std::optional<std::vector<std::byte>> primary_key_of(const IndexShape& shape, std::string_view key) {
  const Schema& schema = shape.schema();
  std::vector<std::byte> bytes(schema.key_bytes());
  std::vector<std::byte> ignored;
  Reader reader(key);
  for (const IndexColumn& part : shape.parts()) {
    const Column& column = schema.columns()[part.column];
    std::byte* field = nullptr;
    if (schema.is_key_column(part.column)) {
      field = bytes.data() + schema.field_offset(part.column) - schema.key_offset();
    } else {
      ignored.resize(std::max<std::size_t>(ignored.size(), column.field_bytes()));
      field = ignored.data();
    }
    if (!reader.take(column, part.descending, field)) return std::nullopt;
  }
  if (!reader.at_end()) return std::nullopt;
  return bytes;
}

}  // namespace namdb::layout

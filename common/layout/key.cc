#include "common/layout/key.h"

namespace namdb::layout {

Key::Key(const Schema& schema) : schema_(&schema) {
  if (schema.key_bytes() > small_.size()) large_.resize(schema.key_bytes());
}

Status Key::add_integer(std::int64_t value) {
  NAMDB_CHECK(!complete());
  const std::uint32_t column = schema_->key()[position_++];
  return store_integer(schema_->columns()[column],
                       data() + schema_->field_offset(column) - schema_->key_offset(), value);
}

Status Key::add_real(double value) {
  NAMDB_CHECK(!complete());
  const std::uint32_t column = schema_->key()[position_++];
  store_real(schema_->columns()[column], data() + schema_->field_offset(column) - schema_->key_offset(),
             value);
  return {};
}

Status Key::add_text(std::string_view value) {
  NAMDB_CHECK(!complete());
  const std::uint32_t column = schema_->key()[position_++];
  return store_text(schema_->columns()[column],
                    data() + schema_->field_offset(column) - schema_->key_offset(), value);
}

Key& Key::integer(std::int64_t value) {
  NAMDB_CHECK(add_integer(value).ok());
  return *this;
}

Key& Key::text(std::string_view value) {
  NAMDB_CHECK(add_text(value).ok());
  return *this;
}

}  // namespace namdb::layout

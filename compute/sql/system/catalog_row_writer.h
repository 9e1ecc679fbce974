// Makes rows of the relations of pg_catalog and information_schema.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/sql/system/virtual_table.h"

namespace namdb::sql {

// Makes rows of a relation, whose columns are named. Those that are not named have what PostgreSQL has where
// there is nothing to say: 0, false, an empty "char", and NULL.
class CatalogRowWriter {
 public:
  CatalogRowWriter(const SystemRelation& relation, Arena& arena) : relation_(relation), arena_(arena) {}

  class Row {
   public:
    Row(CatalogRowWriter& writer, std::vector<Datum>& values) : writer_(writer), values_(values) {}
    Row& number(std::string_view column, std::int64_t value) { return set(column, Datum::of_integer(value)); }
    Row& flag(std::string_view column, bool value) { return set(column, Datum::of_boolean(value)); }
    Row& text(std::string_view column, std::string_view value) {
      return set(column, Datum::of_text(writer_.arena_.copy(value)));
    }
    // Sets an array, or NULL.
    Row& set(std::string_view column, const Datum& value);

   private:
    CatalogRowWriter& writer_;
    std::vector<Datum>& values_;
    std::size_t next_ = 0;  // columns are named in their order
  };

  // Valid until the next one.
  Row add();
  // A row in which NULL stands for all that is not named.
  Row add_unknown();
  Arena& arena() { return arena_; }
  VirtualRows take() { return std::move(rows_); }

 private:
  const SystemRelation& relation_;
  Arena& arena_;
  VirtualRows rows_;
};

}  // namespace namdb::sql

// The shape of a table, read from its descriptor, which is outside input.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/layout/record.h"
#include "common/layout/schema.h"
#include "proto/control.pb.h"

namespace namdb::memory {

struct TableShape {
  // Error invalid_table_definition, limit_exceeded or protocol_violation.
  static Result<TableShape> create(const control::TableDescriptor& table);

  // True if a server may have so many main buckets of a table, doubled so often.
  static bool valid_buckets(std::uint64_t buckets_per_server, std::uint32_t doublings);

  std::uint32_t id = 0;
  std::string name;
  layout::Schema schema;
  layout::RecordLayout record;
  std::uint64_t buckets_per_server = 0;
  std::uint32_t generation = 0;
  std::uint32_t indexed_table = 0;  // whose hash index has its entries here; 0: a table of rows
};

}  // namespace namdb::memory

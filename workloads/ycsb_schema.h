// YCSB's table: a key and fields of text, ten of a hundred bytes unless told otherwise.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/table_spec.h"

namespace namdb::workloads::ycsb {

struct Shape {
  std::uint32_t fields = 10;
  std::uint32_t field_bytes = 100;
};
TableSpec table(Shape shape);

enum Column : std::uint32_t { kKey, kField0 };

// The most operations of one ycsb_transaction: its write mask is one bigint.
inline constexpr std::uint32_t kMaxOperations = 64;

}  // namespace namdb::workloads::ycsb

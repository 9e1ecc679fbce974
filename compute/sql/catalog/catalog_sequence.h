// A sequence as the system catalogs show it.
#pragma once

#include <cstdint>
#include <string>

#include "compute/api/sequence_change.h"
#include "compute/sql/value/types.h"

namespace namdb::sql {

struct CatalogSequence {
  std::string name;
  txn::SequenceDefinition definition;
  std::int64_t last = 0;  // the last number that was taken, unless none `is_called`
  bool is_called = false;
};

inline TypeId type_of(const CatalogSequence& sequence) {
  const std::uint32_t bytes = sequence.definition.value_bytes;
  return bytes == 2 ? TypeId::int2 : bytes == 4 ? TypeId::int4 : TypeId::int8;
}

}  // namespace namdb::sql

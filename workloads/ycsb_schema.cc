#include "workloads/ycsb_schema.h"

#include <string>

namespace namdb::workloads::ycsb {

TableSpec table(Shape shape) {
  TableSpec spec{"usertable", {bigint_column("ycsb_key")}, {kKey}, 2};
  for (std::uint32_t field = 0; field < shape.fields; ++field) {
    spec.columns.push_back(varchar_column("field" + std::to_string(field), shape.field_bytes));
  }
  return spec;
}

}  // namespace namdb::workloads::ycsb

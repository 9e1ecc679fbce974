#include "workloads/smallbank_schema.h"

#include <vector>

namespace namdb::workloads::smallbank {

std::span<const TableSpec> tables() {
  static const std::vector<TableSpec> kTables = {
      {"accounts", {bigint_column("custid"), varchar_column("name", 64)}, {kAccountsCustomer}, 1},
      {"savings", {bigint_column("custid"), bigint_column("bal")}, {kBalanceCustomer}, 8},
      {"checking", {bigint_column("custid"), bigint_column("bal")}, {kBalanceCustomer}, 8},
  };
  return kTables;
}

}  // namespace namdb::workloads::smallbank

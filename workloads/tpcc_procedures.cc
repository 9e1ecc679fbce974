#include "workloads/procedures.h"
#include "workloads/tpcc_rows_access.h"

namespace namdb::workloads {

// TPC-C's five transactions (specification revision 5.11, clause 2), each in a file of its own.
void register_tpcc(procedure::Registry& registry) {
  tpcc::register_new_order(registry);
  tpcc::register_payment(registry);
  tpcc::register_order_status(registry);
  tpcc::register_delivery(registry);
  tpcc::register_stock_level(registry);
}

}  // namespace namdb::workloads

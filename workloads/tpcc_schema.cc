#include "workloads/tpcc_schema.h"

#include <string>
#include <vector>

namespace namdb::workloads::tpcc {
namespace {

std::vector<layout::Column> stock_columns() {
  std::vector<layout::Column> columns = {integer_column("s_w_id"), integer_column("s_i_id"),
                                         smallint_column("s_quantity")};
  for (std::uint32_t district = 1; district <= kDistrictsPerWarehouse; ++district) {
    columns.push_back(
        char_column("s_dist_" + std::string(district < 10 ? "0" : "") + std::to_string(district), 24));
  }
  columns.push_back(integer_column("s_ytd"));
  columns.push_back(smallint_column("s_order_cnt"));
  columns.push_back(smallint_column("s_remote_cnt"));
  columns.push_back(varchar_column("s_data", 50));
  return columns;
}

}  // namespace

std::span<const TableSpec> tables() {
  static const std::vector<TableSpec> kTables = {
      {"warehouse",
       {integer_column("w_id"), varchar_column("w_name", 10), varchar_column("w_street_1", 20),
        varchar_column("w_street_2", 20), varchar_column("w_city", 20), char_column("w_state", 2),
        char_column("w_zip", 9), numeric_column("w_tax", 4, 4), numeric_column("w_ytd", 12, 2)},
       {kWId},
       32},
      {"district",
       {integer_column("d_w_id"), smallint_column("d_id"), varchar_column("d_name", 10),
        varchar_column("d_street_1", 20), varchar_column("d_street_2", 20), varchar_column("d_city", 20),
        char_column("d_state", 2), char_column("d_zip", 9), numeric_column("d_tax", 4, 4),
        numeric_column("d_ytd", 12, 2), integer_column("d_next_o_id")},
       {kDWId, kDId},
       32},
      {"customer",
       {integer_column("c_w_id"),
        smallint_column("c_d_id"),
        integer_column("c_id"),
        varchar_column("c_first", 16),
        char_column("c_middle", 2),
        varchar_column("c_last", 16),
        varchar_column("c_street_1", 20),
        varchar_column("c_street_2", 20),
        varchar_column("c_city", 20),
        char_column("c_state", 2),
        char_column("c_zip", 9),
        char_column("c_phone", 16),
        timestamp_column("c_since"),
        char_column("c_credit", 2),
        numeric_column("c_credit_lim", 12, 2),
        numeric_column("c_discount", 4, 4),
        numeric_column("c_balance", 12, 2),
        numeric_column("c_ytd_payment", 12, 2),
        integer_column("c_payment_cnt"),
        integer_column("c_delivery_cnt"),
        varchar_column("c_data", kMaxCustomerData_bytes)},
       {kCWId, kCDId, kCId},
       2,
       {{kCustomerByName, {{kCWId}, {kCDId}, {kCLast}, {kCFirst}}}}},
      {"history",
       {integer_column("h_c_w_id"), smallint_column("h_c_d_id"), integer_column("h_c_id"),
        integer_column("h_payment_cnt"), smallint_column("h_d_id"), integer_column("h_w_id"),
        timestamp_column("h_date"), numeric_column("h_amount", 6, 2), varchar_column("h_data", 24)},
       {kHCWId, kHCDId, kHCId, kHPaymentCnt},
       1},
      {"new_order",
       {integer_column("no_w_id"), smallint_column("no_d_id"), integer_column("no_o_id")},
       {kNoWId, kNoDId, kNoOId},
       1,
       {{kNewOrderByNumber, {{kNoWId}, {kNoDId}, {kNoOId}}}}},
      {"orders",
       {integer_column("o_w_id"), smallint_column("o_d_id"), integer_column("o_id"), integer_column("o_c_id"),
        timestamp_column("o_entry_d"), smallint_column("o_carrier_id"), smallint_column("o_ol_cnt"),
        smallint_column("o_all_local")},
       {kOWId, kODId, kOId},
       1,
       {{kOrdersByCustomer, {{kOWId}, {kODId}, {kOCId}, {kOId}}}}},
      {"order_line",
       {integer_column("ol_w_id"), smallint_column("ol_d_id"), integer_column("ol_o_id"),
        smallint_column("ol_number"), integer_column("ol_i_id"), integer_column("ol_supply_w_id"),
        timestamp_column("ol_delivery_d"), smallint_column("ol_quantity"), numeric_column("ol_amount", 6, 2),
        char_column("ol_dist_info", 24)},
       {kOlWId, kOlDId, kOlOId, kOlNumber},
       1},
      {"item",
       {integer_column("i_id"), integer_column("i_im_id"), varchar_column("i_name", 24),
        numeric_column("i_price", 5, 2), varchar_column("i_data", 50)},
       {kIId},
       1},
      {"stock", stock_columns(), {kSWId, kSIId}, 2},
  };
  return kTables;
}

std::span<const TableSpec> tables_by_warehouse() {
  static const std::vector<TableSpec> kTables = [] {
    std::vector<TableSpec> placed(tables().begin(), tables().end());
    // The warehouse is each key's first column.
    for (std::size_t table = 0; table < placed.size(); ++table) {
      if (table != kItem) placed[table].partition = {placed[table].key.front()};
    }
    return placed;
  }();
  return kTables;
}

}  // namespace namdb::workloads::tpcc

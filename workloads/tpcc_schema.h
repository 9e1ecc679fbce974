// TPC-C's nine tables and the indexes that its transactions need, with the columns of the specification
// (revision 5.11, clause 1.3), and the sizes of a population. Two differences: HISTORY has no primary key in
// the specification and every table of namdb has one, so a history row also carries the customer's payment
// count (after that payment), which makes (customer, count) unique; and ORDER is called orders, since its
// name is a keyword.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/table_spec.h"

namespace namdb::workloads::tpcc {

enum TableIndex : std::size_t {
  kWarehouse,
  kDistrict,
  kCustomer,
  kHistory,
  kNewOrder,
  kOrders,
  kOrderLine,
  kItem,
  kStock,
};
std::span<const TableSpec> tables();
// The same, all but item partitioned by their rows' warehouse: a warehouse's rows lie on one memory server.
std::span<const TableSpec> tables_by_warehouse();

enum WarehouseColumn : std::uint32_t {
  kWId,
  kWName,
  kWStreet1,
  kWStreet2,
  kWCity,
  kWState,
  kWZip,
  kWTax,
  kWYtd,
};
enum DistrictColumn : std::uint32_t {
  kDWId,
  kDId,
  kDName,
  kDStreet1,
  kDStreet2,
  kDCity,
  kDState,
  kDZip,
  kDTax,
  kDYtd,
  kDNextOId,
};
enum CustomerColumn : std::uint32_t {
  kCWId,
  kCDId,
  kCId,
  kCFirst,
  kCMiddle,
  kCLast,
  kCStreet1,
  kCStreet2,
  kCCity,
  kCState,
  kCZip,
  kCPhone,
  kCSince,
  kCCredit,
  kCCreditLim,
  kCDiscount,
  kCBalance,
  kCYtdPayment,
  kCPaymentCnt,
  kCDeliveryCnt,
  kCData,
};
enum HistoryColumn : std::uint32_t {
  kHCWId,
  kHCDId,
  kHCId,
  kHPaymentCnt,
  kHDId,
  kHWId,
  kHDate,
  kHAmount,
  kHData,
};
enum NewOrderColumn : std::uint32_t { kNoWId, kNoDId, kNoOId };
enum OrdersColumn : std::uint32_t { kOWId, kODId, kOId, kOCId, kOEntryD, kOCarrierId, kOOlCnt, kOAllLocal };
enum OrderLineColumn : std::uint32_t {
  kOlWId,
  kOlDId,
  kOlOId,
  kOlNumber,
  kOlIId,
  kOlSupplyWId,
  kOlDeliveryD,
  kOlQuantity,
  kOlAmount,
  kOlDistInfo,
};
enum ItemColumn : std::uint32_t { kIId, kIImId, kIName, kIPrice, kIData };
enum StockColumn : std::uint32_t {
  kSWId,
  kSIId,
  kSQuantity,
  kSDist01,  // ten columns, one a district
  kSDist10 = kSDist01 + 9,
  kSYtd,
  kSOrderCnt,
  kSRemoteCnt,
  kSData,
};

// customer by last and first name, orders by customer, new_order by its own key, since tables are hashed.
inline constexpr const char* kCustomerByName = "customer_by_name";
inline constexpr const char* kOrdersByCustomer = "orders_by_customer";
inline constexpr const char* kNewOrderByNumber = "new_order_by_number";

inline constexpr std::uint32_t kDistrictsPerWarehouse = 10;
inline constexpr std::uint32_t kMinOrderLines = 5;
inline constexpr std::uint32_t kMaxOrderLines = 15;
inline constexpr std::uint32_t kMaxCustomerData_bytes = 500;

// How much is loaded. The specification fixes all but the number of warehouses; smaller ones are for tests.
struct Scale {
  std::uint32_t warehouses = 1;
  std::uint32_t items = 100'000;
  std::uint32_t customers_per_district = 3'000;
  // The last three tenths of the initial orders are not delivered yet.
  std::uint32_t orders_per_district = 3'000;
};

}  // namespace namdb::workloads::tpcc

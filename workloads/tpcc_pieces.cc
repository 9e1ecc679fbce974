// How TPC-C's transactions may be chopped (DrTM §4). Warehouses, districts and customers have columns that
// never change: those are parts of their tables of their own.
#include "workloads/procedures.h"

namespace namdb::workloads {
namespace {

using procedure::Piece;

std::vector<Piece> new_order_pieces() {
  return {
      {.name = "warehouse", .reads = {"warehouse.terms"}, .aborts = true},
      {.name = "district", .reads = {"district.terms"}, .writes = {"district.next_order"}, .aborts = true},
      {.name = "customer", .reads = {"customer.terms"}, .aborts = true},
      // Clause 2.4.1.4: one order in a hundred ends here.
      {.name = "item", .reads = {"item"}, .aborts = true},
      {.name = "stock", .writes = {"stock"}, .needs = {"item"}, .aborts = true},
      {.name = "order",
       .writes = {"orders", "new_order", "order_line"},
       .needs = {"warehouse", "district", "customer", "item", "stock"}},
  };
}

std::vector<Piece> payment_pieces() {
  return {
      {.name = "place", .reads = {"warehouse.terms", "district.terms"}, .aborts = true},
      {.name = "warehouse", .commutes = {"warehouse.year_to_date"}},
      {.name = "district", .commutes = {"district.year_to_date"}},
      {.name = "customer", .reads = {"customer.terms"}, .writes = {"customer.account"}, .aborts = true},
      // Its key counts the customer's payments.
      {.name = "history", .commutes = {"history"}, .needs = {"place", "customer"}},
  };
}

std::vector<Piece> order_status_pieces() {
  return {{.name = "status",
           .reads = {"customer.terms", "customer.account", "orders", "order_line"},
           .aborts = true}};
}

std::vector<Piece> delivery_pieces() {
  return {
      {.name = "due", .writes = {"new_order"}, .aborts = true},
      {.name = "orders", .writes = {"orders"}, .needs = {"due"}, .aborts = true},
      {.name = "lines", .writes = {"order_line"}, .needs = {"orders"}, .aborts = true},
      {.name = "customers", .commutes = {"customer.account"}, .needs = {"lines"}, .aborts = true},
  };
}

std::vector<Piece> stock_level_pieces() {
  return {
      {.name = "level", .reads = {"district.next_order", "orders", "order_line", "stock"}, .aborts = true}};
}

}  // namespace

void declare_tpcc_pieces(procedure::Choppings& choppings) {
  choppings.add({"tpcc_new_order", new_order_pieces()});
  choppings.add({"tpcc_payment", payment_pieces()});
  choppings.add({"tpcc_payment_by_name", payment_pieces()});
  choppings.add({"tpcc_order_status", order_status_pieces()});
  choppings.add({"tpcc_order_status_by_name", order_status_pieces()});
  choppings.add({"tpcc_delivery", delivery_pieces()});
  choppings.add({"tpcc_stock_level", stock_level_pieces()});
}

}  // namespace namdb::workloads

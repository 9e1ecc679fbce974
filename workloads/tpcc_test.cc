#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "common/layout/record.h"

#include "workloads/procedures.h"
#include "workloads/testing/memory_database.h"
#include "workloads/tpcc_order_items.h"
#include "workloads/tpcc_schema.h"
#include "workloads/tpcc_workload.h"

using namespace namdb;
using namespace namdb::workloads;
using namespace namdb::workloads::tpcc;

namespace {

struct Shop {
  Shop() : workload(std::move(make_tpcc(options())).value()) {
    register_tpcc(database);
    declare_tpcc_pieces(database.pieces());
    database.load(*workload);
  }
  static TpccOptions options() {
    TpccOptions options;
    options.scale = {.warehouses = 2, .items = 50, .customers_per_district = 12, .orders_per_district = 10};
    options.remote_item = 0.2;
    options.invalid_item = 0.1;
    return options;
  }
  void check_consistent() const {
    for (const Check& check : workload->checks()) {
      INFO(check.name);
      CHECK(database.value(*workload, check) == 0);
    }
    const auto findings = database.row_findings(*workload);
    CHECK(findings.size() == 12);
    for (const RowCheck::Finding& finding : findings) {
      INFO(finding.name << ": " << finding.detail);
      CHECK(finding.detail.empty());
    }
  }
  // The customers of a district that have the name, by first name.
  std::vector<std::int64_t> namesakes(std::int64_t warehouse, std::int64_t district, std::string_view last) {
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (std::int64_t customer = 1; customer <= 12; ++customer) {
      const layout::RowView row = database.find("customer", {warehouse, district, customer})->view();
      if (row.text(kCLast) == last) found.emplace_back(row.text(kCFirst), customer);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::int64_t> customers;
    for (const auto& [first, customer] : found) customers.push_back(customer);
    return customers;
  }
  testing::MemoryDatabase::Outcome new_order(std::int64_t warehouse, std::int64_t district,
                                             std::int64_t customer, std::string items) {
    return database.run("tpcc_new_order", {warehouse, district, customer, std::move(items)});
  }

  std::unique_ptr<Workload> workload;
  testing::MemoryDatabase database;
};

}  // namespace

TEST_CASE("TPC-C's tables are the specification's nine, each row within a record") {
  CHECK(tpcc::tables().size() == 9);
  std::size_t columns = 0;
  for (const TableSpec& table : tpcc::tables()) {
    columns += table.columns.size();
    CHECK(table.schema().row_bytes() <= layout::kMaxPayload_bytes);
  }
  // The specification's 92 and history's payment count.
  CHECK(columns == 93);
}

TEST_CASE("a fresh TPC-C population is consistent and as large as its scale says") {
  const Shop shop;
  CHECK(shop.database.row_count("warehouse") == 2);
  CHECK(shop.database.row_count("district") == 20);
  CHECK(shop.database.row_count("customer") == 240);
  CHECK(shop.database.row_count("history") == 240);
  CHECK(shop.database.row_count("orders") == 200);
  CHECK(shop.database.row_count("new_order") == 60);
  CHECK(shop.database.row_count("item") == 50);
  CHECK(shop.database.row_count("stock") == 100);
  shop.check_consistent();
}

TEST_CASE("new_order in two fetches: numbers the order, takes from stock, adds lines and total") {
  Shop shop;
  const layout::RowView stock7 = shop.database.find("stock", {1, 7})->view();
  const std::int64_t quantity = stock7.integer(kSQuantity);
  const std::int64_t price7 = shop.database.find("item", {7})->view().integer(kIPrice);
  const std::int64_t price9 = shop.database.find("item", {9})->view().integer(kIPrice);
  const auto outcome = shop.new_order(1, 3, 5, "7:1:4,9:2:2");
  REQUIRE(outcome.status.ok());
  CHECK(outcome.fetches == 2);
  CHECK(std::get<std::int64_t>(outcome.results[0]) == 11);
  const layout::RowView district = shop.database.find("district", {1, 3})->view();
  CHECK(district.integer(kDNextOId) == 12);

  const layout::Row* order = shop.database.find("orders", {1, 3, 11});
  REQUIRE(order != nullptr);
  CHECK(order->view().integer(kOCId) == 5);
  CHECK(order->view().integer(kOOlCnt) == 2);
  CHECK(order->view().integer(kOAllLocal) == 0);
  CHECK(order->view().is_null(kOCarrierId));
  CHECK(shop.database.find("new_order", {1, 3, 11}) != nullptr);
  const layout::Row* line = shop.database.find("order_line", {1, 3, 11, 1});
  REQUIRE(line != nullptr);
  CHECK(line->view().integer(kOlAmount) == 4 * price7);
  CHECK(line->view().is_null(kOlDeliveryD));
  CHECK(line->view().text(kOlDistInfo) == shop.database.find("stock", {1, 7})->view().text(kSDist01 + 2));

  const layout::RowView after7 = shop.database.find("stock", {1, 7})->view();
  CHECK(after7.integer(kSQuantity) == (quantity - 4 < 10 ? quantity - 4 + 91 : quantity - 4));
  CHECK(after7.integer(kSYtd) == 4);
  CHECK(after7.integer(kSOrderCnt) == 1);
  CHECK(after7.integer(kSRemoteCnt) == 0);
  CHECK(shop.database.find("stock", {2, 9})->view().integer(kSRemoteCnt) == 1);

  const double discount = std::get<std::int64_t>(outcome.results[3]) / 1e4;
  const double taxes =
      (std::get<std::int64_t>(outcome.results[4]) + std::get<std::int64_t>(outcome.results[5])) / 1e4;
  const double total = (4 * price7 + 2 * price9) * (1 - discount) * (1 + taxes);
  CHECK(std::get<std::int64_t>(outcome.results[7]) == Approx(total).margin(1));
  shop.check_consistent();
}

TEST_CASE("one item in several lines of an order is taken from stock several times") {
  Shop shop;
  REQUIRE(shop.new_order(1, 1, 1, "7:1:1,7:1:2,7:1:3").status.ok());
  CHECK(shop.database.find("stock", {1, 7})->view().integer(kSYtd) == 6);
  CHECK(shop.database.find("stock", {1, 7})->view().integer(kSOrderCnt) == 3);
}

TEST_CASE("an order with an unused item number is rolled back with the specification's message") {
  Shop shop;
  const auto outcome = shop.new_order(1, 3, 5, "7:1:4,51:1:2");
  REQUIRE_FALSE(outcome.status.ok());
  CHECK(outcome.status.code() == ErrorCode::procedure_abort);
  CHECK(outcome.status.message() == "Item number is not valid");
  CHECK(shop.database.find("district", {1, 3})->view().integer(kDNextOId) == 11);
  CHECK(shop.database.find("stock", {1, 7})->view().integer(kSYtd) == 0);
}

TEST_CASE("payment notes the money in warehouse, district, customer and history") {
  Shop shop;
  const layout::Row warehouse = *shop.database.find("warehouse", {2});
  const layout::Row customer = *shop.database.find("customer", {1, 4, 6});
  const auto pay = [&] {
    return shop.database.run("tpcc_payment", {std::int64_t{2}, std::int64_t{3}, std::int64_t{1},
                                              std::int64_t{4}, std::int64_t{6}, std::int64_t{1234}});
  };
  const auto outcome = pay();
  REQUIRE(outcome.status.ok());
  CHECK(outcome.fetches == 2);
  CHECK(std::get<std::int64_t>(outcome.results[0]) == -1000 - 1234);
  CHECK(shop.database.find("warehouse", {2})->view().integer(kWYtd) ==
        warehouse.view().integer(kWYtd) + 1234);
  const layout::RowView after = shop.database.find("customer", {1, 4, 6})->view();
  CHECK(after.integer(kCBalance) == customer.view().integer(kCBalance) - 1234);
  CHECK(after.integer(kCYtdPayment) == customer.view().integer(kCYtdPayment) + 1234);
  CHECK(after.integer(kCPaymentCnt) == 2);
  const layout::Row* history = shop.database.find("history", {1, 4, 6, 2});
  REQUIRE(history != nullptr);
  CHECK(history->view().integer(kHAmount) == 1234);
  CHECK(history->view().integer(kHWId) == 2);
  REQUIRE(pay().status.ok());
  CHECK(shop.database.find("history", {1, 4, 6, 3}) != nullptr);
  shop.check_consistent();
}

TEST_CASE("a customer with bad credit has the payment noted in front of its data, cut to its length") {
  Shop shop;
  int bad = 0;
  for (std::int64_t customer = 1; customer <= 12; ++customer) {
    const layout::Row before = *shop.database.find("customer", {1, 1, customer});
    REQUIRE(shop.database
                .run("tpcc_payment", {std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{1},
                                      customer, std::int64_t{500}})
                .status.ok());
    const layout::RowView after = shop.database.find("customer", {1, 1, customer})->view();
    std::string expected(before.view().text(kCData));
    if (before.view().text(kCCredit) == "BC") {
      ++bad;
      expected = std::to_string(customer) + " 1 1 1 1 500 " + expected;
      expected.resize(std::min<std::size_t>(expected.size(), kMaxCustomerData_bytes));
    }
    CHECK(after.text(kCData) == expected);
  }
  CHECK(bad > 0);
}

TEST_CASE("a customer by last name is the one in the middle of those with that name, rounded up") {
  Shop shop;
  // Three of one name, in an order of first names that is not that of their numbers.
  const std::vector<std::pair<std::int64_t, std::string>> names = {{3, "Cecil"}, {7, "Amy"}, {9, "Bert"}};
  for (const auto& [customer, first] : names) {
    layout::RowWriter row = shop.database.find("customer", {1, 4, customer})->writer();
    REQUIRE(row.set_text(kCLast, "SAME").ok());
    REQUIRE(row.set_text(kCFirst, first).ok());
  }
  REQUIRE(shop.namesakes(1, 4, "SAME") == std::vector<std::int64_t>{7, 9, 3});
  const auto outcome =
      shop.database.run("tpcc_payment_by_name", {std::int64_t{1}, std::int64_t{1}, std::int64_t{1},
                                                 std::int64_t{4}, std::string("SAME"), std::int64_t{500}});
  REQUIRE(outcome.status.ok());
  CHECK(std::get<std::int64_t>(outcome.results[3]) == 9);
  CHECK(shop.database.find("history", {1, 4, 9, 2})->view().integer(kHAmount) == 500);
  CHECK(shop.database.find("customer", {1, 4, 9})->view().integer(kCPaymentCnt) == 2);
  const auto nobody =
      shop.database.run("tpcc_payment_by_name", {std::int64_t{1}, std::int64_t{1}, std::int64_t{1},
                                                 std::int64_t{4}, std::string("NOBODY"), std::int64_t{500}});
  CHECK(nobody.status.message() == "no such customer");
  shop.check_consistent();
}

TEST_CASE("order_status shows the customer's newest order and its lines") {
  Shop shop;
  REQUIRE(shop.new_order(1, 3, 5, "7:1:4,9:2:2").status.ok());
  const auto outcome =
      shop.database.run("tpcc_order_status", {std::int64_t{1}, std::int64_t{3}, std::int64_t{5}});
  REQUIRE(outcome.status.ok());
  CHECK(std::get<std::int64_t>(outcome.results[5]) == 11);
  CHECK(std::holds_alternative<std::monostate>(outcome.results[7]));
  const std::string lines = std::get<std::string>(outcome.results[8]);
  const std::int64_t price7 = shop.database.find("item", {7})->view().integer(kIPrice);
  CHECK(lines.starts_with("7:1:4:" + std::to_string(4 * price7) + ":no,9:2:2:"));
  const std::string last(shop.database.find("customer", {1, 3, 5})->view().text(kCLast));
  const auto by_name =
      shop.database.run("tpcc_order_status_by_name", {std::int64_t{1}, std::int64_t{3}, last});
  REQUIRE(by_name.status.ok());
  const auto namesakes = shop.namesakes(1, 3, last);
  CHECK(std::get<std::int64_t>(by_name.results[0]) == namesakes[(namesakes.size() + 1) / 2 - 1]);
}

TEST_CASE("delivery takes the oldest new order of each district and bills its customer") {
  Shop shop;
  const std::int64_t customer = shop.database.find("orders", {1, 2, 8})->view().integer(kOCId);
  const std::int64_t balance = shop.database.find("customer", {1, 2, customer})->view().integer(kCBalance);
  std::int64_t amount = 0;
  const std::int64_t lines = shop.database.find("orders", {1, 2, 8})->view().integer(kOOlCnt);
  for (std::int64_t line = 1; line <= lines; ++line)
    amount += shop.database.find("order_line", {1, 2, 8, line})->view().integer(kOlAmount);
  CHECK(amount > 0);
  const auto deliver = [&] { return shop.database.run("tpcc_delivery", {std::int64_t{1}, std::int64_t{7}}); };
  const auto outcome = deliver();
  REQUIRE(outcome.status.ok());
  CHECK(std::get<std::int64_t>(outcome.results[0]) == 10);
  CHECK(shop.database.find("new_order", {1, 2, 8}) == nullptr);
  CHECK(shop.database.find("new_order", {1, 2, 9}) != nullptr);
  CHECK(shop.database.find("orders", {1, 2, 8})->view().integer(kOCarrierId) == 7);
  CHECK_FALSE(shop.database.find("order_line", {1, 2, 8, 1})->view().is_null(kOlDeliveryD));
  const layout::RowView after = shop.database.find("customer", {1, 2, customer})->view();
  CHECK(after.integer(kCBalance) == balance + amount);
  CHECK(after.integer(kCDeliveryCnt) == 1);
  shop.check_consistent();
  REQUIRE(deliver().status.ok());
  REQUIRE(deliver().status.ok());
  const auto nothing_left = deliver();
  REQUIRE(nothing_left.status.ok());
  CHECK(std::get<std::int64_t>(nothing_left.results[0]) == 0);
  CHECK(std::get<std::int64_t>(nothing_left.results[1]) == 10);
  shop.check_consistent();
}

TEST_CASE("stock_level counts the distinct items of the last twenty orders that are short, in four fetches") {
  Shop shop;
  std::set<std::int64_t> items;
  for (std::int64_t order = 1; order <= 10; ++order) {
    const std::int64_t lines = shop.database.find("orders", {1, 2, order})->view().integer(kOOlCnt);
    for (std::int64_t line = 1; line <= lines; ++line)
      items.insert(shop.database.find("order_line", {1, 2, order, line})->view().integer(kOlIId));
  }
  std::int64_t low = 0;
  for (const std::int64_t item : items)
    low += shop.database.find("stock", {1, item})->view().integer(kSQuantity) < 55 ? 1 : 0;
  CHECK(low > 0);
  const auto outcome =
      shop.database.run("tpcc_stock_level", {std::int64_t{1}, std::int64_t{2}, std::int64_t{55}});
  REQUIRE(outcome.status.ok());
  CHECK(outcome.fetches == 4);
  CHECK(std::get<std::int64_t>(outcome.results[0]) == low);
}

TEST_CASE("each consistency condition is found broken when one value of what it speaks of is changed") {
  struct Damage {
    std::vector<std::size_t> conditions;  // that must say so
    const char* table;
    std::vector<std::int64_t> key;
    std::uint32_t column;
  };
  const std::vector<Damage> damages = {
      {{1, 8}, "warehouse", {1}, kWYtd},
      {{1, 9}, "district", {1, 3}, kDYtd},
      {{2}, "district", {1, 3}, kDNextOId},
      {{3, 5}, "new_order", {1, 3, 9}, kNoOId},
      {{4, 6}, "orders", {1, 3, 2}, kOOlCnt},
      {{8, 9, 10}, "history", {1, 3, 2, 1}, kHAmount},
      {{10, 12}, "customer", {1, 3, 2}, kCBalance},
      {{12}, "customer", {1, 3, 2}, kCYtdPayment},
      {{11}, "customer", {1, 3, 2}, kCDeliveryCnt},
  };
  for (const Damage& damage : damages) {
    Shop shop;
    layout::Row* const row = shop.database.find(damage.table, damage.key);
    REQUIRE(row != nullptr);
    REQUIRE(row->writer().set_integer(damage.column, row->view().integer(damage.column) + 100).ok());
    const auto findings = shop.database.row_findings(*shop.workload);
    for (const std::size_t condition : damage.conditions) {
      INFO(damage.table << " column " << damage.column << ", condition " << condition);
      CHECK_FALSE(findings[condition - 1].detail.empty());
    }
  }
  Shop shop;  // a line that was delivered before its order
  REQUIRE(shop.database.find("order_line", {1, 3, 9, 1})->writer().set_integer(kOlDeliveryD, 1).ok());
  CHECK_FALSE(shop.database.row_findings(*shop.workload)[6].detail.empty());
}

TEST_CASE("TPC-C's procedures refuse what names nothing") {
  Shop shop;
  const std::vector<std::pair<std::string, std::string>> bad_items = {
      {"", "items"},
      {"7", "items"},
      {"7:1", "items"},
      {"7:1:", "items"},
      {"7:1:1,", "items"},
      {"7:1:1;8:1:1", "items"},
      {"-7:1:1", "items"},
      {"99999999999:1:1", "items"},
      {"7:9:1", "no such supplying warehouse"}};
  for (const auto& [items, message] : bad_items) {
    const Status status = shop.new_order(1, 1, 1, items).status;
    REQUIRE_FALSE(status.ok());
    CHECK(status.message().find(message) != std::string::npos);
  }
  CHECK_FALSE(shop.new_order(3, 1, 1, "7:1:1").status.ok());
  CHECK_FALSE(shop.new_order(1, 11, 1, "7:1:1").status.ok());
  CHECK_FALSE(shop.new_order(1, 0, 1, "7:1:1").status.ok());
  CHECK_FALSE(shop.new_order(1, 1, 13, "7:1:1").status.ok());
  std::string sixteen = "7:1:1";
  for (int i = 0; i < 15; ++i) sixteen += ",7:1:1";
  CHECK_FALSE(shop.new_order(1, 1, 1, sixteen).status.ok());
  CHECK_FALSE(
      shop.database.run("tpcc_new_order", {std::int64_t{1}, {}, std::int64_t{1}, "7:1:1"}).status.ok());
  CHECK_FALSE(shop.database
                  .run("tpcc_payment", {std::int64_t{1}, std::int64_t{1}, std::int64_t{1}, std::int64_t{1},
                                        std::int64_t{13}, std::int64_t{1}})
                  .status.ok());
  shop.check_consistent();
}

TEST_CASE("a mix of TPC-C calls keeps the database consistent and rolls some orders back") {
  Shop shop;
  int rolled_back = 0;
  for (std::uint64_t client = 0; client < 2; ++client) {
    const std::unique_ptr<CallSource> source = shop.workload->open_client(client, 2);
    Call call;
    for (int i = 0; i < 1000; ++i) {
      source->next(call);
      const Status status =
          shop.database.run(shop.workload->transactions()[call.type].procedure, call.arguments).status;
      if (status.ok()) continue;
      CHECK(status.message() == "Item number is not valid");
      ++rolled_back;
    }
  }
  CHECK(rolled_back > 30);
  CHECK(rolled_back < 200);
  shop.check_consistent();
}

TEST_CASE("item lists survive being written and parsed") {
  OrderItems items;
  for (std::int32_t i = 1; i <= 15; ++i) items.add({i * 1000, i, 16 - i});
  const std::optional<OrderItems> parsed = OrderItems::parse(items.to_text());
  REQUIRE(parsed.has_value());
  REQUIRE(parsed->lines().size() == 15);
  for (std::size_t i = 0; i < 15; ++i) {
    CHECK(parsed->lines()[i].item == items.lines()[i].item);
    CHECK(parsed->lines()[i].supply_warehouse == items.lines()[i].supply_warehouse);
    CHECK(parsed->lines()[i].quantity == items.lines()[i].quantity);
  }
}

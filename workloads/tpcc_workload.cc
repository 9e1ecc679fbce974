#include "workloads/tpcc_workload.h"

#include <algorithm>
#include <utility>

#include "common/layout/placement.h"
#include "workloads/generators/text.h"
#include "workloads/tpcc_conditions.h"
#include "workloads/tpcc_order_items.h"
#include "workloads/tpcc_rows.h"

namespace namdb::workloads {
namespace {

using namespace tpcc;

// NURand's constants for a run (clause 2.1.6.1 wants them within a window of those at load time).
constexpr std::uint64_t kCustomerConstant = 259;
constexpr std::uint64_t kItemConstant = 7911;

enum TypeIndex : std::size_t {
  kNewOrderType,
  kPaymentType,
  kPaymentByNameType,
  kOrderStatusType,
  kOrderStatusByNameType,
  kDeliveryType,
  kStockLevelType,
};
// NURand's constant for last names: its distance from the one at load time is within clause 2.1.6.1's window.
constexpr std::uint64_t kLastNameRunConstant = kLastNameConstant + 86;

class TpccRowCheck : public RowCheck {
 public:
  explicit TpccRowCheck(const Scale& scale) : conditions_(scale) {}
  void add(std::size_t table, const layout::RowView& row) override { conditions_.add(table, row); }
  std::vector<Finding> findings() override {
    std::vector<Finding> findings;
    for (const std::string& detail : conditions_.check()) {
      findings.push_back({"consistency condition " + std::to_string(findings.size() + 1), detail});
    }
    return findings;
  }

 private:
  Conditions conditions_;
};

class Tpcc : public Workload {
 public:
  explicit Tpcc(const TpccOptions& options) : Workload(options.seed), options_(options) {
    const std::span<const TableSpec> specs = options.by_warehouse ? tables_by_warehouse() : tpcc::tables();
    for (std::size_t table = 0; table < specs.size(); ++table) {
      // Room for orders that a run adds; a table that outgrows its hint keeps working.
      const bool grows = table == kHistory || table == kNewOrder || table == kOrders || table == kOrderLine;
      add_table(specs[table], expected_rows(options.scale, table) * (grows ? 2 : 1),
                unit_count(options.scale, table));
    }
    add_checks();
  }

  Status choose_mix(const Mix& mix) {
    const double by_name = options_.by_last_name;
    return set_mix({{"new_order", "tpcc_new_order", 45},
                    {"payment", "tpcc_payment", 43 * (1 - by_name)},
                    {"payment_by_name", "tpcc_payment_by_name", 43 * by_name},
                    {"order_status", "tpcc_order_status", 4 * (1 - by_name)},
                    {"order_status_by_name", "tpcc_order_status_by_name", 4 * by_name},
                    {"delivery", "tpcc_delivery", 4},
                    {"stock_level", "tpcc_stock_level", 4}},
                   mix);
  }

  std::string_view name() const override { return "tpcc"; }
  std::string population() const override {
    return std::to_string(options_.scale.warehouses) + " warehouses of " +
           std::to_string(options_.scale.items) + " items and " +
           std::to_string(options_.scale.customers_per_district) + " customers a district";
  }

  void make_rows(std::size_t table, std::uint64_t unit, std::vector<layout::Row>& rows) const override {
    // Orders and their lines draw from the same generator: the first draw is the number of lines.
    const std::size_t purpose = table == kOrderLine ? std::size_t{kOrders} : table;
    tpcc::make_rows(options_.scale, tables_[table].schema, table, unit, random_for(purpose, unit), rows);
  }

  std::unique_ptr<CallSource> open_client(std::uint64_t client, std::uint64_t clients) const override;
  std::optional<std::int64_t> partition_of(std::uint64_t client) const override { return home_of(client); }
  std::unique_ptr<RowCheck> open_row_check() const override {
    return std::make_unique<TpccRowCheck>(options_.scale);
  }
  void next(Random& random, std::uint32_t home, Call& call) const;
  bool all_have_distant_warehouses() const {
    for (std::uint32_t warehouse = 2; warehouse <= options_.scale.warehouses; ++warehouse) {
      if (server_of(warehouse) != server_of(1)) return true;
    }
    return false;
  }

 private:
  void add_checks() {
    // Clause 3.3.2's consistency conditions, summed over all districts.
    checks_.push_back(
        {"order numbers and orders agree",
         {{1, kDistrict, kDNextOId}, {-1, kDistrict, std::nullopt}, {-1, kOrders, std::nullopt}},
         false});
    checks_.push_back({"warehouses and districts received the same",
                       {{1, kWarehouse, kWYtd}, {-1, kDistrict, kDYtd}},
                       false});
    checks_.push_back({"warehouses and history received the same",
                       {{1, kWarehouse, kWYtd}, {-1, kHistory, kHAmount}},
                       false});
    checks_.push_back({"orders have as many lines as they say",
                       {{1, kOrders, kOOlCnt}, {-1, kOrderLine, std::nullopt}},
                       false});
  }

  std::uint32_t other_warehouse(Random& random, std::uint32_t home) const {
    const std::uint32_t count = options_.scale.warehouses;
    return (home - 1 + 1 + static_cast<std::uint32_t>(random.below(count - 1))) % count + 1;
  }
  // A terminal belongs to one warehouse (clause 2.4.1.1).
  std::uint32_t home_of(std::uint64_t client) const {
    return static_cast<std::uint32_t>(client % options_.scale.warehouses + 1);
  }
  std::uint64_t server_of(std::uint32_t warehouse) const {
    return layout::partition_server(layout::partition_hash(std::int64_t{warehouse}), options_.memory_servers);
  }
  // A warehouse on another memory server.
  std::uint32_t distant_warehouse(Random& random, std::uint32_t home) const {
    while (true) {
      const std::uint32_t warehouse = other_warehouse(random, home);
      if (server_of(warehouse) != server_of(home)) return warehouse;
    }
  }
  std::int64_t customer(Random& random) const {
    return static_cast<std::int64_t>(
        non_uniform(random, 1023, kCustomerConstant, 1, options_.scale.customers_per_district));
  }
  // A name that a customer of each district has (clause 4.3.2.3).
  std::string customer_name(Random& random) const {
    const std::uint64_t names = std::min<std::uint64_t>(options_.scale.customers_per_district, 1000);
    return last_name(
        static_cast<std::uint32_t>(non_uniform(random, 255, kLastNameRunConstant, 0, names - 1)));
  }
  void new_order(Random& random, std::uint32_t home, Call& call) const;
  void payment(Random& random, std::uint32_t home, bool by_name, Call& call) const;

  TpccOptions options_;
};

class TpccCalls : public CallSource {
 public:
  TpccCalls(const Tpcc& tpcc, Random random, std::uint32_t home)
      : tpcc_(tpcc), random_(random), home_(home) {}
  void next(Call& call) override { tpcc_.next(random_, home_, call); }

 private:
  const Tpcc& tpcc_;
  Random random_;
  std::uint32_t home_;
};

std::unique_ptr<CallSource> Tpcc::open_client(std::uint64_t client, std::uint64_t) const {
  return std::make_unique<TpccCalls>(*this, random_for(1000, client), home_of(client));
}

void Tpcc::next(Random& random, std::uint32_t home, Call& call) const {
  call.type = draw_type(random);
  call.arguments.clear();
  const auto district = [&] { return static_cast<std::int64_t>(random.between(1, kDistrictsPerWarehouse)); };
  switch (call.type) {
    case kNewOrderType:
      return new_order(random, home, call);
    case kPaymentType:
    case kPaymentByNameType:
      return payment(random, home, call.type == kPaymentByNameType, call);
    case kOrderStatusType:
      call.arguments = {std::int64_t{home}, district(), customer(random)};
      return;
    case kOrderStatusByNameType:
      call.arguments = {std::int64_t{home}, district(), customer_name(random)};
      return;
    case kDeliveryType:
      call.arguments = {std::int64_t{home}, static_cast<std::int64_t>(random.between(1, 10))};
      return;
    default:
      // A terminal's own district (clause 2.8.1.1).
      call.arguments = {std::int64_t{home}, district(), static_cast<std::int64_t>(random.between(10, 20))};
  }
}

void Tpcc::new_order(Random& random, std::uint32_t home, Call& call) const {
  const auto district = static_cast<std::int64_t>(random.between(1, kDistrictsPerWarehouse));
  const std::int64_t customer_id = customer(random);
  const std::uint64_t count = random.between(kMinOrderLines, kMaxOrderLines);
  const bool invalid = random.chance(options_.invalid_item);
  std::optional<std::uint32_t> supplier;  // of all goods
  if (options_.distribution) {
    supplier = random.chance(*options_.distribution) ? distant_warehouse(random, home) : home;
  }
  OrderItems items;
  for (std::uint64_t i = 0; i < count; ++i) {
    OrderItem line;
    line.item = static_cast<std::int32_t>(non_uniform(random, 8191, kItemConstant, 1, options_.scale.items));
    line.supply_warehouse = static_cast<std::int32_t>(supplier.value_or(home));
    if (!supplier && options_.scale.warehouses > 1 && random.chance(options_.remote_item)) {
      line.supply_warehouse = static_cast<std::int32_t>(other_warehouse(random, home));
    }
    line.quantity = static_cast<std::int32_t>(random.between(1, 10));
    if (invalid && i + 1 == count) line.item = static_cast<std::int32_t>(options_.scale.items) + 1;
    items.add(line);
  }
  call.arguments.emplace_back(std::int64_t{home});
  call.arguments.emplace_back(district);
  call.arguments.emplace_back(customer_id);
  call.arguments.emplace_back(items.to_text());
}

void Tpcc::payment(Random& random, std::uint32_t home, bool by_name, Call& call) const {
  const auto district = static_cast<std::int64_t>(random.between(1, kDistrictsPerWarehouse));
  std::int64_t customer_warehouse = home;
  std::int64_t customer_district = district;
  if (options_.scale.warehouses > 1 && random.chance(options_.remote_payment)) {
    customer_warehouse = other_warehouse(random, home);
    customer_district = static_cast<std::int64_t>(random.between(1, kDistrictsPerWarehouse));
  }
  call.arguments.emplace_back(std::int64_t{home});
  call.arguments.emplace_back(district);
  call.arguments.emplace_back(customer_warehouse);
  call.arguments.emplace_back(customer_district);
  if (by_name) {
    call.arguments.emplace_back(customer_name(random));
  } else {
    call.arguments.emplace_back(customer(random));
  }
  call.arguments.emplace_back(static_cast<std::int64_t>(random.between(1'00, 5'000'00)));
}

}  // namespace

Result<std::unique_ptr<Workload>> make_tpcc(const TpccOptions& options) {
  const auto invalid = [](std::string message) {
    return Status(ErrorCode::invalid_parameter_value, std::move(message));
  };
  const Scale& scale = options.scale;
  if (scale.warehouses < 1 || scale.items < 1 || scale.customers_per_district < 1) {
    return invalid("tpcc needs at least one warehouse, item and customer");
  }
  if (scale.warehouses > 100'000 || scale.items > 100'000'000 || scale.customers_per_district > 1'000'000 ||
      scale.orders_per_district > 1'000'000) {
    return invalid("tpcc's columns cannot number so many warehouses, items, customers or orders");
  }
  for (const double share :
       {options.remote_item, options.remote_payment, options.invalid_item, options.by_last_name}) {
    if (!(share >= 0 && share <= 1)) return invalid("a share is between 0 and 1");
  }
  if (options.distribution && !(*options.distribution >= 0 && *options.distribution <= 1)) {
    return invalid("a share is between 0 and 1");
  }
  auto tpcc = std::make_unique<Tpcc>(options);
  if (options.distribution && !tpcc->all_have_distant_warehouses()) {
    return invalid("every warehouse needs another one on another memory server; there are " +
                   std::to_string(scale.warehouses) + " warehouses and " +
                   std::to_string(options.memory_servers) + " memory servers");
  }
  if (Status status = tpcc->choose_mix(options.mix); !status.ok()) return status;
  return std::unique_ptr<Workload>(std::move(tpcc));
}

}  // namespace namdb::workloads

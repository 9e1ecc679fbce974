// The workloads' own checks bite: they find the effects of a broken protocol and of a wrong procedure.
#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/namsim/mutants/mutants.h"
#include "tools/namsim/workloads/ledger.h"
#include "tools/namsim/workloads/tpcc_conditions.h"
#include "workloads/tpcc_rows.h"

namespace namdb::sim {
namespace {

std::unique_ptr<Mutant> make(std::string_view name) {
  const std::vector<MutantCase> mutants = all_mutants();
  const auto found = std::ranges::find_if(mutants, [name](const auto& one) { return one.name == name; });
  REQUIRE(found != mutants.end());
  return found->make();
}

// The message of the first seed that fails in this way with the mutant; empty if none of a hundred does.
std::string anomaly_with(std::string_view mutant, const char* workload, std::string_view finding) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto interposer = make(mutant);
    Scenario scenario = Scenario::of_seed(seed, workload);
    scenario.cluster.interposer = interposer.get();
    Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
    if (!verdict.anomaly.empty() && verdict.anomaly.find(finding) != std::string::npos)
      return verdict.anomaly;
  }
  return {};
}

}  // namespace

TEST_CASE("every workload that checks sums and structures sees locks that were not taken",
          "[mutants][workloads]") {
  struct Check {
    const char* workload;
    const char* finding;
  };
  for (const Check& check : {Check{"bank", "a snapshot shows the sum"}, Check{"churn", "its companion says"},
                             Check{"ring", "the ring"}, Check{"smallbank", "a snapshot shows all money"},
                             Check{"tpcc", "in a snapshot"}, Check{"schema", "lost update"}}) {
    INFO(check.workload);
    CHECK(anomaly_with("a lock that was not taken counts as taken", check.workload, check.finding) != "");
  }
}

TEST_CASE("every update of TPC-C's transactions that is lost breaks a consistency condition", "[tpcc]") {
  namespace tpcc = workloads::tpcc;
  const tpcc::Scale scale{.warehouses = 1, .items = 3, .customers_per_district = 2, .orders_per_district = 4};
  std::vector<layout::Schema> schemas;
  for (const workloads::TableSpec& spec : tpcc::tables()) schemas.push_back(spec.schema());
  TpccRows rows;
  for (std::size_t table = 0; table < rows.size(); ++table) {
    for (std::uint64_t unit = 0; unit < tpcc::unit_count(scale, table); ++unit)
      tpcc::make_rows(scale, schemas[table], table, unit, Random(unit), rows[table]);
  }
  const auto wrong = [&](const AcknowledgedOrders& orders = {}) {
    return check_tpcc(rows, scale, orders, 10);
  };
  REQUIRE(wrong() == "");
  struct Column {
    std::size_t table;
    std::uint32_t column;
  };
  for (const Column& lost :
       {Column{tpcc::kWarehouse, tpcc::kWYtd}, Column{tpcc::kDistrict, tpcc::kDYtd},
        Column{tpcc::kDistrict, tpcc::kDNextOId}, Column{tpcc::kOrders, tpcc::kOOlCnt},
        Column{tpcc::kCustomer, tpcc::kCBalance}, Column{tpcc::kCustomer, tpcc::kCPaymentCnt},
        Column{tpcc::kStock, tpcc::kSYtd}, Column{tpcc::kStock, tpcc::kSOrderCnt},
        Column{tpcc::kHistory, tpcc::kHAmount}}) {
    INFO(lost.table << " " << lost.column);
    layout::Row& row = rows[lost.table].front();
    const std::int64_t value = row.view().integer(lost.column);
    REQUIRE(row.writer().set_integer(lost.column, value + 1).ok());
    CHECK(wrong() != "");
    REQUIRE(row.writer().set_integer(lost.column, value).ok());
  }
  for (const std::size_t table : {tpcc::kHistory, tpcc::kNewOrder, tpcc::kOrders, tpcc::kOrderLine}) {
    INFO(table);
    const layout::Row row = rows[table].back();
    rows[table].pop_back();
    CHECK(wrong() != "");
    rows[table].push_back(row);
  }
  CHECK(wrong({{{1, 1, 5}, {.customer = 1, .lines = 2, .acknowledged_ns = 5}}}) != "");
  CHECK(wrong({{{1, 1, 5}, {.customer = 1, .lines = 2, .acknowledged_ns = 15}}}) == "");
}

TEST_CASE("a ledger knows what snapshots may show", "[ledger]") {
  Ledger ledger;
  ledger.open(1, 100);
  const auto sure = ledger.begin(10, {{{1, 5}, {2, -5}}});
  ledger.committed(sure, 20, {{1, 5}, {2, -5}});
  SECTION("an acknowledged change") {
    CHECK(ledger.check(1, 105, 30, 40) == "");
    CHECK(ledger.check(2, -5, 30, 40) == "");
    CHECK(ledger.check(1, 100, 30, 40) != "");
  }
  SECTION("a change at the same time: either") {
    CHECK(ledger.check(1, 100, 15, 40) == "");
    CHECK(ledger.check(1, 105, 15, 40) == "");
    CHECK(ledger.check(1, 103, 15, 40) != "");
  }
  SECTION("a change that began afterwards: not at all") {
    CHECK(ledger.check(1, 100, 1, 9) == "");
    CHECK(ledger.check(1, 105, 1, 9) != "");
  }
  SECTION("a change whose outcome nobody knows: any alternative or none") {
    ledger.begin(50, {{{1, 7}}, {{1, 9}}});
    for (const std::int64_t value : {105, 112, 114}) CHECK(ledger.check(1, value, 60, 70) == "");
    for (const std::int64_t value : {107, 121, 100}) CHECK(ledger.check(1, value, 60, 70) != "");
  }
  SECTION("an aborted change does not count") {
    ledger.aborted(ledger.begin(50, {{{1, 7}}}));
    CHECK(ledger.check(1, 105, 60, 70) == "");
    CHECK(ledger.check(1, 112, 60, 70) != "");
  }
  SECTION("after a restart only what was open is in doubt") {
    const auto open = ledger.begin(50, {{{1, 7}}});
    ledger.restart();
    ledger.committed(open, 60, {{1, 7}});
    CHECK(ledger.check(1, 100, 70, 80) == "");
    CHECK(ledger.check(1, 107, 70, 80) == "");
    CHECK(ledger.check(1, 105, 70, 80) != "");
  }
}

}  // namespace namdb::sim

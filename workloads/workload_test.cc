#include "workloads/workload.h"

#include <catch2/catch.hpp>
#include <functional>

#include "workloads/smallbank_workload.h"
#include "workloads/tatp_workload.h"
#include "workloads/tpcc_workload.h"
#include "workloads/ycsb_workload.h"

using namespace namdb;
using namespace namdb::workloads;

namespace {

std::vector<std::unique_ptr<Workload>> all_workloads(std::uint64_t seed) {
  std::vector<std::unique_ptr<Workload>> all;
  all.push_back(std::move(make_smallbank({.accounts = 100, .seed = seed})).value());
  all.push_back(std::move(make_tatp({.subscribers = 50, .seed = seed})).value());
  TpccOptions tpcc;
  tpcc.scale = {.warehouses = 1, .items = 20, .customers_per_district = 5, .orders_per_district = 5};
  tpcc.seed = seed;
  all.push_back(std::move(make_tpcc(tpcc)).value());
  all.push_back(std::move(make_ycsb({.records = 50, .seed = seed})).value());
  return all;
}

// All rows and the first calls of two clients, as bytes.
std::string fingerprint(const Workload& workload, bool backwards) {
  std::string bytes;
  for (std::size_t table = 0; table < workload.tables().size(); ++table) {
    const std::uint64_t units = workload.tables()[table].units;
    std::vector<std::string> parts(units);
    for (std::uint64_t i = 0; i < units; ++i) {
      const std::uint64_t unit = backwards ? units - 1 - i : i;
      std::vector<layout::Row> rows;
      workload.make_rows(table, unit, rows);
      for (const layout::Row& row : rows) {
        parts[unit].append(reinterpret_cast<const char*>(row.bytes().data()), row.bytes().size());
      }
    }
    for (const std::string& part : parts) bytes += part;
  }
  for (std::uint64_t client = 0; client < 2; ++client) {
    const std::unique_ptr<CallSource> source = workload.open_client(client, 2);
    Call call;
    for (int i = 0; i < 50; ++i) {
      source->next(call);
      bytes += std::to_string(call.type) + ':';
      for (const procedure::Value& value : call.arguments) {
        if (const auto* number = std::get_if<std::int64_t>(&value)) bytes += std::to_string(*number) + ' ';
        if (const auto* text = std::get_if<std::string>(&value)) bytes += *text + ' ';
      }
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("one seed makes the same rows and calls in any order; another seed makes others") {
  const auto first = all_workloads(1);
  const auto again = all_workloads(1);
  const auto other = all_workloads(2);
  for (std::size_t i = 0; i < first.size(); ++i) {
    INFO(first[i]->name());
    const std::string bytes = fingerprint(*first[i], false);
    CHECK(bytes == fingerprint(*again[i], true));
    CHECK(bytes != fingerprint(*other[i], false));
  }
}

TEST_CASE("a mix chooses transactions by weight and names that are not there are refused") {
  Result<Mix> mix = parse_mix("send_payment=3,balance=1");
  REQUIRE(mix.ok());
  const auto bank = std::move(make_smallbank({.accounts = 100, .mix = *mix})).value();
  const std::unique_ptr<CallSource> client = bank->open_client(0, 1);
  std::vector<int> counts(bank->transactions().size());
  Call call;
  for (int i = 0; i < 4000; ++i) {
    client->next(call);
    ++counts[call.type];
  }
  CHECK(counts[3] == Approx(3000).epsilon(0.05));
  CHECK(counts[1] + counts[3] == 4000);

  CHECK_FALSE(make_smallbank({.mix = {{"payment", 1.0}}}).ok());
  CHECK_FALSE(make_smallbank({.mix = {{"balance", 0.0}}}).ok());
  for (const char* text : {"balance", "balance=", "balance=x", "balance=-1", "balance=1x", "balance=nan"}) {
    INFO(text);
    CHECK_FALSE(parse_mix(text).ok());
  }
}

TEST_CASE("tables are printed as CREATE TABLE for namdb and for PostgreSQL") {
  const TableSpec table{"t",
                        {bigint_column("a"), varchar_column("b", 5), numeric_column("c", 4, 2),
                         timestamp_column("d"), char_column("e", 3)},
                        {0, 1},
                        2};
  CHECK(create_table_sql(table, 100, SqlDialect::namdb) ==
        "CREATE TABLE t (a bigint, b varchar(5), c numeric(4,2), d timestamp, e char(3), "
        "PRIMARY KEY (a, b)) WITH (size_hint=100, ring_versions=2)");
  CHECK(create_table_sql(table, 100, SqlDialect::postgresql) ==
        "CREATE UNLOGGED TABLE t (a bigint, b varchar(5), c numeric(4,2), d timestamp, e char(3), "
        "PRIMARY KEY (a, b))");
}

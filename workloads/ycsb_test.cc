#include <catch2/catch.hpp>
#include <set>

#include "workloads/procedures.h"
#include "workloads/testing/memory_database.h"
#include "workloads/ycsb_schema.h"
#include "workloads/ycsb_workload.h"

using namespace namdb;
using namespace namdb::workloads;

namespace {

struct Store {
  explicit Store(YcsbOptions options) : workload(std::move(make_ycsb(options)).value()) {
    register_ycsb(database);
    database.load(*workload);
  }
  testing::MemoryDatabase::Outcome call(std::string keys, std::int64_t mask, std::string value) {
    return database.run("ycsb_transaction", {std::move(keys), mask, std::move(value)});
  }
  std::string field(std::int64_t key, std::uint32_t field) const {
    return std::string(database.find("usertable", {key})->view().text(ycsb::kField0 + field));
  }
  std::unique_ptr<Workload> workload;
  testing::MemoryDatabase database;
};

YcsbOptions small() {
  return {.records = 20, .shape = {.fields = 3, .field_bytes = 8}};
}

}  // namespace

TEST_CASE("a YCSB transaction reads in one fetch and writes what its mask says") {
  Store store(small());
  const std::string untouched = store.field(7, 2);
  const auto outcome = store.call("3,5,7,9", 0b1010, "new");
  REQUIRE(outcome.status.ok());
  CHECK(outcome.fetches == 1);
  CHECK(store.field(5, 1) == "new");
  CHECK(store.field(9, 0) == "new");
  CHECK(store.field(7, 2) == untouched);
  CHECK(std::holds_alternative<std::int64_t>(outcome.results[0]));
}

TEST_CASE("YCSB's result depends on every field that is read") {
  Store store(small());
  const auto before = std::get<std::int64_t>(store.call("3,4", 0, "").results[0]);
  CHECK(std::get<std::int64_t>(store.call("3,4", 0, "").results[0]) == before);
  REQUIRE(store.call("0,4", 0b10, "changed").status.ok());
  CHECK(std::get<std::int64_t>(store.call("3,4", 0, "").results[0]) != before);
}

TEST_CASE("a YCSB transaction refuses malformed keys, missing records and long values") {
  Store store(small());
  for (const char* keys : {"", ",", "1,", ",1", "1;2", "x", "1,99999999999999999999", "20", "-1"}) {
    INFO(keys);
    const Status status = store.call(keys, 0, "").status;
    REQUIRE_FALSE(status.ok());
    CHECK(status.code() == ErrorCode::procedure_abort);
  }
  std::string many = "0";
  for (int i = 0; i < 63; ++i) many += ",0";
  CHECK(store.call(many, 0, "").status.ok());
  CHECK_FALSE(store.call(many + ",0", 0, "").status.ok());
  CHECK(store.call("1", 1, "123456789").status.code() == ErrorCode::string_too_long);
}

TEST_CASE("YCSB calls draw different keys and the asked-for share of reads") {
  const auto workload =
      std::move(make_ycsb({.records = 100, .reads = 0.25, .skew = {.zipf_theta = 0.9}})).value();
  const std::unique_ptr<CallSource> client = workload->open_client(0, 1);
  Call call;
  int writes = 0;
  for (int i = 0; i < 1000; ++i) {
    client->next(call);
    const std::string& keys = std::get<std::string>(call.arguments[0]);
    std::set<std::string> different;
    std::size_t at = 0;
    while (at <= keys.size()) {
      const std::size_t comma = std::min(keys.find(',', at), keys.size());
      different.insert(keys.substr(at, comma - at));
      at = comma + 1;
    }
    CHECK(different.size() == 10);
    writes += __builtin_popcountll(static_cast<std::uint64_t>(std::get<std::int64_t>(call.arguments[1])));
  }
  CHECK(writes == Approx(7500).epsilon(0.03));
}

TEST_CASE("options that make no workload are refused") {
  CHECK_FALSE(make_ycsb({.records = 5}).ok());
  CHECK_FALSE(make_ycsb({.operations = 65}).ok());
  CHECK_FALSE(make_ycsb({.operations = 0}).ok());
  CHECK_FALSE(make_ycsb({.reads = 1.5}).ok());
  CHECK_FALSE(make_ycsb({.shape = {.fields = 0}}).ok());
  CHECK_FALSE(make_ycsb({.shape = {.fields = 300, .field_bytes = 200}}).ok());
  CHECK_FALSE(make_ycsb({.shape = {.fields = 1000, .field_bytes = 1}}).ok());
}

#include "workloads/tatp_workload.h"

#include <catch2/catch.hpp>

#include "workloads/procedures.h"
#include "workloads/tatp_schema.h"
#include "workloads/testing/memory_database.h"

using namespace namdb;
using namespace namdb::workloads;
using namespace namdb::workloads::tatp;

namespace {

constexpr std::int64_t kSubscriberCount = 200;

struct Network {
  Network() : workload(std::move(make_tatp({.subscribers = kSubscriberCount})).value()) {
    register_tatp(database);
    database.load(*workload);
  }
  testing::MemoryDatabase::Outcome call(const std::string& name, std::vector<procedure::Value> arguments) {
    return database.run("tatp_" + name, std::move(arguments));
  }
  void check_refused(const std::string& name, std::vector<procedure::Value> arguments) {
    CHECK(call(name, std::move(arguments)).status.code() == ErrorCode::procedure_abort);
  }
  bool has(const char* table, std::vector<std::int64_t> key) const {
    return database.find(table, key) != nullptr;
  }
  // The first subscriber of whom that holds.
  template <typename Holds>
  std::int64_t subscriber_with(const Holds& holds) const {
    std::int64_t id = 1;
    while (id <= kSubscriberCount && !holds(id)) ++id;
    REQUIRE(id <= kSubscriberCount);
    return id;
  }

  std::unique_ptr<Workload> workload;
  testing::MemoryDatabase database;
};

procedure::Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("TATP's population has the specification's shares") {
  Network network;
  CHECK(network.database.row_count("subscriber") == kSubscriberCount);
  for (const char* table : {"access_info", "special_facility"}) {
    CHECK(network.database.row_count(table) > 2.2 * kSubscriberCount);
    CHECK(network.database.row_count(table) < 2.8 * kSubscriberCount);
  }
  CHECK(network.database.row_count("call_forwarding") > 3.2 * kSubscriberCount);
  CHECK(network.database.row_count("call_forwarding") < 4.3 * kSubscriberCount);
  for (const RowCheck::Finding& finding : network.database.row_findings(*network.workload)) {
    CHECK(finding.detail.empty());
  }
}

TEST_CASE("get_subscriber_data returns the whole row") {
  Network network;
  const auto outcome = network.call("get_subscriber_data", {number(7)});
  REQUIRE(outcome.status.ok());
  REQUIRE(outcome.results.size() == kSubscriberVlrLocation + 1);
  CHECK(std::get<std::int64_t>(outcome.results[kSubscriberId]) == 7);
  CHECK(std::get<std::string>(outcome.results[kSubscriberNumber]) == "000000000000007");
  const layout::RowView row = network.database.find("subscriber", {7})->view();
  for (std::uint32_t column = kSubscriberBit1; column <= kSubscriberVlrLocation; ++column)
    CHECK(std::get<std::int64_t>(outcome.results[column]) == row.integer(column));
  network.check_refused("get_subscriber_data", {number(kSubscriberCount + 1)});
  network.check_refused("get_subscriber_data", {procedure::Value()});
}

TEST_CASE("get_new_destination looks for a forwarding of an active facility that covers the hours") {
  Network network;
  const std::int64_t id = network.subscriber_with([&](std::int64_t i) {
    return network.has("special_facility", {i, 2}) && network.has("call_forwarding", {i, 2, 8});
  });
  layout::Row* const facility = network.database.find("special_facility", {id, 2});
  layout::Row* const forwarding = network.database.find("call_forwarding", {id, 2, 8});
  REQUIRE(forwarding->writer().set_integer(kForwardingEnd, 12).ok());
  if (layout::Row* const before = network.database.find("call_forwarding", {id, 2, 0}))
    REQUIRE(before->writer().set_integer(kForwardingEnd, 2).ok());
  REQUIRE(facility->writer().set_integer(kFacilityIsActive, 1).ok());
  const auto outcome = network.call("get_new_destination", {number(id), number(2), number(8), number(11)});
  REQUIRE(outcome.status.ok());
  CHECK(std::get<std::string>(outcome.results[0]) == forwarding->view().text(kForwardingNumber));
  CHECK(outcome.fetches == 1);
  network.check_refused("get_new_destination", {number(id), number(2), number(8), number(12)});
  network.check_refused("get_new_destination", {number(id), number(2), number(0), number(11)});
  REQUIRE(facility->writer().set_integer(kFacilityIsActive, 0).ok());
  network.check_refused("get_new_destination", {number(id), number(2), number(8), number(11)});
}

TEST_CASE("get_access_data returns the data of an access type that is there") {
  Network network;
  const std::int64_t with =
      network.subscriber_with([&](std::int64_t i) { return network.has("access_info", {i, 3}); });
  const auto outcome = network.call("get_access_data", {number(with), number(3)});
  REQUIRE(outcome.status.ok());
  const layout::RowView row = network.database.find("access_info", {with, 3})->view();
  CHECK(std::get<std::int64_t>(outcome.results[1]) == row.integer(kAccessData2));
  CHECK(std::get<std::string>(outcome.results[3]) == row.text(kAccessData4));
  const std::int64_t without =
      network.subscriber_with([&](std::int64_t i) { return !network.has("access_info", {i, 3}); });
  network.check_refused("get_access_data", {number(without), number(3)});
}

TEST_CASE("update_subscriber_data changes both rows or none") {
  Network network;
  const std::int64_t with =
      network.subscriber_with([&](std::int64_t i) { return network.has("special_facility", {i, 4}); });
  const std::int64_t bit = 1 - network.database.find("subscriber", {with})->view().integer(kSubscriberBit1);
  REQUIRE(
      network.call("update_subscriber_data", {number(with), number(bit), number(4), number(77)}).status.ok());
  CHECK(network.database.find("subscriber", {with})->view().integer(kSubscriberBit1) == bit);
  CHECK(network.database.find("special_facility", {with, 4})->view().integer(kFacilityDataA) == 77);
  const std::int64_t without =
      network.subscriber_with([&](std::int64_t i) { return !network.has("special_facility", {i, 4}); });
  const std::int64_t before = network.database.find("subscriber", {without})->view().integer(kSubscriberBit1);
  network.check_refused("update_subscriber_data",
                        {number(without), number(1 - before), number(4), number(77)});
  CHECK(network.database.find("subscriber", {without})->view().integer(kSubscriberBit1) == before);
}

TEST_CASE("subscribers are found by number: locations, and forwardings that come and go") {
  Network network;
  REQUIRE(network.call("update_location", {subscriber_number(9), number(0xffff'ffff)}).status.ok());
  CHECK(network.database.find("subscriber", {9})->view().integer(kSubscriberVlrLocation) == 0xffff'ffff);
  network.check_refused("update_location", {std::string("123"), number(1)});

  const std::int64_t id = network.subscriber_with([&](std::int64_t i) {
    return network.has("special_facility", {i, 1}) && !network.has("call_forwarding", {i, 1, 16});
  });
  const std::vector<procedure::Value> row{subscriber_number(id), number(1), number(16), number(20),
                                          std::string("123456789012345")};
  const std::vector<procedure::Value> key(row.begin(), row.begin() + 3);
  network.check_refused("delete_call_forwarding", key);
  REQUIRE(network.call("insert_call_forwarding", row).status.ok());
  CHECK(network.database.find("call_forwarding", {id, 1, 16})->view().integer(kForwardingEnd) == 20);
  network.check_refused("insert_call_forwarding", row);
  REQUIRE(network.call("delete_call_forwarding", key).status.ok());
  CHECK_FALSE(network.has("call_forwarding", {id, 1, 16}));
  const std::int64_t without =
      network.subscriber_with([&](std::int64_t i) { return !network.has("special_facility", {i, 1}); });
  network.check_refused("insert_call_forwarding",
                        {subscriber_number(without), number(1), number(16), number(20), std::string("1")});
}

TEST_CASE("a mix of TATP calls succeeds as often as its population lets it and keeps the tables consistent") {
  Network network;
  const Check& check = network.workload->checks()[0];
  const std::int64_t before = network.database.value(*network.workload, check);
  const std::unique_ptr<CallSource> client = network.workload->open_client(0, 1);
  std::vector<int> calls(7);
  std::vector<int> committed(7);
  std::int64_t change = 0;
  Call call;
  for (int i = 0; i < 20'000; ++i) {
    client->next(call);
    ++calls[call.type];
    const auto outcome =
        network.database.run(network.workload->transactions()[call.type].procedure, call.arguments);
    if (!outcome.status.ok()) {
      CHECK(outcome.status.code() == ErrorCode::procedure_abort);
      continue;
    }
    ++committed[call.type];
    change += network.workload->call_change(call, outcome.results);
  }
  CHECK(network.database.value(*network.workload, check) == before + change);
  CHECK(network.database.row_findings(*network.workload)[0].detail.empty());
  const auto share = [&](std::size_t type) { return static_cast<double>(committed[type]) / calls[type]; };
  CHECK(share(0) == 1);
  // A facility that is there (5/8) and active (0.85), with a forwarding that covers the hours (0.3).
  CHECK(share(1) == Approx(0.16).margin(0.05));
  CHECK(share(2) == Approx(0.625).margin(0.05));
  CHECK(share(3) == Approx(0.625).margin(0.08));
  CHECK(share(4) == 1);
}

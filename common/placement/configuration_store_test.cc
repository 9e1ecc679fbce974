#include "common/placement/configuration_store.h"

#include <catch2/catch.hpp>
#include <optional>

#include "common/placement/testing/memory_store.h"
#include "common/reactor/testing/manual_executor.h"

namespace namdb::placement {
namespace configuration_store_test {

using reactor::testing::ManualExecutor;
using testing::MemoryStore;
using testing::SharedConfiguration;

Configuration at(std::uint64_t number) {
  Configuration configuration(1);
  configuration.set(0, {number, "host:1"});
  return configuration;
}

reactor::Task<void> replace(MemoryStore* store, std::uint64_t revision, std::uint64_t number,
                            std::optional<Result<bool>>* answer) {
  answer->emplace(co_await store->replace(revision, at(number)));
}

reactor::Task<void> close(MemoryStore* store, bool* closed) {
  co_await store->close();
  *closed = true;
}

// Both call at once.
TEST_CASE("the double: one of two changes is made", "[placement]") {
  ManualExecutor executor;
  SharedConfiguration shared;
  MemoryStore first(executor, shared);
  MemoryStore second(executor, shared);
  first.set_latency(2 * kMillisecond_ns);
  second.set_latency(kMillisecond_ns);
  std::optional<Result<bool>> answers[2];
  reactor::Gate gate;
  executor.spawn(gate, replace(&first, 0, 1, &answers[0]));
  executor.spawn(gate, replace(&second, 0, 2, &answers[1]));
  executor.run_until([&] { return gate.count() == 0; });
  CHECK_FALSE(answers[0]->value());
  CHECK(answers[1]->value());
  CHECK(shared.stored == ConfigurationStore::Stored{1, at(2)});
  CHECK(shared.changes == 1);
}

TEST_CASE("the double: answers are lost, and changes come late", "[placement]") {
  ManualExecutor executor;
  SharedConfiguration shared;
  MemoryStore store(executor, shared);
  const auto answer = [&](std::uint64_t revision, std::uint64_t number) {
    std::optional<Result<bool>> told;
    reactor::Gate gate;
    executor.spawn(gate, replace(&store, revision, number, &told));
    executor.run_until([&] { return gate.count() == 0; });
    return *told;
  };
  store.set_reachable(false);
  CHECK(answer(0, 1).status().code() == ErrorCode::connection_failure);
  CHECK(shared.stored.revision == 0);
  store.set_reachable(true);
  store.lose_answer();
  CHECK(answer(0, 1).status().code() == ErrorCode::connection_failure);
  CHECK(shared.stored.revision == 1);
  store.come_late(kSecond_ns);
  CHECK(answer(1, 2).status().code() == ErrorCode::connection_failure);
  CHECK(shared.stored.revision == 1);
  bool closed = false;
  reactor::Gate gate;
  executor.spawn(gate, close(&store, &closed));
  executor.run_until([&] { return gate.count() == 0; });
  CHECK(closed);
  CHECK(shared.stored == ConfigurationStore::Stored{2, at(2)});
}

TEST_CASE("another database's value is refused", "[placement]") {
  ManualExecutor executor;
  SharedConfiguration shared;
  const MemoryStore store(executor, shared);
  Configuration stored = at(1);
  stored.set_database_id(7);
  CHECK(check_owner(store, stored, 7, 1).ok());
  CHECK(check_owner(store, stored, 0, 1).ok());
  CHECK(check_owner(store, stored, 8, 1).to_string() ==
        "configuration: the configuration store memory has the regions of another database (use another "
        "folder or name for each database)");
  CHECK(check_owner(store, stored, 7, 2).code() == ErrorCode::configuration);
}

TEST_CASE("a value with an older place than a host knows is refused", "[placement]") {
  ManualExecutor executor;
  SharedConfiguration shared;
  const MemoryStore store(executor, shared);
  CHECK(check_age(store, {5, "a:1", {}}, 4).ok());
  CHECK(check_age(store, {5, "a:1", {}}, 5).ok());
  const Status older = check_age(store, {5, "a:1", {}}, 6);
  CHECK(older.code() == ErrorCode::configuration);
  CHECK(older.message() ==
        "the configuration store memory has place 5 of the region, and this host knows place 6");
}

TEST_CASE("a value with another place of the number that a host knows is refused", "[placement]") {
  ManualExecutor executor;
  SharedConfiguration shared;
  const MemoryStore store(executor, shared);
  const Place known{5, "a:1", {"b:1", "c:1"}};
  CHECK(check_history(store, known, known).ok());
  CHECK(check_history(store, {6, "b:1", {}}, known).ok());
  CHECK(check_history(store, {4, "a:1", {}}, known).code() == ErrorCode::configuration);
  CHECK(
      check_history(store, {5, "b:1", {}}, known).message() ==
      "the configuration store memory has place 5 at b:1 of the region, and this host knows place 5 at a:1, "
      "copies b:1 c:1");
  CHECK(check_history(store, {5, "a:1", {"b:1"}}, known).code() == ErrorCode::configuration);
  // Flags name that one.
  CHECK(check_history(store, {0, "b:1", {}}, {0, "a:1", {}}).ok());
}

}  // namespace configuration_store_test
}  // namespace namdb::placement

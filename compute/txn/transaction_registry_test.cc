#include "compute/txn/transaction_registry.h"

#include <catch2/catch.hpp>

namespace namdb::txn {

TEST_CASE("an epoch is acknowledged once every transaction that began before it was learned has ended",
          "[registry]") {
  TransactionRegistry registry;
  const std::uint64_t before = registry.begin();
  registry.learn(0, 5, 1, 0);
  CHECK(registry.acknowledged_epoch(0) == 0);
  const std::uint64_t after = registry.begin();
  registry.end(before);
  CHECK(registry.acknowledged_epoch(0) == 5);
  CHECK(registry.acknowledged_catalog(0) == 1);
  registry.end(after);
}

TEST_CASE("overlapping transactions do not hold acknowledgements back for ever", "[registry]") {
  TransactionRegistry registry;
  std::uint64_t older = registry.begin();
  std::uint64_t acknowledged = 0;
  for (std::uint64_t epoch = 1; epoch <= 100; ++epoch) {
    registry.learn(0, epoch, 1, 0);
    const std::uint64_t newer = registry.begin();
    registry.learn(0, epoch + 1000, 1, 0);  // a heartbeat between
    registry.end(older);
    older = newer;
    acknowledged = registry.acknowledged_epoch(0);
  }
  CHECK(acknowledged > 0);
  registry.end(older);
}

TEST_CASE("the oldest running transaction has run since a heartbeat that came after its begin",
          "[registry]") {
  TransactionRegistry registry;
  registry.pass_time(100);
  CHECK(registry.oldest_ns() == 0);
  const std::uint64_t older = registry.begin();
  registry.pass_time(200);
  CHECK(registry.oldest_ns() == 0);  // it may have begun just now
  const std::uint64_t newer = registry.begin();
  registry.pass_time(300);
  CHECK(registry.oldest_ns() == 100);
  registry.pass_time(400);
  CHECK(registry.oldest_ns() == 200);
  registry.end(older);
  registry.pass_time(500);
  CHECK(registry.oldest_ns() == 200);
  registry.end(newer);
  registry.pass_time(600);
  CHECK(registry.oldest_ns() == 0);
}

TEST_CASE("servers are acknowledged apart", "[registry]") {
  TransactionRegistry registry;
  registry.learn(1, 7, 2, 0);
  CHECK(registry.acknowledged_epoch(0) == 0);
  CHECK(registry.acknowledged_epoch(1) == 7);
}

}  // namespace namdb::txn

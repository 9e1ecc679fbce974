#include "tools/namctl/rebalance_plan.h"

#include <catch2/catch.hpp>

namespace namdb::namctl {
namespace rebalance_plan_test {

using placement::Configuration;

TEST_CASE("addresses of a machine have its name", "[rebalance]") {
  CHECK(machine_of("m0:7400") == machine_of("m0:7401"));
  CHECK(machine_of("m0:7400") != machine_of("m1:7400"));
  CHECK(machine_of("[::1]:7400") == "[::1]");
  CHECK(machine_of("unix:/a") == machine_of("unix:/b"));
}

TEST_CASE("primaries go where fewest are, and only to copies in sync", "[rebalance]") {
  // Behind the loss of m1 and m2, and their return.
  Configuration configuration(3);
  configuration.set(0, {1, "m0:1"});
  configuration.set(1, {2, "m0:2", {"m1:2"}});
  configuration.set(2, {2, "m0:3", {"m1:3", "m2:3"}});
  auto step = next_rebalance_step(configuration);
  REQUIRE(step.has_value());
  CHECK(*step == RebalanceStep{1, "m0:2", "m1:2"});
  configuration.set(1, {3, "m1:2", {"m0:2"}});
  // m1 has one already.
  step = next_rebalance_step(configuration);
  REQUIRE(step.has_value());
  CHECK(*step == RebalanceStep{2, "m0:3", "m2:3"});
  configuration.set(2, {3, "m2:3", {"m0:3"}});
  CHECK_FALSE(next_rebalance_step(configuration).has_value());
}

TEST_CASE("where it would not be more even nothing goes", "[rebalance]") {
  Configuration configuration(3);
  configuration.set(0, {1, "m0:1", {"m1:1"}});
  configuration.set(1, {1, "m0:2", {"m0:5"}});
  configuration.set(2, {1, "m1:3", {"m0:3"}});
  CHECK_FALSE(next_rebalance_step(configuration).has_value());
  CHECK_FALSE(next_rebalance_step(Configuration(2)).has_value());
}

}  // namespace rebalance_plan_test
}  // namespace namdb::namctl

#include "common/fabric/registry.h"

#include <catch2/catch.hpp>

namespace namdb::fabric {

TEST_CASE("transports are found by name and by address, and errors name those that there are") {
  TransportRegistry registry;
  registry.add(
      {"shm", "unix:PATH", [](std::string_view address) { return address.starts_with("unix:"); }, {}, {}});
  registry.add(
      {"tcp", "HOST:PORT", [](std::string_view address) { return address.starts_with("host:"); }, {}, {}});
  REQUIRE((*registry.find("tcp"))->name == "tcp");
  REQUIRE((*registry.for_address("unix:/run/x"))->name == "shm");
  const Status no_name = registry.find("verbs").status();
  REQUIRE(no_name.code() == ErrorCode::configuration);
  REQUIRE(no_name.hint() == "there are: shm, tcp");
  const Status no_address = registry.for_address("nonsense").status();
  REQUIRE(no_address.code() == ErrorCode::configuration);
  REQUIRE(no_address.hint() == "addresses are: unix:PATH (shm), HOST:PORT (tcp)");
}

}  // namespace namdb::fabric

// The list of transports that the suite runs on.
#include "common/fabric/conformance/fixture.h"
#include "common/fabric/conformance/sim_fixture.h"
#include "common/fabric/conformance/threaded_fixture.h"
#include "common/fabric/shm/transport.h"

namespace namdb::fabric::conformance {
namespace {

std::unique_ptr<Fixture> make_shm_fixture(Service& service, int clients, int) {
  return make_threaded_fixture(
      {shm::transport, [](const std::string& directory) { return "unix:" + directory + "/memory.sock"; },
       [](const std::string& directory) { return "unix:" + directory + "/nobody.sock"; }},
      service, clients);
}

}  // namespace

const std::vector<FixtureFactory>& fixture_factories() {
  static const std::vector<FixtureFactory> factories = {
      {"sim", 25, make_sim_fixture},
      {"shm", 2, make_shm_fixture},
  };
  return factories;
}

}  // namespace namdb::fabric::conformance

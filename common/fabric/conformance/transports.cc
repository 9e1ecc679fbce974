// The list of transports that the suite runs on.
#include "common/fabric/conformance/fixture.h"
#include "common/fabric/conformance/sim_fixture.h"

namespace namdb::fabric::conformance {

const std::vector<FixtureFactory>& fixture_factories() {
  static const std::vector<FixtureFactory> factories = {
      {"sim", 25, make_sim_fixture},
  };
  return factories;
}

}  // namespace namdb::fabric::conformance

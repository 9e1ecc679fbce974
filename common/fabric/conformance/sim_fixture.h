// The simulated transport, for the suite: each run is another seed.
#pragma once

#include <memory>

#include "common/fabric/conformance/fixture.h"

namespace namdb::fabric::conformance {

std::unique_ptr<Fixture> make_sim_fixture(Service& service, int clients, int run);

}  // namespace namdb::fabric::conformance

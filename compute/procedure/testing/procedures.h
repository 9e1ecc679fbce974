// Procedures that the corpus calls.
#pragma once

#include "compute/procedure/procedure.h"

namespace namdb::sqltest {

void add_test_procedures(procedure::Registry& registry);

}  // namespace namdb::sqltest

#include "compute/procedure/testing/procedures.h"

extern "C" void namdb_register_procedures(namdb::procedure::Registry& registry) {
  namdb::sqltest::add_test_procedures(registry);
}

NAMDB_PROCEDURE_LIBRARY

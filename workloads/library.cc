// What makes the workloads' procedures a library that `nam-computed --procedure-library` loads like any
// user's: the entry point and the ABI version.
#include "workloads/procedures.h"

extern "C" void namdb_register_procedures(namdb::procedure::Registry& registry) {
  namdb::workloads::register_all(registry);
}

NAMDB_PROCEDURE_LIBRARY

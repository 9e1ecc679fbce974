// The entry point and the ABI version of the workloads' procedure library, which `nam-computed
// --procedure-library` loads like any user's.
#include "workloads/procedures.h"

extern "C" void namdb_register_procedures(namdb::procedure::Registry& registry) {
  namdb::workloads::register_all(registry);
}

extern "C" void namdb_declare_pieces(namdb::procedure::Choppings& choppings) {
  namdb::workloads::declare_tpcc_pieces(choppings);
}

NAMDB_PROCEDURE_LIBRARY
NAMDB_PROCEDURE_PIECES

// The workloads' stored procedures. nam-computed gets them from the loadable library (library.cc); nambench's
// engine mode links them.
#pragma once

#include "compute/procedure/chopping.h"
#include "compute/procedure/procedure.h"

namespace namdb::workloads {

void register_smallbank(procedure::Registry& registry);
void register_tatp(procedure::Registry& registry);
void register_tpcc(procedure::Registry& registry);
void register_ycsb(procedure::Registry& registry);

// How its transactions may be chopped.
void declare_tpcc_pieces(procedure::Choppings& choppings);

inline void register_all(procedure::Registry& registry) {
  register_smallbank(registry);
  register_tatp(registry);
  register_tpcc(registry);
  register_ycsb(registry);
}

}  // namespace namdb::workloads

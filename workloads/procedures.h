// The workloads' stored procedures. nam-computed gets them from the loadable library (library.cc); nambench's
// engine mode links them.
#pragma once

#include "compute/procedure/procedure.h"

namespace namdb::workloads {

void register_smallbank(procedure::Registry& registry);
void register_tatp(procedure::Registry& registry);
void register_tpcc(procedure::Registry& registry);
void register_ycsb(procedure::Registry& registry);

inline void register_all(procedure::Registry& registry) {
  register_smallbank(registry);
  register_tatp(registry);
  register_tpcc(registry);
  register_ycsb(registry);
}

}  // namespace namdb::workloads

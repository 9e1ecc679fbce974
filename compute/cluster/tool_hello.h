// The greeting of a peer that runs no transactions: memory servers answer its questions, lease it nothing,
// and do not miss it when it goes.
#pragma once

#include <string>

#include "compute/cluster/cluster.h"

namespace namdb::txn {

// The bytes of its hello. `name`: for people.
std::string tool_hello(const ComputeId& id, const std::string& name);

}  // namespace namdb::txn

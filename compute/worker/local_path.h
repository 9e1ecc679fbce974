// The local path to the memory server beside this compute server (common/fabric/local_path.h), in the words
// of the control plane.
#pragma once

#include <string>

#include "common/fabric/local_path.h"

namespace namdb::compute {

// `address`: of the memory server over the network; `socket`: unix:PATH. `name`: of the compute server.
fabric::LocalPath local_path(std::string address, std::string socket, std::string name);

}  // namespace namdb::compute

// A region moves from one host to another one that waits for it (nam-memoryd --join), in a cluster without a
// configuration store.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/base/error.h"
#include "tools/namctl/control_client.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {

// Returns once the new host serves it, or the move has failed. `document` is filled for programs.
Status move_region(const Output& output, ControlPlane& control, const std::string& from,
                   const std::string& to, nlohmann::json* document);

}  // namespace namdb::namctl

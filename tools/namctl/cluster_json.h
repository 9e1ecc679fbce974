// A cluster's servers and indexes as a JSON document, for scripts.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "tools/namctl/cluster_view.h"

namespace namdb::namctl {

nlohmann::json to_json(const ClusterView& view);

}  // namespace namdb::namctl

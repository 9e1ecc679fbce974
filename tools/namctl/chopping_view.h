// How procedures are chopped into pieces (compute/procedure/chopping_graph.h), as text, JSON and a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compute/procedure/chopping_graph.h"

namespace namdb::namctl {

// A line for each procedure, and below it one for each of the transactions that it runs as.
std::vector<std::string> to_lines(const procedure::ChoppingGraph& graph);
nlohmann::json to_json(const procedure::ChoppingGraph& graph);

// An SVG document: a column for each procedure, in it its pieces, in the order in which they run. A frame is
// around those that run as one transaction. S-edges are black, C-edges red; a red circle is a conflict with
// another run of the same piece.
std::string to_svg(const procedure::ChoppingGraph& graph);

}  // namespace namdb::namctl

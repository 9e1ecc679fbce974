// `namctl procedures`: the procedures of libraries, and how they may be chopped into pieces.
#pragma once

#include <string>
#include <vector>

namespace namdb::namctl {

struct ProceduresFlags {
  std::vector<std::string> libraries;  // none: the workloads' library of this build
  bool chopping = false;
  bool traditional = false;  // without commutativity and reordering
  std::string svg;           // file to write the graph to, or empty
};

// Exit code 2 when a library's pieces cannot be used, 3 when it cannot be loaded.
int run_procedures(const ProceduresFlags& flags, bool json);

}  // namespace namdb::namctl

// The chopping graph of a set of procedures (DrTM §4.1; Shasha et al. 1995), and the finest chopping without
// SC-cycles. Each procedure's pieces run one after the other, each as a transaction; the whole is
// serializable if no cycle of the graph has both an S-edge (between pieces of one procedure) and a C-edge
// (between pieces of different transactions that conflict). All transactions are thought to run beside
// another one of the same procedure.
//
// Two pieces of a procedure are in such a cycle exactly if they are connected in the graph without the
// procedure's own S-edges, where every other transaction is one node (its S-edges connect its pieces anyway).
// So the finest chopping of one procedure does not depend on how the others are chopped, and there is one
// finest chopping.
//
// Pieces that can end the procedure come before all that others can see: they are reordered to the front, or
// merged with the pieces that change something before them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "compute/procedure/chopping.h"

namespace namdb::procedure {

struct ChoppingRules {
  // DrTM §4.1: changes that commute do not conflict, and pieces that do not need each other may be reordered.
  // Without both it is the traditional chopping.
  bool commutativity = true;
  bool reordering = true;
};

// A C-edge: between two pieces, or between two runs of one piece.
struct ConflictEdge {
  struct End {
    std::size_t procedure = 0;
    std::size_t piece = 0;
    friend bool operator==(const End&, const End&) = default;
  };
  End one;
  End other;
  std::vector<std::string> tables;  // on which they conflict
};

struct ChoppedProcedure {
  // Each runs as one transaction, in this order; the positions of its pieces, in theirs.
  std::vector<std::vector<std::size_t>> groups;
};

struct ChoppingGraph {
  std::vector<Chopping> procedures;
  std::vector<ConflictEdge> conflicts;
  std::vector<ChoppedProcedure> chopped;  // of each procedure

  // Whether that piece conflicts with none, of any procedure.
  bool is_free(std::size_t procedure, std::size_t piece) const;
};

// Error invalid_parameter_value: two procedures or pieces have one name, a procedure has no piece, or a piece
// needs one that does not come before it.
Result<ChoppingGraph> chop(std::vector<Chopping> procedures, ChoppingRules rules = {});

}  // namespace namdb::procedure

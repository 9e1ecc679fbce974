// How a procedure may be chopped into pieces (DrTM §4; Shasha et al.): a piece is a part of it that could be
// a transaction of its own. A library of procedures may declare them, with a second entry point:
//
//   extern "C" void namdb_declare_pieces(namdb::procedure::Choppings& choppings) {
//     choppings.add({.procedure = "transfer", .pieces = {
//         {.name = "source", .writes = {"accounts"}, .aborts = true},
//         {.name = "target", .commutes = {"accounts"}}}});
//   }
//   NAMDB_PROCEDURE_PIECES
//
// compute/procedure/chopping_graph.h finds which of them have to stay together; `namctl procedures
// --chopping` shows that.
//
// Rows are named by their table, or by TABLE.PART: parts of one table have no column in common, or no row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace namdb::procedure {

// Changes whenever this file changes: a library is compiled against it.
inline constexpr std::uint32_t kChoppingAbiVersion = 1;

struct Piece {
  std::string name;
  std::vector<std::string> reads;
  std::vector<std::string> writes;
  // Also changed, but independently of the old contents, so that the order of two such changes does not
  // matter. Examples: 5 more in a column whose value the piece does not return, or a row with a key that no
  // other row has.
  std::vector<std::string> commutes;
  // Pieces before it whose results it uses. All others may come in any order.
  std::vector<std::string> needs;
  // It may end the procedure with an error of its own, or a violation.
  bool aborts = false;
};

struct Chopping {
  std::string procedure;
  std::vector<Piece> pieces;  // in the order of the procedure
};

class Choppings {
 public:
  virtual ~Choppings() = default;
  // One for each procedure.
  virtual void add(Chopping chopping) = 0;
};

}  // namespace namdb::procedure

#define NAMDB_PROCEDURE_PIECES \
  extern "C" const std::uint32_t namdb_chopping_abi_version = ::namdb::procedure::kChoppingAbiVersion;

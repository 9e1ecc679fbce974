// The cases that hold for every database, under any protocol, with any two-sided stages and over any
// transport: small histories of two clients at different compute servers, one step after the other.
//
// A commit is answered once it is logged, and a transaction that gave way releases its locks in the
// background. Right after either, another compute server may meet a lock and get a conflict, as any client
// may. So where a case needs one certain answer it tries again until it has it.
//
// Client a always begins first. Where the older transaction waits for the younger one, and the younger one
// gives way, no transaction waits for a step that comes later.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/conformance/trial.h"

namespace namdb::conformance {

// All of them, those of read_cases.h included.
std::vector<Case> cases();

// Of a database whose transactions may last so long.
void long_transactions_end(Trial& trial, std::uint64_t max_transaction_ns);

}  // namespace namdb::conformance

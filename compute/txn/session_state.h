// The state of a client's session that its transactions hand on, for all protocols.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/api/engine.h"
#include "compute/txn/deferred_commits.h"

namespace namdb::protocol {

struct SessionState : txn::Session {
  // Snapshot isolation. Words of the newest snapshot that the session has used: a later one shows at least as
  // much.
  std::vector<std::uint64_t> newest_words;
  std::uint64_t vector_epochs = 0;  // Cluster::vector_epochs() of the memory servers that those are of
  // When the session's last commit was published or its last transaction failed: a copy of the vector that
  // was taken before that is too old.
  std::uint64_t fresh_from_ns = 0;
  // Where transactions have timestamps: that of the last one.
  std::uint64_t timestamp = 0;
  // Wait-die. The priority of a transaction that gave way, for the one that tries again; 0: none.
  std::uint32_t priority = 0;
  std::uint64_t priority_taken_ns = 0;
  // Where transactions are ordered. The rows of a transaction that met a conflict, as hashes, for the one
  // that tries again.
  std::vector<std::uint32_t> ordered_rows;
  // Its commits that were answered before they are on disk.
  txn::DeferredCommits deferred;

  // Its next transaction runs where the epochs are these. Words of other memory servers are forgotten.
  void follow_vector(std::uint64_t epochs) {
    if (vector_epochs == epochs) return;
    newest_words.clear();
    vector_epochs = epochs;
  }
};

}  // namespace namdb::protocol

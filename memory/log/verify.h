// Reads all of a log and all checkpoints beside it, and says what is wrong where, what is lost, and how a
// server goes on. Changes nothing. One finding hides no other; a file that cannot be read is one, too. The
// server must not run: a block that is being written looks torn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/reactor/task.h"
#include "memory/log/disk.h"
#include "memory/log/log_format.h"

namespace namdb::memory {

struct VerifyFinding {
  std::string where;         // file, with the offset where there is one
  std::string what;          // names the file again where that is damaged as a whole
  std::string lost;          // what cannot be had back; empty: nothing
  std::string remedy;        // how to go on
  std::string text() const;  // a line with both
};

struct VerifiedCheckpoint {
  std::uint64_t generation = 0;
  LogPosition redo_from = 0;
  std::uint64_t chunks = 0;
  std::uint64_t bytes = 0;  // of payloads
};

struct VerifyReport {
  bool has_log = false;
  LogIdentity identity;
  LogPosition log_begin = 0;  // of the first record
  LogPosition log_end = 0;
  std::uint64_t records = 0;
  std::uint64_t record_bytes = 0;
  std::uint64_t blocks = 0;
  bool torn = false;  // the log ends with a block that was never finished, or is damaged
  std::vector<VerifiedCheckpoint> checkpoints;  // the older first
  std::vector<VerifyFinding> findings;          // empty: all is well
};

// `folder` has `log` and `checkpoint`; a folder that has neither is an error (configuration), and so is one
// that cannot be listed (kDiskFailed).
reactor::Task<Result<VerifyReport>> verify_folder(Disk& disk, std::string folder);
// Adds findings about the rest of a database's folder: no checkpoint, or a missing or malformed identity.
// `text`: the file `identity`; nullopt if there is no such file.
void verify_database(const std::string& folder, const std::optional<std::string>& text, VerifyReport& report);

}  // namespace namdb::memory

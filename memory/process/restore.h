// A database folder from a backup (namctl backup).
//
//   1. `restoring` is written: a folder that has it is not whole
//   2. log and checkpoint are copied, then the identity
//   3. `restoring` is removed
//
// A copy that was cut off has no identity, so the folder is not opened (database_folder.h); the next try
// begins anew. Blocks the thread; for the start of a process. All errors are configuration, and name the
// file.
#pragma once

#include <filesystem>

#include "common/base/error.h"

namespace namdb::memory {

// `folder` has no database; it is made where it is missing. The backup is not changed.
Status restore_database(const std::filesystem::path& backup, const std::filesystem::path& folder);

}  // namespace namdb::memory

// The files of a backup: the database of one memory server, copied while the server runs. The caller sees to
// it that checkpoint and log stay as they are meanwhile (CHECKPOINT's holds, proto/control.proto).
//
//   checkpoint  both generations, and their chunks
//   log         up to `end`; the rest of that segment is zero, so the log ends there
//   identity    last: a folder that has one is whole
//
// Blocks the thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>

#include "common/base/error.h"

namespace namdb::namctl {

// The end of the log: that segment up to that byte.
struct LogPlace {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
};

// Called now and then with the number of bytes that were copied since; an error ends the copy.
using CopyProgress = std::function<Status(std::uint64_t bytes)>;

// Into the new folder `to`. All is durable when it returns. Errors: configuration, with the file; those of
// `progress`.
Status copy_database(const std::filesystem::path& from, const std::filesystem::path& to, LogPlace end,
                     const CopyProgress& progress);

}  // namespace namdb::namctl

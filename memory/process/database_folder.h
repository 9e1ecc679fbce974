// The database in a data folder, DIR/{identity,log,checkpoint}, and whose it is. The daemon has locked the
// folder before (common/config/data_folder.h): no other daemon uses it.
//
//   identity     whose it is (memory/log/folder_identity.h)
//   log          segments of the log on disk
//   checkpoint   manifests and chunks
//
// A new folder's identity says `state = creating` first. Once log and checkpoint are there, created() makes
// it `complete`, in one step. A folder whose creation was cut off has acknowledged nothing: it is emptied and
// created again. So a complete folder without a log has lost it, and is refused.
//
// Blocks the thread; for the start of a process. Errors are configuration, and name the file and what to do;
// corrupt_data where the identity's bytes are damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/error.h"
#include "memory/log/folder_identity.h"

namespace namdb::memory {

class DatabaseFolder {
 public:
  struct Wanted {
    std::optional<std::uint64_t> database_id;  // nullopt: whichever the folder has
    std::uint64_t new_database_id = 0;         // of a folder that is new; random, not 0
    std::uint16_t server_id = 0;
    std::string version;  // of this program
  };

  // Whether a database was created there, or its creation begun.
  static bool exists(const std::filesystem::path& path);
  // Whether a creation was begun there, and has not come to its end.
  static bool is_unfinished(const std::filesystem::path& path);
  // Makes what is missing of a new folder. The folder itself is there.
  static Result<std::unique_ptr<DatabaseFolder>> open(std::filesystem::path path, const Wanted& wanted);

  // Makes the folder a database's whose log and checkpoint have come there otherwise, whole and durable.
  static Status adopt(std::filesystem::path path, FolderIdentity identity);

  // Log and checkpoint have to be created, and then created() called.
  bool is_new() const { return !identity_.complete; }
  Status created();
  const FolderIdentity& identity() const { return identity_; }
  std::filesystem::path log() const { return path_ / "log"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint"; }

 private:
  DatabaseFolder(std::filesystem::path path, FolderIdentity identity)
      : path_(std::move(path)), identity_(std::move(identity)) {}
  Status begin_creation();
  Status check_parts() const;
  Status write_identity() const;

  std::filesystem::path path_;
  FolderIdentity identity_;
};

}  // namespace namdb::memory

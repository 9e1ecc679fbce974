// A configuration store in a folder, for the hosts of one machine.
//
//   FOLDER/configuration   a line with the revision, and the value (stored_text.h)
//   FOLDER/lock            held by the process that reads or changes the value (flock)
//
// The value is written beside the old one, synced, renamed, and the folder synced, all under the lock. So no
// process sees a value that a loss of power could take back. The folder is made when it is missing; its
// parent is there.
//
// Errors: connection_failure: the lock is held for too long, or the disk fails or is full; configuration: the
// folder cannot be used, or has something else.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "common/placement/store/blocking_store.h"

namespace namdb::placement {

class FileStore final : public BlockingStore {
 public:
  // A lock that another holds is waited for so long.
  static constexpr std::chrono::milliseconds kLockPatience{1000};

  explicit FileStore(std::string folder, std::chrono::milliseconds lock_patience = kLockPatience)
      : folder_(std::move(folder)), lock_patience_(lock_patience) {}

  std::string name() const override { return "file:" + folder_; }
  Result<ConfigurationStore::Stored> read() override;
  Result<bool> replace(std::uint64_t revision, const Configuration& next) override;

 private:
  // The lock's descriptor, held.
  Result<int> lock();
  Result<ConfigurationStore::Stored> read_locked();
  Status write_locked(const std::string& text);
  Status sync_folder(const std::string& path);
  Status failed(const std::string& what, const std::string& path, int error_number) const;

  std::string folder_;
  std::chrono::milliseconds lock_patience_;
};

}  // namespace namdb::placement

// The data folder of a daemon: DIR/{run,log,data}, for its owner only, and one daemon at a time.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/error.h"

namespace namdb::config {

class DataFolder {
 public:
  // Makes the folders that are missing and takes DIR/run/DAEMON.lock, which also holds the process id. Error
  // configuration when the folder cannot be used, or another such daemon has it.
  static Result<std::unique_ptr<DataFolder>> open(const std::filesystem::path& path,
                                                  const std::string& daemon);
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;
  ~DataFolder();

  std::filesystem::path run() const { return path_ / "run"; }

 private:
  DataFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}
  std::filesystem::path path_;
  int lock_;
};

}  // namespace namdb::config

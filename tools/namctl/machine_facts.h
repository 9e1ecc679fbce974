// This machine as a daemon of namdb would find it. Reading changes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "common/base/error.h"

namespace namdb::namctl {

struct MachineFacts {
  std::string kernel;  // its release, "6.1.0-18-amd64"
  // Whether a daemon's event loop can be made here: io_uring is there and allowed.
  Status io_uring;
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;     // without swapping
  std::uint64_t free_huge_pages = 0;     // of 2 MiB
  std::uint64_t locked_limit_bytes = 0;  // that a process may lock; ~0: all
  std::uint64_t descriptors = 0;         // that a process may have open
  // Whether the clock follows others; nullopt where that is not known.
  std::optional<bool> clock_is_synchronised;
  std::size_t rdma_devices = 0;
  // The disk of the folder that daemons keep their data in, or of the nearest folder that exists.
  std::string disk;  // its path
  std::uint64_t disk_free_bytes = 0;
  bool disk_is_memory = false;  // what is there is gone after the machine's end
  // The cluster's key. Empty where no file is named.
  std::string key_file;
  Status key;
  std::string key_fingerprint;
};

MachineFacts read_machine(const std::filesystem::path& data, const std::filesystem::path& key_file);

}  // namespace namdb::namctl

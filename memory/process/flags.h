// The command line and configuration file of nam-memoryd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/config/rdma_flags.h"
#include "common/config/service_flags.h"
#include "memory/options.h"
#include "memory/process/region_memory.h"
#include "memory/process/store_flags.h"

namespace namdb::memory {

struct Flags {
  std::string data;
  std::string fabric = "shm";
  std::string listen;        // never empty after parsing
  std::string listen_local;  // unix:PATH beside tcp or verbs, or empty
  std::uint64_t region_bytes = 0;
  std::uint64_t region_limit_bytes = 0;  // at least region_bytes after parsing
  HugePages huge_pages = HugePages::automatic;
  std::string cluster_key;                 // a file, or empty
  std::string fabric_encryption = "auto";  // off, required
  // With verbs.
  config::RdmaFlags rdma;
  std::string rdma_region_keys = "auto";
  config::ServiceFlags service;
  std::uint64_t log_bytes = 4ULL << 30;  // what the log on disk may take
  bool force_lost_log = false;
  bool force_unfit_entries = false;
  std::uint64_t checkpoint_interval_ns = 300 * kSecond_ns;
  std::uint64_t checkpoint_rate_bytes = 32U << 20;  // a second; 0: as fast as the disk is
  std::string restore;                              // a folder of a backup, or empty
  bool join = false;                                // a new folder waits for a region
  bool force_claim = false;
  StoreFlags store;
  Options options;
};

// Parses argv and the configuration file, whose values flags override. nullopt: `exit_code` is to be
// returned now; help, version or an error message has been printed.
std::optional<Flags> parse_flags(int argc, char** argv, int& exit_code);

// The same again, when the process is told to read its configuration anew. Nothing is printed.
Result<Flags> reread_flags(int argc, char** argv);

}  // namespace namdb::memory

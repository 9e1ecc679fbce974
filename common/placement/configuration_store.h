// The configuration store: one value, the cluster's configuration, that hosts read and change by
// compare-and-swap only. It decides which host has a region: of all hosts that try a change, replace()
// answers true to only one. The store keeps nothing else, and no data.
//
// While the store cannot be reached, hosts go on. They cannot change a region's host, or the copies that
// count, until the store is back.
//
// Backends are in common/placement/store; a double for tests is in testing/memory_store.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/placement/configuration.h"
#include "common/reactor/task.h"

namespace namdb::placement {

class ConfigurationStore {
 public:
  struct Stored {
    // Another one with each change, also when the same value is written again; 0: there is no value yet.
    std::uint64_t revision = 0;
    Configuration configuration;
    friend bool operator==(const Stored&, const Stored&) = default;
  };

  ConfigurationStore() = default;
  ConfigurationStore(const ConfigurationStore&) = delete;
  ConfigurationStore& operator=(const ConfigurationStore&) = delete;
  virtual ~ConfigurationStore() = default;

  // Where it is, for messages.
  virtual std::string name() const = 0;
  // The value, with all changes that were made before this call began. Errors: connection_failure: the store
  // does not answer now, and may later; configuration: the value there is not of this program, or the store
  // refuses its requests.
  virtual reactor::Task<Result<Stored>> read() = 0;
  // Makes `next` the value if the revision is still that one. False: it is not, and nothing has changed.
  // Errors: those of read(). After connection_failure the change may have been made, or may still be made
  // within a few seconds: read() tells.
  virtual reactor::Task<Result<bool>> replace(std::uint64_t revision, Configuration next) = 0;
  // Ends the calls that are under way. Awaited once, before the store is destroyed; no calls behind it.
  virtual reactor::Task<void> close() = 0;
};

// Whether a value that is there is that database's. Error configuration: it is not, or has other regions.
inline Status check_owner(const ConfigurationStore& store, const Configuration& stored,
                          std::uint64_t database_id, std::size_t regions) {
  if (stored.database_id() != database_id && stored.database_id() != 0 && database_id != 0) {
    return Status(ErrorCode::configuration,
                  "the configuration store " + store.name() + " has the regions of another database",
                  "use another folder or name for each database");
  }
  if (stored.regions() == regions) return Status();
  return Status(ErrorCode::configuration,
                "the configuration store " + store.name() + " has " + std::to_string(stored.regions()) +
                    " regions, and --server-count is " + std::to_string(regions),
                "use another folder or name for each database");
}

inline constexpr const char* kSetBackHint =
    "if the store was restored from a backup: stop all memory servers, remove its value, and start those "
    "that "
    "served last before the others";

// Whether a region's place in the store is as new as the one that this host knows. Error configuration: the
// store was reset to an older value, which does not count.
inline Status check_age(const ConfigurationStore& store, const Place& stored, std::uint64_t known_number) {
  if (stored.number >= known_number) return Status();
  return Status(ErrorCode::configuration,
                "the configuration store " + store.name() + " has place " + std::to_string(stored.number) +
                    " of the region, and this host knows place " + std::to_string(known_number),
                kSetBackHint);
}

// The same, and whether the two places are of one history, in which each number belongs to one place. Error
// configuration: the store's value descends from an older value that was put there.
inline Status check_history(const ConfigurationStore& store, const Place& stored, const Place& known) {
  if (stored.number != known.number || stored.number == 0 || stored == known)
    return check_age(store, stored, known.number);
  return Status(ErrorCode::configuration,
                "the configuration store " + store.name() + " has " + stored.text() +
                    " of the region, and this host knows " + known.text(),
                kSetBackHint);
}

}  // namespace namdb::placement

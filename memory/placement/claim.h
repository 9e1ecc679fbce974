// Asks the configuration store for the region's primary, before a process opens its folder. A region without
// a primary there becomes the asking host's. Memory server 0 decides which database a new store is for: the
// other servers wait for that, since their folders have not been compared with server 0's yet.
//
// The place's number is above all numbers that the folder has seen, including the number under which a backup
// was made: otherwise two hosts would make different checkpoints under one name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/placement/configuration_store.h"
#include "common/reactor/executor.h"
#include "common/reactor/task.h"

namespace namdb::memory {

// Copies and other servers may know later places than the claiming folder does: one more for each copy that
// came or went. They accept no lower place. So a claim skips that many numbers.
constexpr std::uint64_t kUnknownPlaces = 1000;

struct ClaimOptions {
  std::uint16_t server_id = 0;
  std::uint32_t server_count = 1;
  std::string address;            // of this host
  std::uint64_t database_id = 0;  // 0: not known
  placement::Place known;         // the place that the folder knows
  std::uint64_t generation = 0;   // of its newest checkpoint, which bears a number, too (manifest.h)
  bool claims = true;             // false: it only asks
  std::uint64_t retry_ns = 200 * kMillisecond_ns;
  // Lines for people. May be empty.
  std::function<void(const std::string&)> notice;
  // Asked again and again. May be empty.
  std::function<bool()> stopping;
};

// The store's value afterwards: the region's primary is place().address or, if the caller only asks, perhaps
// none yet. Waits for the store. Errors: configuration: the value is another database's, or older than what
// the folder has seen, or of another history; admin_shutdown: stopping.
reactor::Task<Result<placement::ConfigurationStore::Stored>> claim_region(
    reactor::Executor* executor, placement::ConfigurationStore* store, ClaimOptions options);

}  // namespace namdb::memory

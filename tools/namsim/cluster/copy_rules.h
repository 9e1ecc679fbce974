// Rules of copies of regions (docs/internals/copies.md) that a double may break.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/placement/configuration_store.h"
#include "common/placement/testing/memory_store.h"

namespace namdb::sim {

struct CopyRules {
  // The log of a primary waits for copies in sync.
  bool waits_for_copies = true;
  // Workers have leases from primaries, and rounds of an opening begin with one.
  bool leases = true;
  // The store as a host sees it, which may be wrong. Empty: it is not.
  std::function<std::unique_ptr<placement::ConfigurationStore>(
      std::unique_ptr<placement::testing::MemoryStore> store, std::string address)>
      store = {};
};

}  // namespace namdb::sim

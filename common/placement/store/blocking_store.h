// A configuration store whose calls block: a backend. Its calls come from one thread; ThreadedStore puts it
// behind ConfigurationStore, which says what the calls mean (common/placement/configuration_store.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/base/error.h"
#include "common/placement/configuration_store.h"

namespace namdb::placement {

class BlockingStore {
 public:
  BlockingStore() = default;
  BlockingStore(const BlockingStore&) = delete;
  BlockingStore& operator=(const BlockingStore&) = delete;
  virtual ~BlockingStore() = default;

  virtual std::string name() const = 0;
  virtual Result<ConfigurationStore::Stored> read() = 0;
  virtual Result<bool> replace(std::uint64_t revision, const Configuration& next) = 0;

  // Any thread. A call that waits for something gives up, with connection_failure.
  void stop() { stopping_ = true; }

 protected:
  const std::atomic<bool>& stopping() const { return stopping_; }

 private:
  std::atomic<bool> stopping_{false};
};

}  // namespace namdb::placement

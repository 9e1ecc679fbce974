// The last reports of a compute server's workers about their connections to memory servers, so that each of
// them can give out all. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "common/fabric/facts.h"

namespace namdb::compute {

class FabricBoard {
 public:
  void post(std::uint32_t worker, std::vector<fabric::ConnectionFacts> facts) {
    const std::lock_guard lock(mutex_);
    by_worker_[worker] = std::move(facts);
  }
  // In the order of workers and memory servers.
  std::vector<fabric::ConnectionFacts> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<fabric::ConnectionFacts> all;
    for (const auto& [worker, facts] : by_worker_) all.insert(all.end(), facts.begin(), facts.end());
    return all;
  }

 private:
  mutable std::mutex mutex_;  // lint: allow banned: shared by the workers' threads; held to post or read
  std::map<std::uint32_t, std::vector<fabric::ConnectionFacts>> by_worker_;
};

}  // namespace namdb::compute

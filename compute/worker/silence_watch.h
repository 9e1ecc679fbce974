// Gives up connections to memory servers that do not answer: each is sent pings, any answer to which will do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "common/layout/global_address.h"
#include "common/reactor/executor.h"
#include "compute/cluster/cluster.h"

namespace namdb::compute {

class SilenceWatch {
 public:
  // `gate` has the pings that are under way; both outlive this. A memory server that does not answer for
  // `timeout_ns` is given up.
  SilenceWatch(reactor::Executor& executor, reactor::Gate& gate, std::uint64_t timeout_ns)
      : executor_(executor), gate_(gate), timeout_ns_(timeout_ns) {}

  // Between two calls of check().
  std::uint64_t interval_ns() const { return timeout_ns_ / kParts; }
  // Pings all memory servers that have answered the last ping, and gives up those that are silent too long.
  void check(const std::shared_ptr<txn::Cluster>& cluster);

 private:
  // The timeout is counted in parts, so that a pause of this process counts as one of them, and not as the
  // memory server's silence.
  static constexpr int kParts = 8;
  // Under way: the parts of the timeout that have passed since.
  using Pings = std::map<layout::ServerId, int>;

  static reactor::Task<void> ping(std::shared_ptr<txn::Cluster> cluster, std::shared_ptr<Pings> pings,
                                  layout::ServerId server);

  reactor::Executor& executor_;
  reactor::Gate& gate_;
  std::uint64_t timeout_ns_;
  std::weak_ptr<txn::Cluster> cluster_;  // of the last check
  std::shared_ptr<Pings> pings_;         // of that cluster
};

}  // namespace namdb::compute

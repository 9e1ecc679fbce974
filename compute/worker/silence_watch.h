// Gives up one connection's channels to memory servers that do not answer: each is sent pings, any answer to
// which will do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "common/layout/global_address.h"
#include "common/reactor/executor.h"

namespace namdb::compute {

struct Connection;

// Held by shared pointers: pings that are under way hold it, and the connection.
class SilenceWatch : public std::enable_shared_from_this<SilenceWatch> {
 public:
  // `gate` has the pings that are under way, which end with the connection; it outlives this. A memory server
  // that does not answer for `timeout_ns` is given up.
  SilenceWatch(std::shared_ptr<Connection> connection, reactor::Gate& gate, std::uint64_t timeout_ns);

  // Between two calls of check().
  static std::uint64_t interval_ns(std::uint64_t timeout_ns) { return timeout_ns / kParts; }
  // Pings all memory servers that have answered the last ping, and gives up those that are silent too long.
  void check();

 private:
  // The timeout is counted in parts, so that a pause of this process counts as one of them, and not as the
  // memory server's silence.
  static constexpr int kParts = 8;

  static reactor::Task<void> ping(std::shared_ptr<SilenceWatch> self, layout::ServerId server);

  std::shared_ptr<Connection> connection_;
  reactor::Gate& gate_;
  std::uint64_t timeout_ns_;
  std::map<layout::ServerId, int> pings_;  // under way: the parts of the timeout that have passed since
};

}  // namespace namdb::compute

// A server of the simulated transport, as the network and its connections see it.
#pragma once

#include <cstddef>
#include <span>

namespace namdb::fabric::sim {

class Connection;
class SimNode;
struct CallEvent;
struct ConnectEvent;

class ServedNode {
 public:
  virtual SimNode& node() = 0;
  // The region at its present length, and the length that it may grow to.
  virtual std::span<std::byte> region() const = 0;
  virtual std::size_t capacity_bytes() const = 0;
  // Whether it listens and its node lives.
  virtual bool accepts() const = 0;
  // Starts a handler, which calls reply_later() at its end.
  virtual void arrive(ConnectEvent& connect) = 0;
  virtual void arrive(CallEvent& call) = 0;
  // Nothing of the connection reaches the region any more.
  virtual void drained(Connection& connection) = 0;

 protected:
  ~ServedNode() = default;
};

}  // namespace namdb::fabric::sim

// DescriptorWatch: calls a function on the reactor's thread whenever a descriptor of the RDMA stack becomes
// readable, through the reactor's io_uring, so that it also ends its sleep.
#pragma once

#include <functional>

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::verbs {

class DescriptorWatch {
 public:
  // Makes the descriptor non-blocking; it stays the caller's. `readable` reads until there is nothing left.
  DescriptorWatch(reactor::Reactor& reactor, int descriptor, std::function<void()> readable);
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;
  // `readable` is not called any more.
  ~DescriptorWatch();

 private:
  class Request;
  Request* request_;
};

}  // namespace namdb::fabric::verbs

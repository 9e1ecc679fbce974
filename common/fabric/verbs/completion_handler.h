// The owner of a queue pair, as the device calls it. The Device (device.h) finds the handler by the number of
// the queue pair that a completion or an event names. Reactor's thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <span>
#include <string>

namespace namdb::fabric::verbs {

// Called while completions or events of the device are polled: not the place to destroy the queue pair.
class CompletionHandler {
 public:
  // A signalled request, or one that failed, has left the send queue.
  virtual void on_sent(const ibv_wc& completion) = 0;
  // A message has arrived without an error. The bytes are valid during the call.
  virtual void on_received(const ibv_wc& completion, std::span<const std::byte> bytes) = 0;
  // The queue pair is of no use any more.
  virtual void on_device_error(const std::string& reason) = 0;

 protected:
  ~CompletionHandler() = default;
};

}  // namespace namdb::fabric::verbs

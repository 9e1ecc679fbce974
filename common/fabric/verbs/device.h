// Device: an RDMA device as one reactor uses it. Its own context, protection domain, completion queue, and a
// shared receive queue with the buffers that all peers' messages arrive in; and which of this process's
// memory is registered with it. The reactor polls it; before it sleeps, the completion queue is armed. The
// device's own reports (ports, failures) are logged, and end the queue pairs that they concern. Reactor's
// thread.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/facts.h"
#include "common/fabric/local_pool.h"
#include "common/fabric/verbs/completion_handler.h"
#include "common/fabric/verbs/descriptor_watch.h"
#include "common/fabric/verbs/device_handle.h"
#include "common/fabric/verbs/endpoint_counters.h"
#include "common/fabric/verbs/receive_queue.h"
#include "common/reactor/poll_source.h"

namespace namdb::reactor {
class Reactor;
}

namespace namdb::fabric::verbs {

class Device final : private reactor::PollSource {
 public:
  // Errors (configuration) say what the device lacks, or which limit is too small.
  static Result<std::unique_ptr<Device>> open(reactor::Reactor& reactor, ibv_device* device,
                                              std::uint32_t receive_buffers);
  // No endpoint is left.
  ~Device() override;

  std::string name() const { return handle_.name(); }
  // For a line in the log: name, firmware, path MTU of the port, scope of its atomics.
  std::string describe(std::uint8_t port);
  void describe(std::uint8_t port, const ibv_gid& gid, Facts& facts);
  // The page size, in bytes, by which the device finds memory on such pages: the largest that it supports.
  std::uint64_t page_bytes(std::uint64_t memory_page_bytes) const;
  // The device's counters of a port, of all processes that use it, as the kernel shows them.
  void describe_hardware(std::uint8_t port, Facts& facts) const;
  // The sum over all endpoints, past ones included.
  EndpointCounters totals() const;
  ibv_context* context() const { return handle_.context; }
  ibv_pd* domain() const { return handle_.domain; }
  ibv_cq* completions() const { return completions_; }
  ibv_srq* receives() const { return receives_->queue(); }
  const ReceiveQueue& receive_queue() const { return *receives_; }
  const ibv_device_attr& attributes() const { return handle_.attributes; }
  reactor::Reactor& reactor() const { return reactor_; }

  // Local memory that operations may name. Errors (configuration): the limit of locked memory, or no room in
  // the device; then it is tried again when an operation names the memory.
  Status register_local(std::byte* base, std::size_t length_bytes);
  // Deregisters the memory that begins there; no operation that names it is under way.
  void unregister_local(const std::byte* base);
  // Memory that peers reach, at addresses from 0, and windows if they are to be bound to it. The caller
  // deregisters it.
  Result<ibv_mr*> register_remote(std::byte* base, std::size_t length_bytes, bool with_windows);
  // As DeviceHandle::refused().
  Status refused(const std::string& what, int error) const { return handle_.refused(what, error); }
  // The key of registered local memory; none if it is not.
  std::optional<std::uint32_t> local_key(const std::byte* begin, std::size_t length_bytes);
  // Why memory is not registered, if the device was the cause.
  const Status& registration_status() const { return registration_status_; }
  // Buffers of messages that are sent.
  LocalPool& messages() { return messages_; }

  // For queue pairs. Makes room for so many more completions.
  Status reserve_completions(std::uint32_t count);
  void release_completions(std::uint32_t count) { reserved_completions_ -= count; }
  // From now on the handler hears of the queue pair of that number. Both stay until remove(). `counters` are
  // a connection's, which totals() contains; null: a port for datagrams.
  void add(std::uint32_t queue_pair, CompletionHandler& handler, const EndpointCounters* counters);
  void remove(std::uint32_t queue_pair);
  // Takes all completions that are there. Not from within a completion.
  void drain() { poll(); }

  // A report of the device about a queue pair, a port, or itself. Public for tests.
  void on_event(ibv_event_type type, std::uint32_t queue_pair, int port);

 private:
  struct Registration {
    std::byte* base;
    std::size_t length_bytes;
    ibv_mr* region;
  };
  struct QueuePair {
    CompletionHandler* handler;
    const EndpointCounters* counters;  // null: a port for datagrams
  };
  Status try_register(const Registration& memory);

  Device(reactor::Reactor& reactor, ibv_context* context);
  Status set_up(std::uint32_t receive_buffers);
  bool poll() override;
  bool prepare_sleep() override;
  void cancel_sleep() override {}
  void dispatch(const ibv_wc& completion);
  void on_wake_up();
  void take_events();
  void fail_all(const std::string& reason);
  const ibv_port_attr& port_attributes(std::uint8_t port);

  reactor::Reactor& reactor_;
  DeviceHandle handle_;
  bool on_demand_paging_ = false;
  ibv_comp_channel* wake_ups_ = nullptr;
  std::optional<DescriptorWatch> watch_;
  ibv_cq* completions_ = nullptr;
  std::uint32_t reserved_completions_ = 0;
  bool armed_ = false;
  bool polling_ = false;
  std::uint32_t unacknowledged_ = 0;
  std::optional<DescriptorWatch> event_watch_;
  std::uint64_t events_ = 0;
  std::string last_event_;
  std::map<std::uint8_t, ibv_port_attr> ports_;  // asked once, and again after each event
  std::unique_ptr<ReceiveQueue> receives_;
  EndpointCounters retired_;  // of endpoints that are gone
  Status registration_status_;
  std::vector<Registration> registrations_;
  std::vector<Registration> unregistered_;  // what the device had no room for
  std::size_t last_registration_ = 0;
  LocalPool messages_;
  absl::flat_hash_map<std::uint32_t, QueuePair> queue_pairs_;  // by number
};

}  // namespace namdb::fabric::verbs

// Endpoint: one reliable queue pair. It takes batches of one-sided operations and messages, in one order, and
// posts all those of a turn with one doorbell. It accounts for the send queue's slots: a slot is free again
// only when the completion of its request, or of a later one, was seen. Only the last request of a batch and
// one in every quarter of the queue are signalled. Reactor's thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/queue.h"
#include "common/fabric/verbs/completion_handler.h"
#include "common/fabric/verbs/device.h"
#include "common/fabric/verbs/endpoint_counters.h"
#include "common/fabric/verbs/wire.h"
#include "common/reactor/executor.h"

namespace namdb::fabric::verbs {

class EndpointHandler {
 public:
  virtual void on_message(const MessageHeader& header, std::string payload) = 0;
  // The queue pair is of no use any more; once. Called while completions are polled: not the place for
  // destroy().
  virtual void on_broken(Status status) = 0;
  // Everything that was sent with `confirm` has arrived.
  virtual void on_confirmed() {}

 protected:
  ~EndpointHandler() = default;
};

class Endpoint final : private reactor::TurnHook, private CompletionHandler {
 public:
  Endpoint(Device& device, EndpointHandler& handler) : device_(device), handler_(handler) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() override;

  // Makes the queue pair. Errors (limit_exceeded): the device has no more.
  Status create(std::uint32_t send_queue_depth);
  Status modify(ibv_qp_attr attributes, int mask);
  // From now on, when the queue pair can send, it posts the requests that are queued.
  void start();

  std::uint32_t number() const { return queue_pair_->qp_num; }
  // For tests that go past what this class sees to.
  ibv_qp* queue_pair() { return queue_pair_; }
  Device& device() { return device_; }
  const EndpointCounters& counters() const { return counters_; }

  // The key of the peer's region.
  void set_remote_key(std::uint32_t key) { remote_key_ = key; }
  // Begun, not empty, and its operations valid. Completes when all of it has taken effect.
  void post(Batch& batch);
  void send(MessageKind kind, std::uint16_t method, std::uint64_t call, std::string payload,
            bool confirm = false, MemberId member = 0);
  // Binds the window to so many bytes of the region from its beginning, for this queue pair: in effect for
  // the peer before whatever is sent next.
  void bind(ibv_mw& window, std::uint32_t key, ibv_mr& region, std::size_t length_bytes);
  std::size_t unsent_bytes() const { return unsent_bytes_; }
  std::size_t unconfirmed() const { return unconfirmed_; }

  // Neither side's requests are executed any more. Later posts are kept until destroy().
  void stop();
  // After this returns nothing reaches local buffers or comes from the peer; then all batches that are here
  // complete with the status.
  void destroy(const Status& status);

  // The path's, in bytes; 0 before it is known.
  std::uint32_t path_mtu_bytes();
  std::uint32_t depth() const { return depth_; }
  std::uint32_t max_inline_bytes() const { return max_inline_bytes_; }

 private:
  struct Bind {
    ibv_mw* window;
    ibv_mr* region;
    std::uint32_t key;
    std::size_t length_bytes;
  };
  struct Queued {
    Batch* batch = nullptr;    // or
    std::optional<Bind> bind;  // or a message
    std::size_t done = 0;      // operations, or bytes of the message, that are posted
    std::string message;       // the header and its payload
    bool confirm = false;
  };
  // Ends with the completion of the request with this sequence, or of a later one.
  struct InFlight {
    std::uint64_t sequence = 0;
    Batch* batch = nullptr;
    std::byte* buffer = nullptr;
    bool confirm = false;
  };

  void on_device_error(const std::string& reason) override;
  void on_sent(const ibv_wc& completion) override;
  // A message, or a part of one.
  void on_received(const ibv_wc& completion, std::span<const std::byte> bytes) override;
  void end_of_turn() override;
  void schedule();
  void post_queued();
  // Adds requests for what is left of the front of the queue; true if nothing is left.
  bool add_batch(Queued& queued);
  bool add_message(Queued& queued);
  bool add_bind(const Bind& bind);
  ibv_send_wr& add_request(const std::byte* local, std::uint32_t length_bytes, std::uint32_t key);
  void signal(ibv_send_wr& request);
  void break_down(Status status);
  std::uint32_t free_slots() const {
    return depth_ - static_cast<std::uint32_t>(next_sequence_ - first_in_queue_);
  }

  Device& device_;
  EndpointHandler& handler_;
  EndpointCounters counters_;
  ibv_qp* queue_pair_ = nullptr;
  std::uint32_t depth_ = 0;
  std::uint32_t max_inline_bytes_ = 0;
  std::uint32_t path_mtu_bytes_ = 0;
  std::uint32_t remote_key_ = 0;
  bool started_ = false;
  bool stopped_ = false;
  bool scheduled_ = false;
  std::uint64_t next_sequence_ = 0;   // of the next request
  std::uint64_t first_in_queue_ = 0;  // requests before this one have left the send queue
  std::uint64_t last_signalled_ = 0;  // one more than the last signalled request
  Queue<Queued> queued_;
  Queue<InFlight> in_flight_;
  std::size_t unsent_bytes_ = 0;
  std::size_t unconfirmed_ = 0;
  std::vector<ibv_send_wr> requests_;  // being built
  std::vector<ibv_sge> places_;        // theirs

  MessageHeader header_{};  // of the message that arrives
  std::string payload_;
  bool in_message_ = false;
};

}  // namespace namdb::fabric::verbs

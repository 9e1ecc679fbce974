// Link: one connection of the verbs transport: rdma_cm's identifier and the queue pair, which this side
// brings up itself, so that a peer that has proven nothing can send messages and reach no memory. During the
// handshake a coroutine takes from it what it expects; after start() everything goes to the handler.
// Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/handshake.h"
#include "common/fabric/verbs/connection_manager.h"
#include "common/fabric/verbs/endpoint.h"
#include "common/fabric/verbs/options.h"
#include "common/reactor/executor.h"
#include "common/reactor/reactor.h"
#include "common/reactor/task.h"

namespace namdb::fabric::verbs {

class LinkHandler {
 public:
  virtual void on_message(const MessageHeader& header, std::string payload) = 0;
  // Once. Not the place to destroy the link.
  virtual void on_lost(Status status) = 0;

 protected:
  ~LinkHandler() = default;
};

// Finds, or opens, the reactor's Device for the one that an address belongs to.
using DeviceOf = std::function<Result<Device*>(ibv_context* context, std::uint8_t port)>;

class Link final : public HandshakeStream, private ManagerHandler, private EndpointHandler {
 public:
  // A client's, to be connected.
  Link(reactor::Reactor& reactor, ConnectionManager& manager, VerbsOptions options);
  // A server's, of a request; takes the identifier.
  Link(reactor::Reactor& reactor, VerbsOptions options, rdma_cm_id* id);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link();

  // `address` is HOST:PORT. Errors: connection_failure if no server answers; configuration.
  reactor::Task<Status> connect(std::string address, DeviceOf device_of, std::uint64_t deadline_ns);
  // The answer to the request; the handshake can begin.
  Status accept(Device& device, const ManagerEvent& request);
  // Lets the peer's operations reach memory, whose key it is told next.
  Status open_memory();

  reactor::Task<Result<std::string>> take(std::size_t length_bytes, std::uint64_t deadline_ns) override;
  void send(const void* bytes, std::size_t length_bytes) override;
  // Waits until the peer has all that was sent.
  reactor::Task<void> flush(std::uint64_t deadline_ns);
  // Ends the handshake with an error for the coroutine that takes.
  void abort(const std::string& reason = "the handshake was broken off");

  // Ends the handshake. The handler hears of a loss that has happened already before this returns.
  void start(LinkHandler& handler);

  // Nothing is executed or received any more; the peer is told. destroy() remains to be called, by the
  // endpoint's rules.
  void close();

  Endpoint& endpoint() { return *endpoint_; }
  const std::string& peer() const { return peer_; }
  // The device's port.
  std::uint8_t port() const { return id_->port_num; }
  // For a link that is or was connected. `counted`: with the queue pair's counters.
  void describe(Facts& facts, bool counted = true) const;

 private:
  void on_event(const ManagerEvent& event) override;
  void on_message(const MessageHeader& header, std::string payload) override;
  void on_broken(Status status) override;
  void on_confirmed() override { changed_.notify_all(); }

  // The next event of rdma_cm; connection_failure unless it is this one, in time.
  reactor::Task<Status> expect(rdma_cm_event_type type, std::uint64_t deadline_ns);
  Status resolve_address(const std::string& address, std::uint64_t deadline_ns);
  Status make_endpoint(Device& device);
  // To the state, with what rdma_cm knows; the access flags are ours.
  Status advance(ibv_qp_state state);
  void lose(Status status);

  reactor::Reactor& reactor_;
  ConnectionManager* manager_;
  VerbsOptions options_;
  rdma_cm_id* id_ = nullptr;
  std::unique_ptr<Endpoint> endpoint_;
  std::string peer_;
  LinkHandler* handler_ = nullptr;
  reactor::Event changed_;
  std::vector<ManagerEvent> events_;
  std::uint8_t reads_at_a_time_ = 0;  // as both ends agreed
  std::uint8_t traffic_class_ = 0;
  bool connected_ = false;
  bool closed_ = false;
  bool ended_ = false;
  Status end_status_;
  std::string inbox_;
};

}  // namespace namdb::fabric::verbs

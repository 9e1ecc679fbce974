// Rdma_cm's events on a reactor: each identifier has a handler that hears of its events.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/fabric/verbs/descriptor_watch.h"

namespace namdb::fabric::verbs {

struct ManagerEvent {
  rdma_cm_event_type type;
  int status;
  rdma_cm_id* id;  // of a connect request: a new one, which the handler owns
  // In a connect request: the client's offer.
  std::uint8_t responder_resources;
  std::uint8_t initiator_depth;
};

class ManagerHandler {
 public:
  // May destroy its identifier.
  virtual void on_event(const ManagerEvent& event) = 0;

 protected:
  ~ManagerHandler() = default;
};

class ConnectionManager {
 public:
  // Errors (configuration): this machine has no RDMA.
  static Result<std::unique_ptr<ConnectionManager>> create(reactor::Reactor& reactor);
  ConnectionManager(const ConnectionManager&) = delete;
  ConnectionManager& operator=(const ConnectionManager&) = delete;
  // All identifiers are destroyed.
  ~ConnectionManager();

  // Identifiers of requests have their listener's handler until they are given another one.
  Result<rdma_cm_id*> make_identifier(ManagerHandler& handler);
  static void set_handler(rdma_cm_id* id, ManagerHandler& handler) { id->context = &handler; }

 private:
  ConnectionManager(reactor::Reactor& reactor, rdma_event_channel* channel);
  void dispatch();

  rdma_event_channel* channel_;
  DescriptorWatch watch_;
};

}  // namespace namdb::fabric::verbs

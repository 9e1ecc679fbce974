#include "common/fabric/verbs/connection_manager.h"

#include <cerrno>

#include "common/base/check.h"
#include "common/reactor/reactor.h"
#include "common/reactor/system_error.h"

namespace namdb::fabric::verbs {

Result<std::unique_ptr<ConnectionManager>> ConnectionManager::create(reactor::Reactor& reactor) {
  rdma_event_channel* channel = rdma_create_event_channel();
  if (channel == nullptr) {
    const int error = errno;
    const Status why =
        reactor::system_error(ErrorCode::configuration, "this machine has no RDMA to connect by", error);
    return Status(why.code(), why.message(),
                  "it needs an RDMA device, the kernel module rdma_ucm, and access to /dev/infiniband; "
                  "`rdma link show` lists devices");
  }
  return std::unique_ptr<ConnectionManager>(new ConnectionManager(reactor, channel));
}

ConnectionManager::ConnectionManager(reactor::Reactor& reactor, rdma_event_channel* channel)
    : channel_(channel), watch_(reactor, channel->fd, [this] { dispatch(); }) {}

ConnectionManager::~ConnectionManager() {
  rdma_destroy_event_channel(channel_);
}

Result<rdma_cm_id*> ConnectionManager::make_identifier(ManagerHandler& handler) {
  rdma_cm_id* id = nullptr;
  if (rdma_create_id(channel_, &id, &handler, RDMA_PS_TCP) != 0) {
    return reactor::system_error(ErrorCode::limit_exceeded, "an RDMA connection cannot be made", errno);
  }
  return id;
}

void ConnectionManager::dispatch() {
  rdma_cm_event* event = nullptr;
  while (rdma_get_cm_event(channel_, &event) == 0) {
    const ManagerEvent copy{event->event, event->status, event->id, event->param.conn.responder_resources,
                            event->param.conn.initiator_depth};
    // Before the handler runs: an identifier cannot be destroyed while an event of it is not acknowledged.
    rdma_ack_cm_event(event);
    static_cast<ManagerHandler*>(copy.id->context)->on_event(copy);
  }
}

}  // namespace namdb::fabric::verbs

#include "common/fabric/sim/server.h"

#include <algorithm>

#include "common/fabric/sim/graveyard.h"

namespace namdb::fabric::sim {

SimServerFabric::SimServerFabric(SimNode& node, std::span<std::byte> region, Service& service,
                                 std::size_t capacity_bytes)
    : node_(node),
      region_(region),
      capacity_bytes_(std::max(region.size(), capacity_bytes)),
      service_(service),
      tasks_(std::make_unique<Tasks>(node)),
      loopback_fabric_(node),
      loopback_(std::make_unique<SimChannel>(node, loopback_fabric_.pool(),
                                             node.network().connect(node, *this, true))) {}

SimServerFabric::~SimServerFabric() {
  NAMDB_CHECK(closed_ || !node_.alive());
  if (!node_.alive()) bury_pointer(tasks_.release());
  loopback_.reset();
  node_.network().server_closed(*this);
}

reactor::Task<Status> SimServerFabric::listen(std::string address) {
  NAMDB_CHECK(!listening_ && !closed_);
  if (!address.starts_with("sim:")) {
    co_return Status(ErrorCode::configuration, "no address of the simulated fabric: " + address);
  }
  Network& network = node_.network();
  if (network.find_server(address) != nullptr) {
    co_return Status(ErrorCode::configuration, "the address is in use: " + address);
  }
  network.add_server(address, *this);
  listening_ = true;
  co_return Status();
}

void SimServerFabric::grow(std::size_t length_bytes) {
  NAMDB_CHECK(length_bytes >= region_.size() && length_bytes <= capacity_bytes_ && length_bytes % 8 == 0);
  region_ = {region_.data(), length_bytes};
}

Channel& SimServerFabric::loopback() {
  return *loopback_;
}

void SimServerFabric::arrive(ConnectEvent& connect) {
  node_.spawn(tasks_->gate, handle_connect(&connect));
}

reactor::Task<void> SimServerFabric::handle_connect(ConnectEvent* connect) {
  Network& network = node_.network();
  if (!accepts()) {
    connect->result = Status(ErrorCode::connection_failure, connect->address + " is shutting down");
  } else {
    Connection& connection = network.connect(*connect->client, *this, false);
    Result<std::string> welcome = service_.on_connect(connection.peer(), connect->hello);
    if (welcome.ok()) {
      connect->connection = &connection;
      connect->welcome = std::move(*welcome);
      peers_.emplace(connection.peer(), Peer{&connection});
      if (!connect->client->alive()) {
        connection.cut(Status(ErrorCode::connection_failure, "the client is gone"));
      }
    } else {
      connect->result = welcome.status();
      connection.refuse();
    }
  }
  connect->reply_later();
  co_return;
}

void SimServerFabric::arrive(CallEvent& call) {
  call.phase = CallEvent::Phase::handler;
  if (const auto peer = peers_.find(call.connection->peer()); peer != peers_.end()) ++peer->second.handlers;
  node_.spawn(tasks_->gate, handle_call(&call));
}

reactor::Task<void> SimServerFabric::handle_call(CallEvent* call) {
  const PeerId peer = call->connection->peer();
  call->status = co_await service_.on_call(peer, call->method, call->request, call->reply);
  if (call->reply.size() > kMaxCall_bytes) {
    call->reply.clear();
    call->status = Status(ErrorCode::limit_exceeded, "the reply of a call is too long");
  }
  call->connection->reply_later(*call);
  if (const auto found = peers_.find(peer); found != peers_.end()) --found->second.handlers;
  tasks_->changed.notify_all();
}

void SimServerFabric::drained(Connection& connection) {
  node_.spawn(tasks_->gate, handle_drained(connection.peer()));
}

reactor::Task<void> SimServerFabric::handle_drained(PeerId peer) {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) co_return;  // the loopback
  while (found->second.handlers != 0) co_await tasks_->changed.wait();
  found->second.connection->finish();
  peers_.erase(found);
  service_.on_disconnect(peer);
  tasks_->changed.notify_all();
}

reactor::Task<void> SimServerFabric::fence(PeerId peer) {
  if (const auto found = peers_.find(peer); found != peers_.end()) {
    found->second.connection->cut(
        Status(ErrorCode::connection_failure, "the memory server closed the connection"));
  }
  while (peers_.contains(peer)) co_await tasks_->changed.wait();
}

reactor::Task<void> SimServerFabric::close() {
  listening_ = false;
  node_.network().remove_server(*this);
  for (const auto& [peer, state] : peers_) {
    state.connection->cut(Status(ErrorCode::connection_failure, "the memory server is shutting down"));
  }
  while (!peers_.empty()) co_await tasks_->changed.wait();
  co_await tasks_->gate.close();
  closed_ = true;
}

}  // namespace namdb::fabric::sim

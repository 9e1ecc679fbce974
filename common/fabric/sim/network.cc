#include <algorithm>

#include "common/fabric/sim/connection.h"
#include "common/fabric/sim/graveyard.h"

namespace namdb::fabric::sim {
namespace {

std::pair<std::uint32_t, std::uint32_t> link_of(const SimNode& a, const SimNode& b) {
  return {std::min(a.index(), b.index()), std::max(a.index(), b.index())};
}

}  // namespace

Connection& Network::connect(SimNode& client, ServedNode& server, bool loopback) {
  connections_.push_back(std::make_unique<Connection>(*this, client, server, next_peer_++, loopback));
  Connection& connection = *connections_.back();
  const auto delay = delays_.find(link_of(client, server.node()));
  if (delay != delays_.end()) connection.set_delay(delay->second.first, delay->second.second);
  return connection;
}

ServedNode* Network::find_server(const std::string& address) const {
  const auto found = servers_.find(address);
  return found != servers_.end() && found->second->accepts() ? found->second : nullptr;
}

void Network::remove_server(ServedNode& server) {
  std::erase_if(servers_, [&](const auto& entry) { return entry.second == &server; });
}

std::size_t Network::cut_between(SimNode& a, SimNode& b) {
  std::size_t count = 0;
  for (const auto& connection : connections_) {
    if (connection->state() != Connection::State::open) continue;
    const SimNode* client = &connection->client();
    const SimNode* server = &connection->server()->node();
    if ((client == &a && server == &b) || (client == &b && server == &a)) {
      connection->cut(Status(ErrorCode::connection_failure, "the simulated connection was cut"));
      ++count;
    }
  }
  return count;
}

void Network::node_died(SimNode& node) {
  for (const auto& connection : connections_) {
    if (connection->server() != nullptr && &connection->server()->node() == &node) connection->server_died();
    if (&connection->client() == &node) connection->abandon_client();
  }
  for (ConnectEvent* connect : connects) {
    if (connect->client == &node) bury_pointer(connect);
    if (connect->phase == ConnectEvent::Phase::handler && &connect->server->node() == &node) {
      connect->result = Status(ErrorCode::connection_failure, connect->address + " died");
      connect->reply_later();
    }
  }
  std::erase_if(servers_, [&](const auto& entry) { return &entry.second->node() == &node; });
}

void Network::server_closed(ServedNode& server) {
  for (const auto& connection : connections_) {
    if (connection->server() == &server) connection->server_died();
  }
  remove_server(server);
}

void Network::delay(SimNode& a, SimNode& b, std::uint64_t request_ns, std::uint64_t reply_ns) {
  const auto key = link_of(a, b);
  delays_[key] = {request_ns, reply_ns};
  for (const auto& connection : connections_) {
    if (connection->server() == nullptr) continue;
    if (key == link_of(connection->client(), connection->server()->node()))
      connection->set_delay(request_ns, reply_ns);
  }
}

void Network::block(SimNode& a, SimNode& b, bool blocked) {
  if (blocked) {
    blocked_.insert(link_of(a, b));
  } else {
    blocked_.erase(link_of(a, b));
  }
}

bool Network::blocked(const SimNode& a, const SimNode& b) const {
  return blocked_.contains(link_of(a, b));
}

void Network::discard_pools() {
  for (const auto& [node, pool] : pools) {
    if (!node->alive()) pool->discard();
  }
}

void ConnectEvent::reply_later() {
  phase = Phase::reply;
  Scheduler& scheduler = network->scheduler();
  scheduler.schedule(scheduler.now_ns() + 1 + scheduler.options().reply.draw(scheduler.random()), *this);
}

void ConnectEvent::fire() {
  if (phase == Phase::request) {
    server = network->find_server(address);
    if (server != nullptr && network->blocked(*client, server->node())) server = nullptr;
    if (server != nullptr) {
      phase = Phase::handler;
      return server->arrive(*this);
    }
    result = Status(ErrorCode::connection_failure, "nothing listens at " + address);
    return reply_later();
  }
  if (client->alive()) complete(*client, Status());
}

}  // namespace namdb::fabric::sim

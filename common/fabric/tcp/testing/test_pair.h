// Shared by the tcp transport's own tests: a server and a client on one reactor.
#pragma once

#include <spdlog/spdlog.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/tcp/server.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::tcp {

using reactor::Gate;
using reactor::Reactor;
using reactor::Task;

inline constexpr std::uint16_t kEcho = 1;
inline constexpr std::uint16_t kFail = 2;
inline constexpr std::uint16_t kWait = 3;

class TestService final : public Service {
 public:
  explicit TestService(Reactor& reactor) : reactor_(reactor), released_(reactor) {}
  Result<std::string> on_connect(PeerId peer, std::string_view hello) override {
    if (hello == "refuse me") return Status(ErrorCode::fenced, "you are dead", "start again");
    peers_.insert(peer);
    return "welcome, " + std::string(hello);
  }
  Task<Status> on_call(PeerId /*peer*/, std::uint16_t method, std::string_view request,
                       std::string& reply) override {
    ++calls_;
    if (method == kFail) co_return Status(ErrorCode::undefined_object, "no such thing", "look elsewhere");
    if (method == kWait) co_await released_.wait();
    reply = request;
    co_return Status();
  }
  void on_disconnect(PeerId peer) override {
    peers_.erase(peer);
    ++disconnects_;
  }

  Task<void> until_peers(std::size_t count) {
    while (peers_.size() != count) co_await reactor_.sleep_for(kMillisecond_ns / 10);
  }
  Task<void> until_calls(int count) {
    while (calls_ < count) co_await reactor_.sleep_for(kMillisecond_ns / 10);
  }
  void release() { released_.notify_all(); }
  PeerId only_peer() const { return *peers_.begin(); }
  int disconnects() const { return disconnects_; }
  std::size_t peers() const { return peers_.size(); }

 private:
  Reactor& reactor_;
  reactor::Event released_;
  std::set<PeerId> peers_;
  int calls_ = 0;
  int disconnects_ = 0;
};

inline ServerRegion region_of(std::vector<std::uint64_t>& words) {
  return {reinterpret_cast<std::byte*>(words.data()), 8 * words.size(), 8 * words.size(), -1};
}

// A server and a client fabric on one reactor.
class Pair {
 public:
  static constexpr std::size_t kRegion_bytes = 2U << 20;

  explicit Pair(const TcpOptions& server_options = {}, const TcpOptions& client_options = {},
                const reactor::ReactorOptions& reactor_options = {}) {
    spdlog::set_level(spdlog::level::err);  // every peer that a test wrongs is worth a line
    auto created = Reactor::create(reactor_options);
    REQUIRE(created.ok());
    reactor = std::move(*created);
    region.resize(kRegion_bytes / 8);
    service = std::make_unique<TestService>(*reactor);
    server = std::make_unique<TcpServerFabric>(*reactor, region_of(region), *service, server_options);
    client = make_tcp_client_fabric(*reactor, client_options);
    const Status listening = reactor->run_until(server->listen("127.0.0.1:0"));
    REQUIRE(listening.ok());
  }
  ~Pair() {
    reactor->run_until(server->close());
    CHECK(service->peers() == 0);
    CHECK(client->pool().used_bytes() == 0);
  }
  std::byte* place(std::size_t offset) { return reinterpret_cast<std::byte*>(region.data()) + offset; }

  std::unique_ptr<Reactor> reactor;
  std::vector<std::uint64_t> region;
  std::unique_ptr<TestService> service;
  std::unique_ptr<TcpServerFabric> server;
  std::unique_ptr<ClientFabric> client;
};

inline Task<std::unique_ptr<Channel>> connect(Pair& pair, std::string hello = "me") {
  std::string welcome;
  Result<std::unique_ptr<Channel>> channel =
      co_await pair.client->connect(pair.server->address(), hello, &welcome);
  NAMDB_CHECK(channel.ok());
  CHECK(welcome == "welcome, " + hello);
  co_return std::move(*channel);
}

inline Task<void> post_and_wait(Channel& channel, std::uint64_t offset) {
  LocalBuffer buffer(channel.pool(), 64);
  for (int i = 0; i < 10; ++i) {
    Batch batch;
    batch.read(offset, buffer.data(), 64);
    channel.post(batch);
    const Status status = co_await batch.done();
    NAMDB_CHECK(status.ok());
  }
}

}  // namespace namdb::fabric::tcp

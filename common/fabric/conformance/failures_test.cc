// The contract's guarantees for what goes wrong: misuse, refused connections, fences, channels that go away.
#include <catch2/catch.hpp>

#include "common/fabric/conformance/suite.h"

namespace namdb::fabric::conformance {
namespace {

using reactor::Task;

Task<void> fence_peer(ServerFabric* server, PeerId peer) {
  co_await server->fence(peer);
}

// Adds until the channel fails.
Task<void> add_until_failed(Channel* channel, std::uint64_t* confirmed) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  do {
    batch.clear();
    batch.fetch_add(0, 1, buffer.data());
    channel->post(batch);
    co_await batch.done();
    *confirmed += batch.status().ok();
    co_await channel->executor().yield();
  } while (batch.status().ok());
}

Task<void> fence_after(reactor::Executor* executor, ServerFabric* server, SuiteService* service, PeerId peer,
                       std::size_t* reported) {
  co_await executor->sleep_for(300 * kMicrosecond_ns);
  co_await server->fence(peer);
  *reported = service->disconnected().size();
}

// The call and the batch complete, and each one that is posted later fails.
Task<void> post_and_give_up(Channel* channel, bool* failed) {
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  batch.fetch_add(0, 1, buffer.data());
  Call call;
  call.method = kEcho;
  channel->post(batch);
  channel->post(call);
  channel->give_up(Status(ErrorCode::connection_failure, "given up"));
  co_await batch.done();
  co_await call.done();
  while (!channel->failed()) co_await channel->executor().yield();
  batch.clear();
  batch.read(0, buffer.data(), 8);
  channel->post(batch);
  *failed = (co_await batch.done()).code() == ErrorCode::connection_failure;
}

Task<void> connect_to(ClientFabric* fabric, std::string address, Status* status) {
  auto connected = co_await fabric->connect(std::move(address), "hello", nullptr);
  *status = connected.status();
}

// Posts and destroys the channel at once: everything completes, with whatever outcome.
Task<void> post_and_drop(std::unique_ptr<Channel>* channel, int* pending) {
  LocalBuffer buffer((*channel)->pool(), 64);
  std::vector<Batch> batches(10);
  std::vector<Call> calls(10);
  for (Batch& batch : batches) {
    batch.write(0, buffer.data(), 64);
    (*channel)->post(batch);
  }
  for (Call& call : calls) {
    call.method = kEcho;
    call.request = "hello";
    (*channel)->post(call);
  }
  channel->reset();
  for (const Batch& batch : batches) *pending += batch.pending();
  for (const Call& call : calls) *pending += call.pending() || call.status().ok();
  co_return;
}

}  // namespace

TEST_CASE("a connection gets the service's welcome, or its refusal") {
  on_every_transport(1, [](Suite& suite) {
    suite.disconnect(0);
    std::string welcome;
    const std::string hello(3000, 'h');
    REQUIRE(suite.connect(0, hello, &welcome).ok());
    REQUIRE((welcome == "welcome, " + hello));
    suite.disconnect(0);
    const Status refused = suite.connect(0, "refuse me");
    REQUIRE(refused.code() == ErrorCode::fenced);
    REQUIRE(refused.message().ends_with("as you wish"));
    REQUIRE(suite.connect(0).ok());
  });
}

TEST_CASE("connecting to where nobody listens is a connection failure, nonsense is an error") {
  on_every_transport(1, [](Suite& suite) {
    Status status;
    suite.at(0, [&] { return connect_to(&suite.fixture().client(0), suite.fixture().nowhere(), &status); });
    REQUIRE(status.code() == ErrorCode::connection_failure);
    for (const char* nonsense : {"", "unix:", "sim", "%%%", "host:notaport"}) {
      Status outcome;
      suite.at(0, [&] { return connect_to(&suite.fixture().client(0), nonsense, &outcome); });
      REQUIRE(!outcome.ok());
    }
  });
}

TEST_CASE("operations outside of the region are errors that fail their channel and nothing else") {
  on_every_transport(2, [](Suite& suite) {
    const std::uint64_t end = suite.fixture().capacity_bytes();
    struct Wrong {
      std::uint64_t offset;
      std::uint32_t length_bytes;
    };
    const Wrong wrong[] = {
        {end, 8}, {end - 8, 16}, {~std::uint64_t{7}, 8}, {~std::uint64_t{7}, 16}, {1ULL << 63, 64}};
    for (const Wrong& range : wrong) {
      for (const OperationKind kind : {OperationKind::read, OperationKind::write}) {
        const Status status = suite.post(0, [&](Batch& batch, LocalBuffer& buffer) {
          if (kind == OperationKind::read) batch.read(range.offset, buffer.data(), range.length_bytes);
          if (kind == OperationKind::write) batch.write(range.offset, buffer.data(), range.length_bytes);
        });
        REQUIRE(!status.ok());
        REQUIRE(suite.channel(0)->failed());
        suite.disconnect(0);
        REQUIRE(suite.connect(0).ok());
      }
    }
    for (const bool compare_and_swap : {false, true}) {
      const Status status = suite.post(0, [&](Batch& batch, LocalBuffer& buffer) {
        if (compare_and_swap) {
          batch.compare_and_swap(end, 0, 1, buffer.data());
        } else {
          batch.fetch_add(~std::uint64_t{7}, 1, buffer.data());
        }
      });
      REQUIRE(!status.ok());
      suite.disconnect(0);
      REQUIRE(suite.connect(0).ok());
    }
    REQUIRE(suite.post(1, [](Batch& batch, LocalBuffer& buffer) { batch.read(0, buffer.data(), 8); }).ok());
  });
}

TEST_CASE("a channel that is given up fails like one that is lost, and the server hears of it") {
  on_every_transport(2, [](Suite& suite) {
    const PeerId peer = suite.service().connected().at(0);
    bool failed = false;
    suite.at(0, [&] { return post_and_give_up(suite.channel(0).get(), &failed); });
    REQUIRE(failed);
    REQUIRE(suite.channel(0)->failed());
    std::string bytes = "x";
    REQUIRE(!suite.call(0, kEcho, bytes).ok());
    suite.disconnect(0);
    suite.await_disconnected(1);
    REQUIRE(suite.service().disconnected() == std::vector<PeerId>{peer});
    REQUIRE(suite.connect(0).ok());
    REQUIRE(suite.post(0, [](Batch& batch, LocalBuffer& buffer) { batch.read(0, buffer.data(), 8); }).ok());
    REQUIRE(suite.post(1, [](Batch& batch, LocalBuffer& buffer) { batch.read(0, buffer.data(), 8); }).ok());
  });
}

TEST_CASE("a fenced peer's channel fails and stays failed, the others go on") {
  on_every_transport(2, [](Suite& suite) {
    const PeerId peer = suite.service().connected().at(0);
    suite.at(kServer, [&] { return fence_peer(&suite.fixture().server(), peer); });
    REQUIRE(suite.service().disconnected() == std::vector<PeerId>{peer});
    // The client may notice later than the server, but the operation does not happen.
    REQUIRE(!suite
                 .post(0,
                       [](Batch& batch, LocalBuffer& buffer) {
                         buffer.word() = 1;
                         batch.write(0, buffer.data(), 8);
                       })
                 .ok());
    REQUIRE(suite.channel(0)->failed());
    REQUIRE(suite.word(0) == 0);
    std::string bytes = "x";
    REQUIRE(!suite.call(0, kEcho, bytes).ok());
    REQUIRE(!suite.post(0, [](Batch&, LocalBuffer&) {}).ok());
    REQUIRE(
        suite.post(1, [](Batch& batch, LocalBuffer& buffer) { batch.fetch_add(0, 1, buffer.data()); }).ok());
    bytes = "x";
    REQUIRE(suite.call(1, kEcho, bytes).ok());
    // An unknown peer is fenced already; so is this one.
    suite.at(kServer, [&] { return fence_peer(&suite.fixture().server(), peer); });
    suite.at(kServer, [&] { return fence_peer(&suite.fixture().server(), 123'456'789); });
    REQUIRE(suite.service().disconnected().size() == 1);
    // A new connection is a new peer.
    suite.disconnect(0);
    REQUIRE(suite.connect(0).ok());
    REQUIRE(suite.service().connected().size() == 3);
    REQUIRE(suite.service().connected()[2] != peer);
  });
}

TEST_CASE("after a fence nothing of the peer reaches the region") {
  on_every_transport(2, [](Suite& suite) {
    std::uint64_t confirmed = 0;
    std::size_t reported = 0;
    suite.fixture().run({{0, [&] { return add_until_failed(suite.channel(0).get(), &confirmed); }},
                         {kServer, [&] {
                            return fence_after(&suite.fixture().executor(kServer), &suite.fixture().server(),
                                               &suite.service(), suite.service().connected().at(0),
                                               &reported);
                          }}});
    REQUIRE(reported == 1);
    // All confirmed operations have happened; one more may have.
    const std::uint64_t happened = suite.word(0);
    REQUIRE(happened >= confirmed);
    REQUIRE(happened <= confirmed + 1);
    for (int i = 0; i < 10; ++i) {
      std::string bytes = "x";
      REQUIRE(suite.call(1, kEcho, bytes).ok());
      REQUIRE(suite.word(0) == happened);
    }
  });
}

TEST_CASE("a channel that is destroyed completes what was pending, and the server reports it once") {
  on_every_transport(1, [](Suite& suite) {
    int pending = 0;
    suite.at(0, [&] { return post_and_drop(&suite.channel(0), &pending); });
    REQUIRE(pending == 0);
    suite.await_disconnected(1);
    REQUIRE(suite.service().disconnected() == suite.service().connected());
    REQUIRE(suite.connect(0).ok());
    suite.disconnect(0);
    suite.await_disconnected(2);
    REQUIRE(suite.service().disconnected() == suite.service().connected());
  });
}

TEST_CASE("a client fabric holds several channels at the same time") {
  on_every_transport(1, [](Suite& suite) {
    std::unique_ptr<Channel> first;
    std::swap(first, suite.channel(0));
    REQUIRE(suite.connect(0).ok());
    REQUIRE(
        suite.post(0, [](Batch& batch, LocalBuffer& buffer) { batch.fetch_add(0, 1, buffer.data()); }).ok());
    suite.disconnect(0);
    suite.await_disconnected(1);
    std::swap(first, suite.channel(0));
    REQUIRE(
        suite.post(0, [](Batch& batch, LocalBuffer& buffer) { batch.fetch_add(0, 1, buffer.data()); }).ok());
    REQUIRE(suite.word(0) == 2);
  });
}

}  // namespace namdb::fabric::conformance

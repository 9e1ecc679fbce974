// Bits that are flipped between the two ends, in every byte that either of them sends: the connection ends
// with an error that says so, and nothing of a damaged frame is executed or handed on.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/fabric/tcp/testing/test_pair.h"
#include "common/reactor/socket_listener.h"
#include "common/reactor/socket_stream.h"
#include "common/reactor/testing/connect_stream.h"

namespace namdb::fabric::tcp {
namespace {

using reactor::ByteStream;
using reactor::SocketListener;

// One bit of what one end sends, counted from its first byte.
struct Flip {
  std::size_t byte;
  int bit;
};

// Hands on what one end sends to the other, until one of them ends; how many bytes it were.
Task<void> hand_on(ByteStream* from, ByteStream* to, std::optional<Flip> flip, std::size_t* handed_bytes) {
  char buffer[4096];
  while (true) {
    const Result<std::size_t> read = co_await from->read_some(buffer, sizeof buffer);
    if (!read.ok() || *read == 0) break;
    if (flip && flip->byte >= *handed_bytes && flip->byte < *handed_bytes + *read) {
      buffer[flip->byte - *handed_bytes] ^= static_cast<char>(1U << flip->bit);
    }
    *handed_bytes += *read;
    to->write({buffer, *read});
  }
  to->close();
  from->close();
}

struct Traffic {
  std::size_t client_bytes = 0;
  std::size_t server_bytes = 0;
};

// Between one client and the server.
Task<void> relay(Pair& pair, SocketListener& listener, std::optional<Flip> of_client,
                 std::optional<Flip> of_server, Traffic& traffic) {
  const Result<int> descriptor = co_await listener.accept_descriptor();
  NAMDB_CHECK(descriptor.ok());
  const std::unique_ptr<ByteStream> client = reactor::make_socket_stream(*pair.reactor, *descriptor);
  const Result<std::unique_ptr<ByteStream>> server =
      co_await reactor::testing::connect_stream(*pair.reactor, pair.server->address());
  NAMDB_CHECK(server.ok());
  Gate gate;
  pair.reactor->spawn(gate, hand_on(client.get(), server->get(), of_client, &traffic.client_bytes));
  pair.reactor->spawn(gate, hand_on(server->get(), client.get(), of_server, &traffic.server_bytes));
  co_await gate.close();
}

constexpr std::uint64_t kWritten = 0x5A5A5A5A5A5A5A5AU;
constexpr std::uint64_t kAdded = 3;

// All kinds of operations and a call, one after another. Gives the first error.
Task<Status> converse(Pair& pair, std::string address) {
  Result<std::unique_ptr<Channel>> connected = co_await pair.client->connect(address, "me", nullptr);
  if (!connected.ok()) co_return connected.status();
  const std::unique_ptr<Channel> channel = std::move(*connected);
  LocalBuffer buffer(channel->pool(), 64);
  for (std::size_t i = 0; i < 2; ++i) buffer.word(i) = kWritten;
  Batch batch;
  batch.write(0, buffer.data(), 16);
  batch.compare_and_swap(16, 0, kWritten, buffer.data() + 16);
  batch.fetch_add(24, kAdded, buffer.data() + 24);
  batch.read(0, buffer.data() + 32, 32);
  channel->post(batch);
  Status status = co_await batch.done();
  if (status.ok()) {
    CHECK(buffer.word(2) == 0);
    CHECK(buffer.word(3) == 0);
    CHECK(std::memcmp(buffer.data() + 32, pair.place(0), 32) == 0);
    Call call;
    call.method = kEcho;
    call.request = "request";
    channel->post(call);
    status = co_await call.done();
    CHECK(call.reply == (status.ok() ? "request" : ""));
    CHECK(channel->failed() == !status.ok());
  } else {
    CHECK(channel->failed());
  }
  co_return status;
}

struct Outcome {
  Status status;
  Traffic traffic;
};

Outcome run(Pair& pair, std::optional<Flip> of_client, std::optional<Flip> of_server) {
  auto listener = SocketListener::listen(*pair.reactor, "127.0.0.1:0");
  REQUIRE(listener.ok());
  std::ranges::fill(pair.region, 0);
  Outcome outcome;
  Gate gate;
  pair.reactor->spawn(gate, relay(pair, **listener, of_client, of_server, outcome.traffic));
  outcome.status = pair.reactor->run_until(converse(pair, (*listener)->address()));
  pair.reactor->run_until([](Gate* relaying, TestService* service) -> Task<void> {
    co_await relaying->close();
    co_await service->until_peers(0);
  }(&gate, pair.service.get()));
  return outcome;
}

// In the order of the batch, the executed operations are a prefix, and their bytes are as sent.
bool region_is_a_prefix(const Pair& pair) {
  const std::uint64_t wanted[] = {kWritten, kWritten, kWritten, kAdded};
  std::size_t executed = 0;
  while (executed < 4 && pair.region[executed] == wanted[executed]) ++executed;
  if (executed == 1) return false;  // half a WRITE
  for (std::size_t i = executed; i < pair.region.size(); ++i) {
    if (pair.region[i] != 0) return false;
  }
  return true;
}

TEST_CASE("a bit that is flipped on the way ends the connection, and nothing of its frame is executed") {
  TcpOptions options;
  options.key.emplace().bytes.fill(7);
  options.encryption = GENERATE(Encryption::off, Encryption::required);
  Pair pair(options, options);
  const Outcome whole = run(pair, std::nullopt, std::nullopt);
  REQUIRE(whole.status.ok());
  REQUIRE(pair.region[3] == kAdded);
  std::size_t told = 0;
  for (std::size_t byte = 0; byte < whole.traffic.client_bytes; ++byte) {
    const Outcome damaged = run(pair, Flip{byte, static_cast<int>(byte * 5 % 8)}, std::nullopt);
    INFO("byte " << byte << " of " << whole.traffic.client_bytes << " from the client");
    CHECK(!damaged.status.ok());
    CHECK(region_is_a_prefix(pair));
  }
  for (std::size_t byte = 0; byte < whole.traffic.server_bytes; ++byte) {
    const Outcome damaged = run(pair, std::nullopt, Flip{byte, static_cast<int>(byte * 5 % 8)});
    INFO("byte " << byte << " of " << whole.traffic.server_bytes << " from the server");
    CHECK(!damaged.status.ok());
    CHECK(region_is_a_prefix(pair));
    told += damaged.status.message().find("CRC-32C") != std::string::npos ? 1 : 0;
  }
  // All but the magic and the version of a greeting, which tell another protocol or version.
  CHECK(told == whole.traffic.server_bytes - 12);
}

}  // namespace
}  // namespace namdb::fabric::tcp

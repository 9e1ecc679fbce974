// Bytes of strangers and faulty peers end their own connection and nothing else.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/testing/test_pair.h"
#include "common/reactor/socket_stream.h"
#include "common/reactor/testing/connect_stream.h"

namespace namdb::fabric::tcp {
namespace {

using reactor::ByteStream;

Task<std::unique_ptr<ByteStream>> raw(Pair& pair) {
  Result<std::unique_ptr<ByteStream>> stream =
      co_await reactor::testing::connect_stream(*pair.reactor, pair.server->address());
  NAMDB_CHECK(stream.ok());
  co_return std::move(*stream);
}

template <typename T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string greeting(std::uint32_t version, std::uint32_t flags) {
  return sealed(bytes_of(Greeting{kDialect.magic, version, flags, {}}));
}

// A request as a peer sends it that only its contents make impossible.
std::string request(RequestHeader header, std::string_view data = {}) {
  seal(header, std::as_bytes(std::span(data)));
  return bytes_of(header) + std::string(data);
}

std::string greeting_and_hello() {
  return greeting(kDialect.version, 0) + sealed(bytes_of(Hello{3, 0})) + sealed("raw");
}

// A raw peer that passed the handshake.
Task<std::unique_ptr<ByteStream>> raw_peer(Pair& pair) {
  std::unique_ptr<ByteStream> stream = co_await raw(pair);
  stream->write(greeting_and_hello());
  std::size_t expected = sealed(std::string(sizeof(Greeting), 0)).size() +
                         sealed(std::string(sizeof(Answer), 0)).size() + sealed("welcome, raw").size();
  char buffer[1000];
  while (expected != 0) {
    const Result<std::size_t> read = co_await stream->read_some(buffer, expected);
    NAMDB_CHECK(read.ok() && *read != 0);
    expected -= *read;
  }
  co_return stream;
}

Task<void> expect_end(ByteStream& stream) {
  char buffer[1000];
  while (true) {
    const Result<std::size_t> read = co_await stream.read_some(buffer, sizeof buffer);
    if (!read.ok() || *read == 0) co_return;
  }
}

// The server is as good as before.
Task<void> expect_service(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  co_await post_and_wait(*channel, 0);
}

Task<void> bad_handshake(Pair& pair, std::string bytes) {
  std::unique_ptr<ByteStream> stream = co_await raw(pair);
  stream->write(bytes);
  stream->shutdown_write();
  co_await expect_end(*stream);
}

TEST_CASE("a connection that does not shake hands properly is dropped") {
  Pair pair;
  Random random(7);
  std::string noise(100'000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.below(256));
  const std::string whole = greeting_and_hello();
  const std::string cases[] = {
      "",
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
      noise,
      whole.substr(0, 1),
      whole.substr(0, sizeof(Greeting)),
      whole.substr(0, whole.size() - 1),
      greeting(kDialect.version + 1, 0),
      greeting(kDialect.version, Greeting::kHasKey) + sealed(std::string(32, 'p')),
      greeting(kDialect.version, 0) + sealed(bytes_of(Hello{0x80000000U, 0})),
      greeting(kDialect.version, 0) + sealed(bytes_of(Hello{0, 1})),
  };
  for (const std::string& bytes : cases) pair.reactor->run_until(bad_handshake(pair, bytes));
  CHECK(pair.service->disconnects() == 0);
  pair.reactor->run_until(expect_service(pair));
}

Task<void> silent_client(Pair& pair) {
  std::unique_ptr<ByteStream> stream = co_await raw(pair);
  co_await expect_end(*stream);
}

TEST_CASE("a client that says nothing is dropped after a while") {
  TcpOptions options;
  options.handshake_timeout_ns = 5 * kMillisecond_ns;
  Pair pair(options);
  pair.reactor->run_until(silent_client(pair));
}

Task<void> bad_request(Pair& pair, std::string bytes) {
  std::unique_ptr<ByteStream> stream = co_await raw_peer(pair);
  stream->write(bytes);
  co_await expect_end(*stream);
  co_await pair.service->until_peers(0);
}

TEST_CASE("a peer that sends an impossible request is disconnected, and the others are served") {
  Pair pair;
  Random random(7);
  std::string noise(100'000, '\xff');
  const std::string good = request({RequestKind::read, 0, 0, 64, 0});
  const std::string cases[] = {
      noise,
      good + noise,
      good + request({RequestKind::read, 0, 0, 64, Pair::kRegion_bytes}),
      request({RequestKind::read, 0, 0, 64, 4}),
      request({RequestKind::write, 0, 0, 0x80000000U, 0}),
      request({RequestKind::call, 0, 0, 0x80000000U, 0}),
      request({static_cast<RequestKind>(77), 0, 0, 8, 0}),
  };
  int disconnects = 0;
  for (const std::string& bytes : cases) {
    pair.reactor->run_until(bad_request(pair, bytes));
    CHECK(pair.service->disconnects() == ++disconnects);
  }
  pair.reactor->run_until(expect_service(pair));
}

Task<void> random_requests(Pair& pair, std::uint64_t seed) {
  Random random(seed);
  std::unique_ptr<ByteStream> stream = co_await raw_peer(pair);
  std::string bytes;
  for (int i = 0; i < 50; ++i) {
    // Mostly proper ones, so that the improper one meets every state.
    const auto kind = static_cast<RequestKind>(random.between(1, random.chance(0.02) ? 7 : 5));
    const bool atomic = kind == RequestKind::compare_and_swap || kind == RequestKind::fetch_add;
    const auto length_bytes = static_cast<std::uint32_t>(atomic ? 8 : 8 * random.between(1, 40));
    std::size_t data_bytes = kind == RequestKind::read ? 0 : length_bytes;
    if (kind == RequestKind::compare_and_swap) data_bytes = 16;
    if (random.chance(0.02)) data_bytes += random.between(1, 20);
    const std::string data(data_bytes, static_cast<char>(random.below(256)));
    bytes += request({kind, 0, 0, length_bytes, 8 * random.below(100)}, data);
  }
  stream->write(bytes);
  stream->shutdown_write();
  co_await expect_end(*stream);
  co_await pair.service->until_peers(0);
}

TEST_CASE("random requests do no harm") {
  Pair pair;
  for (std::uint64_t seed = 0; seed < 200; ++seed) pair.reactor->run_until(random_requests(pair, seed));
  pair.reactor->run_until(expect_service(pair));
}

Task<void> truncated_write(Pair& pair) {
  std::unique_ptr<ByteStream> stream = co_await raw_peer(pair);
  const std::string data(64, 'w');
  stream->write(request({RequestKind::write, 0, 0, 64, 0}, data));
  const std::string second = request({RequestKind::write, 0, 0, 64, 64}, data);
  stream->write(second.substr(0, second.size() - 1));
  stream->shutdown_write();
  co_await expect_end(*stream);
  co_await pair.service->until_peers(0);
  CHECK(std::memcmp(pair.place(0), data.data(), 64) == 0);
  CHECK(std::string(reinterpret_cast<const char*>(pair.place(64)), 64) == std::string(64, '\0'));
}

TEST_CASE("half a message has no effect, whole ones before it have") {
  Pair pair;
  pair.reactor->run_until(truncated_write(pair));
}

Task<void> greedy_reader(Pair& pair) {
  std::unique_ptr<ByteStream> stream = co_await raw_peer(pair);
  // A gigabyte of answers, if the server took it all at once.
  std::string requests;
  for (int i = 0; i < 1000; ++i) requests += request({RequestKind::read, 0, 0, kMaxOperation_bytes, 0});
  stream->write(requests);
  co_await expect_service(pair);
  std::vector<char> buffer(1U << 20);
  std::size_t received = 0;
  while (received < std::size_t{1000} * kMaxOperation_bytes) {
    const Result<std::size_t> read = co_await stream->read_some(buffer.data(), buffer.size());
    NAMDB_CHECK(read.ok() && *read != 0);
    received += *read;
  }
}

TEST_CASE("a peer that asks for more than it reads waits, and gets it all") {
  Pair pair;
  pair.reactor->run_until(greedy_reader(pair));
}

}  // namespace
}  // namespace namdb::fabric::tcp

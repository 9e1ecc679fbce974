// The tcp transport's own properties: authentication, outside bytes, lost connections, coalescing. What every
// transport must do is in the conformance suite.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "common/fabric/region_words.h"
#include "common/fabric/tcp/client.h"
#include "common/fabric/tcp/cluster_key.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/server.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket_stream.h"

namespace namdb::fabric::tcp {
namespace {

using reactor::ByteStream;
using reactor::Gate;
using reactor::Reactor;
using reactor::Task;

constexpr std::uint16_t kEcho = 1;
constexpr std::uint16_t kFail = 2;
constexpr std::uint16_t kWait = 3;

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

ClusterKey key_of(unsigned char byte) {
  ClusterKey key;
  key.bytes.fill(byte);
  return key;
}

TcpOptions with_key(unsigned char byte) {
  TcpOptions options;
  options.key = key_of(byte);
  return options;
}

// A server and a client fabric on one reactor.
class Pair {
 public:
  static constexpr std::size_t kRegion_bytes = 2U << 20;

  explicit Pair(const TcpOptions& server_options = {}, const TcpOptions& client_options = {},
                const reactor::ReactorOptions& reactor_options = {}) {
    auto created = Reactor::create(reactor_options);
    REQUIRE(created.ok());
    reactor = std::move(*created);
    region.resize(kRegion_bytes / 8);
    service = std::make_unique<TestService>(*reactor);
    server = std::make_unique<TcpServerFabric>(*reactor, std::as_writable_bytes(std::span(region)), *service,
                                               server_options);
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

Task<std::unique_ptr<Channel>> connect(Pair& pair, std::string hello = "me") {
  std::string welcome;
  Result<std::unique_ptr<Channel>> channel =
      co_await pair.client->connect(pair.server->address(), hello, &welcome);
  NAMDB_CHECK(channel.ok());
  CHECK(welcome == "welcome, " + hello);
  co_return std::move(*channel);
}

Task<Status> connect_in_vain(Pair& pair, std::string hello) {
  Result<std::unique_ptr<Channel>> channel =
      co_await pair.client->connect(pair.server->address(), hello, nullptr);
  NAMDB_CHECK(!channel.ok());
  co_return channel.status();
}

Task<void> mixed_batches(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  constexpr std::size_t kLarge_bytes = 300'000 / 8 * 8;
  LocalBuffer written(channel->pool(), kLarge_bytes);
  LocalBuffer read(channel->pool(), kLarge_bytes);
  LocalBuffer words(channel->pool(), 64);
  for (std::size_t i = 0; i < kLarge_bytes / 8; ++i) written.word(i) = i * 0x9E3779B97F4A7C15U;
  for (int round = 0; round < 5; ++round) {
    Batch batch;
    batch.write(8, written.data(), kLarge_bytes);
    batch.fetch_add(0, 5, words.data());
    batch.compare_and_swap(0, words.word() + 1, 0, words.data() + 8);
    batch.read(8, read.data(), kLarge_bytes);
    batch.read(0, words.data() + 16, 8);
    channel->post(batch);
    const Status status = co_await batch.done();
    CHECK(status.ok());
    CHECK(words.word(0) == static_cast<std::uint64_t>(5 * round));
    CHECK(words.word(1) == static_cast<std::uint64_t>(5 * round + 5));
    CHECK(words.word(2) == static_cast<std::uint64_t>(5 * round + 5));
    CHECK(std::memcmp(written.data(), read.data(), kLarge_bytes) == 0);
    std::memset(read.data(), 0, kLarge_bytes);
  }
}

TEST_CASE("operations of all kinds and sizes arrive whole, in every mode of the reactor") {
  for (const bool multishot : {true, false}) {
    for (const std::uint32_t buffer_bytes : {64U, 1000U, 32768U}) {
      reactor::ReactorOptions options;
      options.use_multishot = multishot;
      options.receive_buffer_bytes = buffer_bytes;
      options.receive_buffers = buffer_bytes == 64 ? 1 : 128;
      Pair pair({}, {}, options);
      pair.reactor->run_until(mixed_batches(pair));
    }
  }
}

Task<void> calls(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  Call waiting;
  waiting.method = kWait;
  waiting.request = "late";
  channel->post(waiting);
  for (const std::size_t length_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{kMaxCall_bytes}}) {
    Call call;
    call.method = kEcho;
    call.request = std::string(length_bytes, 'x');
    channel->post(call);
    const Status status = co_await call.done();
    CHECK(status.ok());
    CHECK(call.reply == call.request);
  }
  Call failing;
  failing.method = kFail;
  channel->post(failing);
  Status status = co_await failing.done();
  CHECK(status.code() == ErrorCode::undefined_object);
  CHECK(status.message() == "no such thing");
  CHECK(status.hint() == "look elsewhere");
  Call too_long;
  too_long.method = kEcho;
  too_long.request = std::string(kMaxCall_bytes + 1, 'x');
  channel->post(too_long);
  status = co_await too_long.done();
  CHECK(status.code() == ErrorCode::limit_exceeded);
  CHECK(!channel->failed());
  CHECK(waiting.pending());
  pair.service->release();
  status = co_await waiting.done();
  CHECK(status.ok());
  CHECK(waiting.reply == "late");
}

TEST_CASE("calls are answered as they end, a handler's error is the call's own") {
  Pair pair;
  pair.reactor->run_until(calls(pair));
}

Task<void> post_and_wait(Channel& channel, std::uint64_t offset) {
  LocalBuffer buffer(channel.pool(), 64);
  for (int i = 0; i < 10; ++i) {
    Batch batch;
    batch.read(offset, buffer.data(), 64);
    channel.post(batch);
    const Status status = co_await batch.done();
    NAMDB_CHECK(status.ok());
  }
}

Task<void> many_coroutines(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  const std::uint64_t sends_before = pair.reactor->counters().sends;
  Gate gate;
  for (std::uint64_t i = 0; i < 64; ++i) pair.reactor->spawn(gate, post_and_wait(*channel, 64 * i));
  co_await gate.close();
  // Ten rounds, each one send of 64 requests and one send of 64 answers.
  CHECK(pair.reactor->counters().sends - sends_before <= 24);
}

TEST_CASE("what the coroutines of one turn post leaves in one send, and so do the answers") {
  Pair pair;
  pair.reactor->run_until(many_coroutines(pair));
}

TEST_CASE("the service's refusal reaches the client") {
  Pair pair;
  const Status status = pair.reactor->run_until(connect_in_vain(pair, "refuse me"));
  CHECK(status.code() == ErrorCode::fenced);
  CHECK(status.hint() == "start again");
}

Task<void> connect_once(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  co_await pair.service->until_peers(1);
  channel.reset();
  co_await pair.service->until_peers(0);
}

TEST_CASE("both sides must prove the same cluster key") {
  {
    Pair pair(with_key(1), with_key(1));
    pair.reactor->run_until(connect_once(pair));
  }
  const struct {
    TcpOptions server;
    TcpOptions client;
  } mismatches[] = {{with_key(1), with_key(2)}, {with_key(1), {}}, {{}, with_key(1)}};
  for (const auto& mismatch : mismatches) {
    Pair pair(mismatch.server, mismatch.client);
    const Status status = pair.reactor->run_until(connect_in_vain(pair, "me"));
    CHECK(status.code() == ErrorCode::invalid_authorization);
    CHECK(pair.service->peers() == 0);
  }
}

TEST_CASE("proofs differ by role, key and nonces") {
  const Nonce a = make_nonce();
  const Nonce b = make_nonce();
  CHECK(a != b);
  const Proof proof = make_proof(key_of(1), Role::client, a, b);
  CHECK(equal(proof, make_proof(key_of(1), Role::client, a, b)));
  CHECK(!equal(proof, make_proof(key_of(1), Role::server, a, b)));
  CHECK(!equal(proof, make_proof(key_of(2), Role::client, a, b)));
  CHECK(!equal(proof, make_proof(key_of(1), Role::client, b, a)));
}

TEST_CASE("without a cluster key only loopback addresses are listened on") {
  auto reactor = Reactor::create();
  REQUIRE(reactor.ok());
  TestService service(**reactor);
  std::vector<std::uint64_t> region(8);
  TcpServerFabric open(**reactor, std::as_writable_bytes(std::span(region)), service, {});
  const Status status = (*reactor)->run_until(open.listen("0.0.0.0:0"));
  CHECK(status.code() == ErrorCode::configuration);
  TcpServerFabric keyed(**reactor, std::as_writable_bytes(std::span(region)), service, with_key(1));
  const Status listening = (*reactor)->run_until(keyed.listen("0.0.0.0:0"));
  CHECK(listening.ok());
  (*reactor)->run_until(keyed.close());
}

TEST_CASE("a key file has 32 bytes and is its owner's alone") {
  char folder[] = "/tmp/namdb-key-test-XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/key";
  CHECK(read_cluster_key(path).status().code() == ErrorCode::configuration);
  const auto write_key = [&](std::size_t length_bytes, ::mode_t mode) {
    ::unlink(path.c_str());
    const int descriptor = ::open(path.c_str(), O_CREAT | O_WRONLY, 0600);
    const std::string bytes(length_bytes, 'k');
    REQUIRE(::write(descriptor, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    ::fchmod(descriptor, mode);
    ::close(descriptor);
  };
  write_key(32, 0600);
  CHECK(read_cluster_key(path).ok());
  for (const std::size_t length_bytes : {0, 31, 33}) {
    write_key(length_bytes, 0600);
    CHECK(!read_cluster_key(path).ok());
  }
  for (const ::mode_t mode : {0640U, 0604U, 0620U}) {
    write_key(32, mode);
    CHECK(read_cluster_key(path).status().code() == ErrorCode::configuration);
  }
  ::unlink(path.c_str());
  CHECK(!read_cluster_key(folder).ok());
  ::rmdir(folder);
}

// --- outside bytes ---

Task<std::unique_ptr<ByteStream>> raw(Pair& pair) {
  Result<std::unique_ptr<ByteStream>> stream = co_await connect_stream(*pair.reactor, pair.server->address());
  NAMDB_CHECK(stream.ok());
  co_return std::move(*stream);
}

template <typename T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string greeting_and_hello() {
  return bytes_of(Greeting{kMagic, kVersion, 0, {}}) + bytes_of(Hello{3, 0}) + "raw";
}

// A raw peer that passed the handshake.
Task<std::unique_ptr<ByteStream>> raw_peer(Pair& pair) {
  std::unique_ptr<ByteStream> stream = co_await raw(pair);
  stream->write(greeting_and_hello());
  std::size_t expected = sizeof(Greeting) + sizeof(Answer) + std::string("welcome, raw").size();
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

TEST_CASE("whatever does not shake hands properly is dropped") {
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
      bytes_of(Greeting{kMagic, kVersion + 1, 0, {}}),
      bytes_of(Greeting{kMagic, kVersion, Greeting::kHasKey, {}}) + std::string(32, 'p'),
      bytes_of(Greeting{kMagic, kVersion, 0, {}}) + bytes_of(Hello{0x80000000U, 0}),
      bytes_of(Greeting{kMagic, kVersion, 0, {}}) + bytes_of(Hello{0, 1}),
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
  const std::string good = bytes_of(RequestHeader{RequestKind::read, 0, 0, 64, 0});
  const std::string cases[] = {
      noise,
      good + noise,
      good + bytes_of(RequestHeader{RequestKind::read, 0, 0, 64, Pair::kRegion_bytes}),
      bytes_of(RequestHeader{RequestKind::read, 0, 0, 64, 4}),
      bytes_of(RequestHeader{RequestKind::write, 0, 0, 0x80000000U, 0}),
      bytes_of(RequestHeader{RequestKind::call, 0, 0, 0x80000000U, 0}),
      bytes_of(RequestHeader{static_cast<RequestKind>(77), 0, 0, 8, 0}),
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
    const RequestHeader header{kind, 0, 0, length_bytes, 8 * random.below(100)};
    std::size_t data_bytes = kind == RequestKind::read ? 0 : length_bytes;
    if (kind == RequestKind::compare_and_swap) data_bytes = 16;
    if (random.chance(0.02)) data_bytes += random.between(1, 20);
    bytes += bytes_of(header) + std::string(data_bytes, static_cast<char>(random.below(256)));
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
  stream->write(bytes_of(RequestHeader{RequestKind::write, 0, 0, 64, 0}) + data);
  stream->write(bytes_of(RequestHeader{RequestKind::write, 0, 0, 64, 64}) + data.substr(1));
  stream->shutdown_write();
  co_await expect_end(*stream);
  co_await pair.service->until_peers(0);
  CHECK(std::memcmp(pair.place(0), data.data(), 64) == 0);
  CHECK(std::string(reinterpret_cast<const char*>(pair.place(64)), 64) == std::string(64, '\0'));
}

TEST_CASE("half a message has no effect, what was whole before it has") {
  Pair pair;
  pair.reactor->run_until(truncated_write(pair));
}

Task<void> greedy_reader(Pair& pair) {
  std::unique_ptr<ByteStream> stream = co_await raw_peer(pair);
  // A gigabyte of answers, if the server took it all at once.
  std::string requests;
  for (int i = 0; i < 1000; ++i)
    requests += bytes_of(RequestHeader{RequestKind::read, 0, 0, kMaxOperation_bytes, 0});
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

// --- failures ---

Task<void> fence_under_load(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  co_await pair.service->until_peers(1);
  Call waiting;
  waiting.method = kWait;
  channel->post(waiting);
  co_await pair.service->until_calls(1);
  Gate gate;
  pair.reactor->spawn(gate, pair.server->fence(pair.service->only_peer()));
  Batch batch;
  LocalBuffer buffer(channel->pool(), 64);
  batch.read(0, buffer.data(), 64);
  channel->post(batch);
  Status status = co_await batch.done();
  CHECK(status.code() == ErrorCode::connection_failure);
  status = co_await waiting.done();
  CHECK(status.code() == ErrorCode::connection_failure);
  // The peer's handler is still at work: it may touch the region, so the fence is not through.
  co_await pair.reactor->sleep_for(kMillisecond_ns);
  CHECK(gate.count() == 1);
  CHECK(pair.service->disconnects() == 0);
  pair.service->release();
  co_await gate.close();
  CHECK(pair.service->disconnects() == 1);
  CHECK(channel->failed());
  batch.clear();
  batch.read(0, buffer.data(), 64);
  channel->post(batch);
  CHECK(!batch.pending());
  CHECK(!batch.status().ok());
  Call late;
  channel->post(late);
  CHECK(!late.pending());
  CHECK(!late.status().ok());
  co_await pair.server->fence(12345);
}

TEST_CASE("a fence ends everything of the peer before it returns; its channel stays failed") {
  Pair pair;
  pair.reactor->run_until(fence_under_load(pair));
}

Task<void> destroy_with_pending(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  batch.read(0, buffer.data(), 64);
  channel->post(batch);
  Call call;
  call.method = kEcho;
  channel->post(call);
  channel.reset();
  CHECK(!batch.pending());
  CHECK(!batch.status().ok());
  CHECK(!call.status().ok());
}

TEST_CASE("a channel that is destroyed completes what is pending with an error") {
  Pair pair;
  pair.reactor->run_until(destroy_with_pending(pair));
}

Task<void> loopback(Pair& pair) {
  Channel& channel = pair.server->loopback();
  LocalBuffer buffer(channel.pool(), 64);
  for (std::size_t i = 0; i < 8; ++i) buffer.word(i) = i + 1;
  Batch batch;
  batch.write(0, buffer.data(), 64);
  batch.fetch_add(0, 9, buffer.data());
  batch.compare_and_swap(8, 2, 7, buffer.data() + 8);
  batch.read(8, buffer.data() + 16, 8);
  channel.post(batch);
  CHECK(!batch.pending());
  CHECK(batch.status().ok());
  CHECK(buffer.word(0) == 1);
  CHECK(buffer.word(1) == 2);
  CHECK(buffer.word(2) == 7);
  CHECK(pair.region[0] == 10);
  Call call;
  call.method = kEcho;
  call.request = "hello";
  channel.post(call);
  const Status status = co_await call.done();
  CHECK(status.ok());
  CHECK(call.reply == "hello");
}

TEST_CASE("the loopback channel executes at once") {
  Pair pair;
  pair.reactor->run_until(loopback(pair));
}

}  // namespace
}  // namespace namdb::fabric::tcp

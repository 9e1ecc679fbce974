// Streams over TCP and unix sockets, with every combination of kernel features that the reactor can do
// without.
#include "common/reactor/socket_stream.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/reactor/reactor.h"
#include "common/reactor/socket_address.h"
#include "common/reactor/socket_listener.h"
#include "common/reactor/testing/connect_stream.h"

namespace namdb::reactor {
namespace {

std::unique_ptr<Reactor> make_reactor(ReactorOptions options = {}) {
  auto reactor = Reactor::create(options);
  REQUIRE(reactor.ok());
  return std::move(*reactor);
}

class Folder {
 public:
  Folder() {
    char path[] = "/tmp/namdb-socket-test-XXXXXX";
    REQUIRE(::mkdtemp(path) != nullptr);
    path_ = path;
  }
  ~Folder() { ::rmdir(path_.c_str()); }
  std::string socket(const std::string& name) const { return "unix:" + path_ + "/" + name; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::unique_ptr<SocketListener> listen(Reactor& reactor, const std::string& address) {
  auto listener = SocketListener::listen(reactor, address);
  INFO(listener.status().to_string());
  REQUIRE(listener.ok());
  return std::move(*listener);
}

struct Pair {
  std::unique_ptr<ByteStream> client;
  std::unique_ptr<ByteStream> server;
};

Task<Pair> connected(Reactor& reactor, SocketListener& listener) {
  Pair pair;
  Result<std::unique_ptr<ByteStream>> client = co_await testing::connect_stream(reactor, listener.address());
  NAMDB_CHECK(client.ok());
  pair.client = std::move(*client);
  Result<std::unique_ptr<ByteStream>> server = co_await listener.accept();
  NAMDB_CHECK(server.ok());
  pair.server = std::move(*server);
  co_return pair;
}

// Bytes that tell their position.
char byte_at(std::size_t position) {
  return static_cast<char>((position * 2654435761U) >> 13);
}

Task<void> send_much(ByteStream& stream, std::size_t total_bytes, std::size_t piece_bytes) {
  std::string piece;
  for (std::size_t sent = 0; sent < total_bytes;) {
    piece.clear();
    while (piece.size() < piece_bytes && sent < total_bytes) piece += byte_at(sent++);
    stream.write(piece);
    const Status drained = co_await stream.drain(1U << 20);
    NAMDB_CHECK(drained.ok());
  }
  stream.shutdown_write();
}

Task<std::size_t> receive_all(ByteStream& stream, std::size_t buffer_bytes) {
  std::vector<char> buffer(buffer_bytes);
  std::size_t received = 0;
  while (true) {
    const Result<std::size_t> result = co_await stream.read_some(buffer.data(), buffer.size());
    NAMDB_CHECK(result.ok());
    if (*result == 0) co_return received;
    for (std::size_t i = 0; i < *result; ++i) NAMDB_CHECK(buffer[i] == byte_at(received + i));
    received += *result;
  }
}

Task<void> echo_until_end(ByteStream& stream) {
  std::vector<char> buffer(40'000);
  while (true) {
    const Result<std::size_t> result = co_await stream.read_some(buffer.data(), buffer.size());
    NAMDB_CHECK(result.ok());
    if (*result == 0) break;
    stream.write({buffer.data(), *result});
    const Status drained = co_await stream.drain(100'000);
    NAMDB_CHECK(drained.ok());
  }
  stream.shutdown_write();
}

Task<void> transfer_both_ways(Reactor& reactor, SocketListener& listener, std::size_t total_bytes) {
  const Pair pair = co_await connected(reactor, listener);
  Gate gate;
  reactor.spawn(gate, echo_until_end(*pair.server));
  reactor.spawn(gate, send_much(*pair.client, total_bytes, 10'007));
  const std::size_t received = co_await receive_all(*pair.client, 12'345);
  CHECK(received == total_bytes);
  co_await gate.close();
}

TEST_CASE("big transfers in both directions arrive whole, with and without each kernel feature") {
  const Folder folder;
  for (const bool deferred : {true, false}) {
    for (const bool multishot : {true, false}) {
      for (const std::uint32_t buffers : {1U, 128U}) {
        for (const bool is_unix : {true, false}) {
          ReactorOptions options;
          options.use_deferred_taskrun = deferred;
          options.use_multishot = multishot;
          options.receive_buffers = buffers;
          options.receive_buffer_bytes = buffers == 1 ? 64 : 32768;
          auto reactor = make_reactor(options);
          auto listener = listen(*reactor, is_unix ? folder.socket("s") : "127.0.0.1:0");
          reactor->run_until(transfer_both_ways(*reactor, *listener, buffers == 1 ? 100'000 : 5'000'000));
        }
      }
    }
  }
}

Task<void> half_close(Reactor& reactor, SocketListener& listener) {
  const Pair pair = co_await connected(reactor, listener);
  pair.client->write("question");
  pair.client->shutdown_write();
  char buffer[100];
  Result<std::size_t> read = co_await pair.server->read_some(buffer, sizeof buffer);
  CHECK(std::string(buffer, *read) == "question");
  read = co_await pair.server->read_some(buffer, sizeof buffer);
  CHECK(*read == 0);
  pair.server->write("answer");
  pair.server->shutdown_write();
  read = co_await pair.client->read_some(buffer, sizeof buffer);
  CHECK(std::string(buffer, *read) == "answer");
  read = co_await pair.client->read_some(buffer, sizeof buffer);
  CHECK(*read == 0);
}

TEST_CASE("one direction may end before the other") {
  auto reactor = make_reactor();
  auto listener = listen(*reactor, "127.0.0.1:0");
  reactor->run_until(half_close(*reactor, *listener));
}

Task<void> close_soon(Reactor& reactor, ByteStream& stream) {
  co_await reactor.sleep_for(kMillisecond_ns);
  stream.close();
  stream.close();
}

Task<void> close_while_reading(Reactor& reactor, SocketListener& listener) {
  const Pair pair = co_await connected(reactor, listener);
  Gate gate;
  reactor.spawn(gate, close_soon(reactor, *pair.server));
  char byte;
  Result<std::size_t> read = co_await pair.server->read_some(&byte, 1);
  CHECK(!read.ok());
  CHECK(read.status().code() == ErrorCode::connection_failure);
  read = co_await pair.server->read_some(&byte, 1);
  CHECK(!read.ok());
  pair.server->write("dropped");
  CHECK(pair.server->unsent_bytes() == 0);
  // The other side sees the end, or an error where the system reports a reset.
  read = co_await pair.client->read_some(&byte, 1);
  CHECK((!read.ok() || *read == 0));
  co_await gate.close();
}

Task<void> close_while_draining(Reactor& reactor, SocketListener& listener) {
  const Pair pair = co_await connected(reactor, listener);
  Gate gate;
  pair.server->write(std::string(50U << 20, 'x'));  // it is not read
  reactor.spawn(gate, close_soon(reactor, *pair.server));
  const Status drained = co_await pair.server->drain();
  CHECK(!drained.ok());
  co_await gate.close();
}

TEST_CASE("closing a stream wakes its reader and its writer with an error") {
  for (const bool multishot : {true, false}) {
    ReactorOptions options;
    options.use_multishot = multishot;
    auto reactor = make_reactor(options);
    auto listener = listen(*reactor, "127.0.0.1:0");
    reactor->run_until(close_while_reading(*reactor, *listener));
    reactor->run_until(close_while_draining(*reactor, *listener));
  }
}

Task<void> vanish(Reactor& reactor, SocketListener& listener) {
  Pair pair = co_await connected(reactor, listener);
  pair.client.reset();
  char byte;
  const Result<std::size_t> read = co_await pair.server->read_some(&byte, 1);
  CHECK((!read.ok() || *read == 0));
  // Sooner or later the system refuses bytes that the peer does not receive.
  Status drained;
  while (drained.ok()) {
    pair.server->write("into the void");
    drained = co_await pair.server->drain();
  }
  CHECK(drained.code() == ErrorCode::connection_failure);
}

TEST_CASE("a peer that vanished is noticed by reading and by writing") {
  auto reactor = make_reactor();
  auto listener = listen(*reactor, "127.0.0.1:0");
  reactor->run_until(vanish(*reactor, *listener));
}

// `sent_bytes` arrive, of which the reader takes none.
Task<void> leave_unread(Reactor& reactor, SocketListener& listener, std::size_t sent_bytes, bool reset) {
  const int descriptor = *co_await connect_descriptor(reactor, listener.address());
  if (reset) {
    const linger at_once{1, 0};
    ::setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  Result<std::unique_ptr<ByteStream>> server = co_await listener.accept();
  NAMDB_CHECK(server.ok());
  {
    const std::unique_ptr<ByteStream> client = make_socket_stream(reactor, descriptor);
    client->write(std::string(sent_bytes, 'x'));
    const Status drained = co_await client->drain();
    CHECK(drained.ok());
    CHECK_FALSE((*server)->peer_gone());
  }
  while (!(*server)->peer_gone()) co_await reactor.sleep_for(kMillisecond_ns);
  // The byte that came before is still there, unless the system dropped it.
  char byte;
  const Result<std::size_t> read = co_await (*server)->read_some(&byte, 1);
  CHECK((reset || *read == 1));
}

TEST_CASE("a reader that has not read all that its peer sent notices that the peer is gone") {
  for (const bool multishot : {true, false}) {
    ReactorOptions options;
    options.use_multishot = multishot;
    const Folder folder;
    for (const std::string& address : {std::string("127.0.0.1:0"), folder.socket("s")}) {
      auto reactor = make_reactor(options);
      auto listener = listen(*reactor, address);
      for (const std::size_t sent_bytes : {std::size_t{1}, std::size_t{300'000}}) {
        for (const bool reset : {true, false})
          reactor->run_until(leave_unread(*reactor, *listener, sent_bytes, reset));
      }
    }
  }
}

Task<void> write_many(Reactor& reactor, SocketListener& listener) {
  const Pair pair = co_await connected(reactor, listener);
  const std::uint64_t sends_before = reactor.counters().sends;
  for (int i = 0; i < 1000; ++i) pair.client->write("0123456789");
  char buffer[10'000];
  std::size_t received = 0;
  while (received < sizeof buffer) {
    const Result<std::size_t> read = co_await pair.server->read_some(buffer, sizeof buffer);
    NAMDB_CHECK(read.ok() && *read != 0);
    received += *read;
  }
  CHECK(reactor.counters().sends - sends_before == 1);
}

TEST_CASE("everything that one turn writes leaves in one send") {
  auto reactor = make_reactor();
  auto listener = listen(*reactor, "127.0.0.1:0");
  reactor->run_until(write_many(*reactor, *listener));
}

Task<void> slow_reader(Reactor& reactor, SocketListener& listener) {
  const Pair pair = co_await connected(reactor, listener);
  Gate gate;
  reactor.spawn(gate, send_much(*pair.client, 8U << 20, 65'536));
  // The sender is stopped by the reader, not by memory: it cannot finish while the peer does not read.
  co_await reactor.sleep_for(20 * kMillisecond_ns);
  CHECK(pair.client->unsent_bytes() > 0);
  CHECK(gate.count() == 1);
  const std::size_t received = co_await receive_all(*pair.server, 777);
  CHECK(received == 8U << 20);
  co_await gate.close();
}

TEST_CASE("a reader that does not read makes the sender wait, and loses nothing") {
  for (const bool multishot : {true, false}) {
    ReactorOptions options;
    options.use_multishot = multishot;
    auto reactor = make_reactor(options);
    const Folder folder;
    auto listener = listen(*reactor, folder.socket("s"));
    reactor->run_until(slow_reader(*reactor, *listener));
  }
}

Task<void> accept_into(SocketListener& listener, Status& status) {
  const Result<std::unique_ptr<ByteStream>> stream = co_await listener.accept();
  status = stream.status();
}

Task<void> close_listener(Reactor& reactor, SocketListener& listener) {
  Gate gate;
  Status status;
  reactor.spawn(gate, accept_into(listener, status));
  co_await reactor.sleep_for(kMillisecond_ns);
  listener.close();
  co_await gate.close();
  CHECK(status.code() == ErrorCode::connection_failure);
}

TEST_CASE("closing a listener wakes tasks that accept") {
  for (const bool multishot : {true, false}) {
    ReactorOptions options;
    options.use_multishot = multishot;
    auto reactor = make_reactor(options);
    auto listener = listen(*reactor, "127.0.0.1:0");
    reactor->run_until(close_listener(*reactor, *listener));
  }
}

Task<void> connect_in_vain(Reactor& reactor, std::string address, Status& status) {
  const Result<std::unique_ptr<ByteStream>> stream =
      co_await testing::connect_stream(reactor, std::move(address));
  status = stream.status();
}

TEST_CASE("addresses: bad ones, busy ones, dead ones") {
  auto reactor = make_reactor();
  const Folder folder;
  for (const char* bad :
       {"", ":", "host", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "unix:", "::1:5", "[::1]"}) {
    const auto listener = SocketListener::listen(*reactor, bad);
    INFO(bad);
    REQUIRE(!listener.ok());
    CHECK(listener.status().code() == ErrorCode::configuration);
  }
  CHECK(!SocketListener::listen(*reactor, "unix:" + std::string(108, 'x')).ok());

  auto tcp = listen(*reactor, "127.0.0.1:0");
  CHECK(tcp->is_local());
  CHECK(tcp->address().starts_with("127.0.0.1:"));
  CHECK(tcp->address() != "127.0.0.1:0");
  const auto busy = SocketListener::listen(*reactor, tcp->address(), {.patience_ns = 0});
  REQUIRE(!busy.ok());
  CHECK(busy.status().code() == ErrorCode::configuration);

  {
    auto first = listen(*reactor, folder.socket("s"));
    CHECK(first->address() == folder.socket("s"));
    CHECK(!SocketListener::listen(*reactor, folder.socket("s"), {.patience_ns = 0}).ok());
    struct stat info{};
    REQUIRE(::stat(folder.file("s").c_str(), &info) == 0);
    CHECK((info.st_mode & 0077) == 0);
    // The remains of a killed process: its socket file, without a listener.
    REQUIRE(::link(folder.file("s").c_str(), folder.file("dead").c_str()) == 0);
  }
  CHECK(::access(folder.file("s").c_str(), F_OK) != 0);
  Status status;
  reactor->run_until(connect_in_vain(*reactor, folder.socket("s"), status));
  CHECK(status.code() == ErrorCode::connection_failure);
  auto replaced = listen(*reactor, folder.socket("dead"));

  const std::string gone = tcp->address();
  tcp.reset();
  reactor->run_until(connect_in_vain(*reactor, gone, status));
  CHECK(status.code() == ErrorCode::connection_failure);
}

Task<void> accept_burst(Reactor& reactor, SocketListener& listener, int count) {
  std::vector<std::unique_ptr<ByteStream>> streams;
  for (int i = 0; i < count; ++i) {
    Result<std::unique_ptr<ByteStream>> stream =
        co_await testing::connect_stream(reactor, listener.address());
    NAMDB_CHECK(stream.ok());
    streams.push_back(std::move(*stream));
  }
  for (int i = 0; i < count; ++i) {
    Result<std::unique_ptr<ByteStream>> stream = co_await listener.accept();
    NAMDB_CHECK(stream.ok());
    CHECK((*stream)->peer_is_local());
    streams.push_back(std::move(*stream));
  }
}

Task<void> take_a_turn(Reactor& reactor) {
  co_await reactor.sleep_for(0);
}

TEST_CASE("an address that is in use is taken once its listener is gone", "[socket]") {
  auto reactor = make_reactor();
  const Folder folder;
  const bool is_unix = GENERATE(false, true);
  auto first = listen(*reactor, is_unix ? folder.socket("s") : "127.0.0.1:0");
  const std::string address = first->address();
  int waits = 0;
  const auto second = SocketListener::listen(*reactor, address, {.waits = [&] {
    ++waits;
    first.reset();
    reactor->run_until(take_a_turn(*reactor));
  }});
  REQUIRE(second.ok());
  CHECK((*second)->address() == address);
  CHECK(waits == 1);
}

TEST_CASE("connections that wait to be accepted are neither lost nor taken without bound") {
  auto reactor = make_reactor();
  auto listener = listen(*reactor, "127.0.0.1:0");
  reactor->run_until(accept_burst(*reactor, *listener, 200));
}

}  // namespace
}  // namespace namdb::reactor

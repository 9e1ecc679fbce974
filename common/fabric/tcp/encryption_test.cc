// Encrypted connections: their bytes on the way, sides with different settings, and those that stand between.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "common/base/random.h"
#include "common/fabric/facts.h"
#include "common/fabric/tcp/frames.h"
#include "common/fabric/tcp/testing/test_pair.h"
#include "common/reactor/socket_listener.h"
#include "common/reactor/socket_stream.h"
#include "common/reactor/testing/connect_stream.h"

namespace namdb::fabric::tcp {
namespace {

using reactor::ByteStream;
using reactor::SocketListener;

TcpOptions with_encryption(Encryption encryption, unsigned char key = 7) {
  TcpOptions options;
  options.key.emplace().bytes.fill(key);
  options.encryption = encryption;
  return options;
}

const TcpOptions kRequired = with_encryption(Encryption::required);

// Sees and changes what passes between a client and the server.
struct Middle {
  std::function<void(std::string& bytes)> of_client = [](std::string&) {};
  std::function<void(std::string& bytes)> of_server = [](std::string&) {};
  std::string seen;
};

Task<void> pass_on(ByteStream* from, ByteStream* to, std::function<void(std::string&)>* change,
                   std::string* seen) {
  char buffer[4096];
  while (true) {
    const Result<std::size_t> read = co_await from->read_some(buffer, sizeof buffer);
    if (!read.ok() || *read == 0) break;
    std::string bytes(buffer, *read);
    *seen += bytes;
    (*change)(bytes);
    to->write(bytes);
  }
  to->close();
  from->close();
}

Task<void> stand_between(Pair& pair, SocketListener& listener, Middle& middle) {
  const Result<int> descriptor = co_await listener.accept_descriptor();
  NAMDB_CHECK(descriptor.ok());
  const std::unique_ptr<ByteStream> client = reactor::make_socket_stream(*pair.reactor, *descriptor);
  const Result<std::unique_ptr<ByteStream>> server =
      co_await reactor::testing::connect_stream(*pair.reactor, pair.server->address());
  NAMDB_CHECK(server.ok());
  Gate gate;
  pair.reactor->spawn(gate, pass_on(client.get(), server->get(), &middle.of_client, &middle.seen));
  pair.reactor->spawn(gate, pass_on(server->get(), client.get(), &middle.of_server, &middle.seen));
  co_await gate.close();
}

constexpr std::string_view kText = "this is a text that nobody else may read";

Task<Status> say_it(Pair& pair, std::string address) {
  Result<std::unique_ptr<Channel>> channel = co_await pair.client->connect(address, "me", nullptr);
  if (!channel.ok()) co_return channel.status();
  Call call;
  call.method = kEcho;
  call.request = kText;
  (*channel)->post(call);
  Status status = co_await call.done();
  if (status.ok()) CHECK(call.reply == kText);
  co_return status;
}

Task<void> until_alone(Gate* gate, TestService* service) {
  co_await gate->close();
  co_await service->until_peers(0);
}

Status say_it_through(Pair& pair, Middle& middle) {
  auto listener = SocketListener::listen(*pair.reactor, "127.0.0.1:0");
  REQUIRE(listener.ok());
  Gate gate;
  pair.reactor->spawn(gate, stand_between(pair, **listener, middle));
  Status status = pair.reactor->run_until(say_it(pair, (*listener)->address()));
  pair.reactor->run_until(until_alone(&gate, pair.service.get()));
  return status;
}

TEST_CASE("bytes of an encrypted connection cannot be read on the way") {
  for (const bool encrypted : {false, true}) {
    const TcpOptions options = with_encryption(encrypted ? Encryption::required : Encryption::off);
    Pair pair(options, options);
    Middle middle;
    const Status status = say_it_through(pair, middle);
    CHECK(status.ok());
    CHECK((middle.seen.find(kText) == std::string::npos) == encrypted);
    CHECK((middle.seen.find("welcome") == std::string::npos) == encrypted);
  }
}

Task<std::string> say_facts(Pair& pair) {
  const std::unique_ptr<Channel> channel = co_await connect(pair);
  co_await post_and_wait(*channel, 0);
  Facts facts;
  channel->describe(facts);
  std::string said;
  for (const Fact& fact : facts.all()) {
    if (fact.name == "encryption") said = fact.text;
  }
  co_return said;
}

TEST_CASE("without being told, connections within the machine are not encrypted") {
  const TcpOptions options = with_encryption(Encryption::between_machines);
  Pair pair(options, options);
  CHECK(pair.reactor->run_until(say_facts(pair)).empty());
  Pair encrypted(kRequired, kRequired);
  CHECK(encrypted.reactor->run_until(say_facts(encrypted)) == "AES-128-GCM");
}

Task<void> read_much(Pair& pair) {
  const std::unique_ptr<Channel> channel = co_await connect(pair);
  constexpr std::size_t kBytes = 1U << 20;
  LocalBuffer buffer(channel->pool(), kBytes);
  for (std::size_t i = 0; i < pair.region.size(); ++i) pair.region[i] = i * 0x9E3779B97F4A7C15U;
  for (const std::size_t offset : {std::size_t{0}, std::size_t{8}, kBytes}) {
    Batch batch;
    batch.read(offset, buffer.data(), kBytes);
    channel->post(batch);
    const Status status = co_await batch.done();
    CHECK(status.ok());
    CHECK(std::memcmp(buffer.data(), pair.place(offset), kBytes) == 0);
  }
}

TEST_CASE("long READs pass in many records") {
  Pair pair(kRequired, kRequired);
  pair.reactor->run_until(read_much(pair));
}

TEST_CASE("a side that encrypts talks to none that does not, and both say so") {
  const TcpOptions plain = with_encryption(Encryption::off);
  {
    Pair pair(kRequired, plain);
    const Status status = pair.reactor->run_until(say_it(pair, pair.server->address()));
    CHECK(status.code() == ErrorCode::invalid_authorization);
    CHECK(status.message() == pair.server->address() +
                                  ": the server encrypts its fabric traffic with this "
                                  "side, which does not (--fabric-encryption)");
    CHECK(status.hint().find("--fabric-encryption") != std::string::npos);
  }
  Pair pair(plain, kRequired);
  const Status status = pair.reactor->run_until(say_it(pair, pair.server->address()));
  CHECK(status.code() == ErrorCode::invalid_authorization);
  CHECK(status.message().find("the server does not encrypt its fabric traffic") != std::string::npos);
}

TEST_CASE("encryption needs the same cluster key on both sides") {
  Pair pair(kRequired, with_encryption(Encryption::required, 8));
  const Status status = pair.reactor->run_until(say_it(pair, pair.server->address()));
  CHECK(status.code() == ErrorCode::invalid_authorization);
  CHECK(status.message().find("cluster key") != std::string::npos);
  TcpOptions keyless;
  keyless.encryption = Encryption::required;
  auto reactor = Reactor::create();
  REQUIRE(reactor.ok());
  TestService service(**reactor);
  std::vector<std::uint64_t> region(8);
  TcpServerFabric server(**reactor, region_of(region), service, keyless);
  CHECK((*reactor)->run_until(server.listen("127.0.0.1:0")).code() == ErrorCode::configuration);
}

// In a greeting that begins the bytes.
void change_encryption(std::string& bytes, bool encrypted) {
  if (bytes.size() < sizeof(Greeting) + 4 || !bytes.starts_with("namdbtcp")) return;
  Greeting greeting;
  std::memcpy(&greeting, bytes.data(), sizeof greeting);
  greeting.flags = Greeting::kHasKey | (encrypted ? Greeting::kEncrypts : 0);
  const std::string changed =
      sealed(std::string_view(reinterpret_cast<const char*>(&greeting), sizeof greeting));
  bytes.replace(0, changed.size(), changed);
}

TEST_CASE("nobody between two sides can have them talk in the clear") {
  Pair pair(kRequired, kRequired);
  Middle one_way;
  one_way.of_client = [](std::string& bytes) { change_encryption(bytes, false); };
  CHECK(!say_it_through(pair, one_way).ok());
  Middle both_ways = one_way;
  both_ways.of_server = [](std::string& bytes) { change_encryption(bytes, false); };
  CHECK(!say_it_through(pair, both_ways).ok());
  CHECK(pair.service->disconnects() == 0);
}

TEST_CASE("nobody between two sides can pretend to each that the other encrypts as it does") {
  Pair pair(with_encryption(Encryption::off), kRequired);
  Middle middle;
  middle.of_client = [](std::string& bytes) {
    change_encryption(bytes, false);
    // Without the half of a key, which the server does not expect.
    if (bytes.starts_with("namdbtcp")) bytes.erase(sizeof(Greeting) + 4);
  };
  middle.of_server = [](std::string& bytes) {
    const bool greeting = bytes.starts_with("namdbtcp");
    change_encryption(bytes, true);
    const EphemeralKey own;
    if (greeting) bytes += sealed(std::string(own.share().begin(), own.share().end()));
  };
  CHECK(!say_it_through(pair, middle).ok());
  CHECK(pair.service->disconnects() == 0);
}

TEST_CASE("a half of a key that somebody between puts in is refused") {
  const EphemeralKey own;
  const auto put_in = [&own](std::string& bytes) {
    if (!bytes.starts_with("namdbtcp")) return;
    bytes.replace(sizeof(Greeting) + 4, kShare_bytes + 4,
                  sealed(std::string(own.share().begin(), own.share().end())));
  };
  for (const int direction : {0, 1, 2}) {
    Pair pair(kRequired, kRequired);
    Middle middle;
    if (direction != 0) middle.of_client = put_in;
    if (direction != 1) middle.of_server = put_in;
    const Status status = say_it_through(pair, middle);
    CHECK(status.code() == ErrorCode::invalid_authorization);
    CHECK(pair.service->disconnects() == 0);
  }
}

Task<void> throw_bytes(Pair& pair, std::string bytes) {
  const Result<std::unique_ptr<ByteStream>> stream =
      co_await reactor::testing::connect_stream(*pair.reactor, pair.server->address());
  NAMDB_CHECK(stream.ok());
  (*stream)->write(bytes);
  (*stream)->shutdown_write();
  char buffer[1000];
  while (true) {
    const Result<std::size_t> read = co_await (*stream)->read_some(buffer, sizeof buffer);
    if (!read.ok() || *read == 0) co_return;
  }
}

TEST_CASE("strangers' bytes in a handshake that is to be encrypted do no harm") {
  Pair pair(kRequired, kRequired);
  Random random(11);
  std::string noise(4000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.below(256));
  Greeting greeting{kDialect.magic, kDialect.version, Greeting::kHasKey | Greeting::kEncrypts, {}};
  const std::string first =
      sealed(std::string_view(reinterpret_cast<const char*>(&greeting), sizeof greeting));
  const std::string share = sealed(std::string(kShare_bytes, '\0'));
  const std::string proof = sealed(std::string(kProof_bytes, 'p'));
  const std::string cases[] = {"",
                               first,
                               first + noise,
                               first + share,
                               first + share.substr(0, 20),
                               first + share + proof,
                               first + share + noise,
                               first + proof};
  for (const std::string& bytes : cases) pair.reactor->run_until(throw_bytes(pair, bytes));
  CHECK(pair.service->disconnects() == 0);
  const Status status = pair.reactor->run_until(say_it(pair, pair.server->address()));
  CHECK(status.ok());
  pair.reactor->run_until(pair.service->until_peers(0));
}

}  // namespace
}  // namespace namdb::fabric::tcp

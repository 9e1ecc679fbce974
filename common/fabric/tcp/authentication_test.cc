// Permission to connect: the service's refusal, the cluster key, addresses that others can reach.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/fabric/cluster_key.h"
#include "common/fabric/tcp/testing/test_pair.h"

namespace namdb::fabric::tcp {
namespace {

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

Task<Status> connect_in_vain(Pair& pair, std::string hello) {
  Result<std::unique_ptr<Channel>> channel =
      co_await pair.client->connect(pair.server->address(), hello, nullptr);
  NAMDB_CHECK(!channel.ok());
  co_return channel.status();
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
  const Proof proof = make_proof(key_of(1), "tcp", ProofRole::client, a, b);
  CHECK(equal(proof, make_proof(key_of(1), "tcp", ProofRole::client, a, b)));
  CHECK(!equal(proof, make_proof(key_of(1), "tcp", ProofRole::server, a, b)));
  CHECK(!equal(proof, make_proof(key_of(1), "verbs", ProofRole::client, a, b)));
  CHECK(!equal(proof, make_proof(key_of(2), "tcp", ProofRole::client, a, b)));
  CHECK(!equal(proof, make_proof(key_of(1), "tcp", ProofRole::client, b, a)));
}

TEST_CASE("without a cluster key only loopback addresses are listened on") {
  auto reactor = Reactor::create();
  REQUIRE(reactor.ok());
  TestService service(**reactor);
  std::vector<std::uint64_t> region(8);
  TcpServerFabric open(**reactor, region_of(region), service, {});
  const Status status = (*reactor)->run_until(open.listen("0.0.0.0:0"));
  CHECK(status.code() == ErrorCode::configuration);
  TcpServerFabric keyed(**reactor, region_of(region), service, with_key(1));
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

}  // namespace
}  // namespace namdb::fabric::tcp

#include "common/fabric/session_keys.h"

#include <catch2/catch.hpp>
#include <span>
#include <string>

namespace namdb::fabric {
namespace {

std::string digits(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

ClusterKey cluster_key(unsigned char byte) {
  ClusterKey key;
  key.bytes.fill(byte);
  return key;
}

Secret agreed_secret(unsigned char byte) {
  Secret secret;
  secret.bytes.fill(byte);
  return secret;
}

}  // namespace

// Computed by the definition of HKDF, without OpenSSL.
TEST_CASE("secrets and keys are those of HKDF-SHA256") {
  const SessionSecrets secrets = derive_secrets(cluster_key(1), agreed_secret(2), "tcp", "transcript");
  CHECK(digits(secrets.client.bytes) == "2128f8b0623b8ab52ffbfd95573fd1f0efa81431a03880b009113e3a327d6e05");
  CHECK(digits(secrets.server.bytes) == "f8582ef98f8861a5b6dfc0ca93cbe16080f7bd5b66ef1f3ba620606d2753d3ed");
  const RecordKey key = record_key(secrets.client);
  CHECK(digits(key.key) == "3555dbe6c77ef43e5857ded1fae40c1c");
  CHECK(digits(key.nonce) == "696dcf51020c1eeb2de5e1fd");
  CHECK(digits(next_secret(secrets.client).bytes) ==
        "7e014d092a26af8cdf944a33f83bcf7ae8eaa4831f699fcdbf80569907905fde");
}

TEST_CASE("another key, another agreement, another transcript or transport leads to other secrets") {
  const SessionSecrets secrets = derive_secrets(cluster_key(1), agreed_secret(2), "tcp", "transcript");
  CHECK(secrets.client != secrets.server);
  for (const SessionSecrets& other :
       {derive_secrets(cluster_key(3), agreed_secret(2), "tcp", "transcript"),
        derive_secrets(cluster_key(1), agreed_secret(3), "tcp", "transcript"),
        derive_secrets(cluster_key(1), agreed_secret(2), "tcp", "Transcript"),
        derive_secrets(cluster_key(1), agreed_secret(2), "tcp2", "transcript")}) {
    CHECK(other.client != secrets.client);
    CHECK(other.server != secrets.server);
  }
}

TEST_CASE("two sides agree on a secret that a third one does not have") {
  const EphemeralKey client;
  const EphemeralKey server;
  const EphemeralKey third;
  CHECK(client.share() != server.share());
  const Result<Secret> of_client = client.agree(server.share());
  const Result<Secret> of_server = server.agree(client.share());
  REQUIRE((of_client.ok() && of_server.ok()));
  CHECK(*of_client == *of_server);
  CHECK(*third.agree(server.share()) != *of_client);
}

TEST_CASE("shares that lead to the same secret with every key are refused") {
  const EphemeralKey key;
  Share share{};
  CHECK(key.agree(share).status().code() == ErrorCode::protocol_violation);
  share[0] = 1;
  CHECK(!key.agree(share).ok());
}

}  // namespace namdb::fabric

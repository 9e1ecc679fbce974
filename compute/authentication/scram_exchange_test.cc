#include "compute/authentication/scram_exchange.h"

#include <catch2/catch.hpp>

#include "compute/authentication/testing/scram_client.h"

namespace namdb::authentication {

using testing::ScramClient;

namespace {

const std::string kHash = "the hash of a certificate, bytes";
constexpr const char* kRfcServerNonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";

// RFC 7677's.
ScramVerifier pencil() {
  return make_scram_verifier("pencil", *from_base64("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096);
}

ErrorCode first_error(std::string_view mechanism, std::string_view message, const std::string& hash = {}) {
  ScramExchange exchange(pencil(), hash);
  const auto answer = exchange.first(mechanism, message);
  REQUIRE_FALSE(answer.ok());
  return answer.status().code();
}

ErrorCode last_error(ScramExchange exchange, std::string_view message) {
  const auto answer = exchange.last(message);
  REQUIRE_FALSE(answer.ok());
  return answer.status().code();
}

}  // namespace

TEST_CASE("The exchange of RFC 7677", "[scram]") {
  ScramExchange exchange(pencil(), {}, kRfcServerNonce);
  CHECK(exchange.mechanisms() == std::vector<std::string_view>{"SCRAM-SHA-256"});
  const auto challenge = exchange.first("SCRAM-SHA-256", "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
  REQUIRE(challenge.ok());
  CHECK(*challenge ==
        "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
  const auto answer = exchange.last(
      "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
      "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
  REQUIRE(answer.ok());
  CHECK(*answer == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

TEST_CASE("A wrong password is found out, with and without a binding", "[scram]") {
  for (const std::string& hash : {std::string(), kHash}) {
    for (const char* password : {"pencil", "pencils", ""}) {
      ScramExchange exchange(pencil(), hash);
      ScramClient client(password, hash);
      const auto challenge = exchange.first(client.mechanism(), client.first());
      REQUIRE(challenge.ok());
      const auto answer = exchange.last(client.last(*challenge));
      CHECK(answer.ok() == (std::string_view(password) == "pencil"));
      if (answer.ok()) CHECK(client.accepts(*answer));
      if (!answer.ok()) CHECK(answer.status().code() == ErrorCode::invalid_password);
    }
  }
}

TEST_CASE("Nonces of the server differ", "[scram]") {
  ScramExchange first(pencil(), {});
  ScramExchange second(pencil(), {});
  CHECK(*first.first("SCRAM-SHA-256", "n,,n=,r=abc") != *second.first("SCRAM-SHA-256", "n,,n=,r=abc"));
}

TEST_CASE("A binding is offered with a certificate, and cannot be taken out of the offer", "[scram]") {
  CHECK(ScramExchange(pencil(), kHash).mechanisms() ==
        std::vector<std::string_view>{"SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"});
  // A client that could bind, and was told that the server cannot.
  CHECK(first_error("SCRAM-SHA-256", "y,,n=,r=abc", kHash) == ErrorCode::invalid_authorization);
  CHECK(ScramExchange(pencil(), {}).first("SCRAM-SHA-256", "y,,n=,r=abc").ok());
  CHECK(ScramExchange(pencil(), kHash).first("SCRAM-SHA-256", "n,,n=,r=abc").ok());
  CHECK(first_error("SCRAM-SHA-256-PLUS", "p=tls-server-end-point,,n=,r=abc") ==
        ErrorCode::protocol_violation);
  for (const char* flag : {"n", "y", "p=tls-unique", "p=", "p", "x", ""})
    CHECK(first_error("SCRAM-SHA-256-PLUS", std::string(flag) + ",,n=,r=abc", kHash) ==
          ErrorCode::protocol_violation);
  CHECK(first_error("SCRAM-SHA-256", "p=tls-server-end-point,,n=,r=abc", kHash) ==
        ErrorCode::protocol_violation);
}

TEST_CASE("A binding to another certificate is refused", "[scram]") {
  // An attacker between the two, with another certificate.
  ScramExchange exchange(pencil(), kHash);
  ScramClient client("pencil", "the hash of another certificate!");
  const auto challenge = exchange.first(client.mechanism(), client.first());
  REQUIRE(challenge.ok());
  const auto answer = exchange.last(client.last(*challenge));
  REQUIRE_FALSE(answer.ok());
  CHECK(answer.status().code() == ErrorCode::protocol_violation);
  CHECK(answer.status().message() == "SCRAM channel binding check failed");
}

TEST_CASE("Malformed first messages", "[scram]") {
  for (const char* message : {"", "n", "n,", "n,,", "n,,n", "n,,n=", "n,,n=u", "n,,n=u,", "n,,n=u,r",
                              "n,,n=u,r=", "n,,r=abc", "nn,,n=,r=a", "n,x,n=,r=a", "n,,n=,r=a\x7f",
                              "n,,n=,r=a b", "n,,n=,r=\xc3\xa4", ",,,,", "c=biws,r=a,p=b"})
    CHECK(first_error("SCRAM-SHA-256", message) == ErrorCode::protocol_violation);
  CHECK(first_error("SCRAM-SHA-256", "n,a=other,n=,r=abc") == ErrorCode::feature_not_supported);
  CHECK(first_error("SCRAM-SHA-256", "n,,m=x,n=,r=abc") == ErrorCode::feature_not_supported);
  for (const char* mechanism : {"", "SCRAM-SHA-1", "scram-sha-256", "PLAIN"})
    CHECK(first_error(mechanism, "n,,n=,r=abc") == ErrorCode::protocol_violation);
  CHECK(first_error("SCRAM-SHA-256", std::string("n,,n=,r=a\0b", 11)) == ErrorCode::protocol_violation);
}

TEST_CASE("Malformed last messages", "[scram]") {
  ScramExchange exchange(pencil(), {});
  ScramClient client("pencil", {});
  const auto challenge = exchange.first(client.mechanism(), client.first());
  REQUIRE(challenge.ok());
  const std::string good = client.last(*challenge);
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK(last_error(exchange, good.substr(0, length)) == ErrorCode::protocol_violation);
  const std::string nonce = good.substr(0, good.find(",p="));
  const std::string proof = good.substr(good.find(",p="));
  // The nonce of the client alone, of nobody, with more behind it.
  CHECK(last_error(exchange, "c=biws,r=" + client.nonce() + proof) == ErrorCode::protocol_violation);
  CHECK(last_error(exchange, "c=biws,r=" + proof) == ErrorCode::protocol_violation);
  CHECK(last_error(exchange, nonce + "x" + proof) == ErrorCode::protocol_violation);
  // Another header than the one of the first message.
  CHECK(last_error(exchange, "c=eSws" + nonce.substr(6) + proof) == ErrorCode::protocol_violation);
  CHECK(last_error(exchange, nonce + ",p=") == ErrorCode::protocol_violation);
  CHECK(last_error(exchange, nonce + ",p=YWJj") == ErrorCode::protocol_violation);
  CHECK(last_error(exchange, nonce + proof + "=") == ErrorCode::protocol_violation);
  // The proof covers the message: with an extension more it is another one.
  CHECK(last_error(exchange, nonce + ",x=1" + proof) == ErrorCode::invalid_password);
  CHECK(exchange.last(good).ok());
}

}  // namespace namdb::authentication

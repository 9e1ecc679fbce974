#include "compute/authentication/scram.h"

#include <catch2/catch.hpp>
#include <set>

namespace namdb::authentication {
namespace {

std::string salt_of_rfc() {
  return *from_base64("W22ZaJ0SNY7soEsUEjb6gQ==");
}

}  // namespace

TEST_CASE("A verifier is PostgreSQL's text of it", "[scram]") {
  // The keys are those of another implementation.
  const std::string text = to_text(make_scram_verifier("pencil", salt_of_rfc(), 4096));
  CHECK(text ==
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=");
  const auto parsed = parse_scram_verifier(text);
  REQUIRE(parsed);
  CHECK(to_text(*parsed) == text);
  const auto few = make_scram_verifier("pencil", "salt", 1);
  CHECK(to_text(*parse_scram_verifier(to_text(few))) == to_text(few));
}

TEST_CASE("Two verifiers of one password differ, and each is right", "[scram]") {
  const std::string first = scram_verifier("p");
  CHECK(first != scram_verifier("p"));
  const auto parsed = parse_scram_verifier(first);
  REQUIRE(parsed);
  CHECK(parsed->iterations == kScramIterations);
  CHECK(parsed->salt.size() == kScramSalt_bytes);
  CHECK(make_scram_verifier("p", parsed->salt, parsed->iterations).stored_key == parsed->stored_key);
  CHECK(make_scram_verifier("q", parsed->salt, parsed->iterations).stored_key != parsed->stored_key);
}

TEST_CASE("A malformed verifier is a password", "[scram]") {
  const std::string good = scram_verifier("p");
  CHECK(is_scram_verifier(good));
  for (std::size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(is_scram_verifier(good.substr(0, length)));
  CHECK_FALSE(is_scram_verifier(good + "="));
  CHECK_FALSE(is_scram_verifier(" " + good));
  CHECK_FALSE(is_scram_verifier("md5" + good));
  const std::string rest = good.substr(good.find(':'));
  for (const char* iterations : {"", "0", "-1", "4096 ", "+1", "99999999999", "x"})
    CHECK_FALSE(is_scram_verifier("SCRAM-SHA-256$" + std::string(iterations) + rest));
}

TEST_CASE("A user without a password is asked the same each time, and as others are", "[scram]") {
  const std::array<unsigned char, 32> secret{1, 2, 3};
  const std::array<unsigned char, 32> other{3, 2, 1};
  const ScramVerifier mock = mock_scram_verifier(secret, "nobody");
  CHECK(to_text(mock) == to_text(mock_scram_verifier(secret, "nobody")));
  CHECK(is_scram_verifier(to_text(mock)));
  CHECK(mock.iterations == kScramIterations);
  CHECK(mock.salt.size() == kScramSalt_bytes);
  CHECK(mock.salt != mock_scram_verifier(secret, "nobody2").salt);
  CHECK(mock.salt != mock_scram_verifier(other, "nobody").salt);
}

TEST_CASE("Base64 is read in one form only", "[scram]") {
  CHECK(from_base64("YQ==") == "a");
  CHECK(from_base64("") == "");
  for (const char* text : {"YQ", "YQ=", "YQ== ", " YQ==", "YR==", "Y", "YQ==YQ==", "Y\nQ=="})
    CHECK_FALSE(from_base64(text));
}

}  // namespace namdb::authentication

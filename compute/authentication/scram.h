// Verifiers of passwords for SCRAM-SHA-256 (RFC 5802, RFC 7677), in PostgreSQL's text:
// `SCRAM-SHA-256$ITERATIONS:SALT$STORED_KEY:SERVER_KEY`, the last three in Base64. A reader of verifiers
// can check a client's proof, but not log in without guessing the password, at the cost of the iterations
// for each guess.
//
// Passwords are taken byte by byte, which is what SASLprep (RFC 4013) makes of ASCII. Other characters
// are not normalized: a password with those that SASLprep would change is only right when a client makes
// its verifier.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace namdb::authentication {

inline constexpr std::uint32_t kScramIterations = 4096;
inline constexpr std::size_t kScramSalt_bytes = 16;
inline constexpr std::size_t kScramKey_bytes = 32;
using ScramKey = std::array<unsigned char, kScramKey_bytes>;

struct ScramVerifier {
  std::uint32_t iterations = kScramIterations;
  std::string salt;  // bytes
  ScramKey stored_key{};
  ScramKey server_key{};
};

// The text of a new verifier, with a random salt. Takes about two milliseconds.
std::string scram_verifier(std::string_view password);
// With that salt, bytes of which there is at least one. At least one iteration.
ScramVerifier make_scram_verifier(std::string_view password, std::string_view salt, std::uint32_t iterations);

std::string to_text(const ScramVerifier& verifier);
// nullopt: the text is not a verifier.
std::optional<ScramVerifier> parse_scram_verifier(std::string_view text);
inline bool is_scram_verifier(std::string_view text) {
  return parse_scram_verifier(text).has_value();
}

// Stands for the verifier of a user who has none: the same salt whenever that name is asked about, as if
// there was a user, and keys that no password has. `secret` is known to the cluster only.
ScramVerifier mock_scram_verifier(std::span<const unsigned char> secret, std::string_view user);

// --- the parts of the computation, for the exchange ---
ScramKey hmac_sha256(std::span<const unsigned char> key, std::string_view message);
ScramKey sha256(std::span<const unsigned char> bytes);
std::string to_base64(std::string_view bytes);
// nullopt unless it is just what to_base64() makes of some bytes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace namdb::authentication

#include "compute/authentication/scram_exchange.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "common/base/check.h"

namespace namdb::authentication {
namespace {

constexpr std::size_t kServerNonce_bytes = 18;
constexpr std::string_view kBinding = "tls-server-end-point";

std::string make_server_nonce() {
  std::array<unsigned char, kServerNonce_bytes> bytes;
  NAMDB_CHECK(::RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) == 1);
  return to_base64({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Status malformed(std::string reason) {
  return Status(ErrorCode::protocol_violation, "malformed SCRAM message", std::move(reason));
}

// The value of the attribute `name=value` at the front, without the comma behind it.
std::optional<std::string_view> take_attribute(std::string_view& rest, char name) {
  if (rest.size() < 2 || rest[0] != name || rest[1] != '=') return std::nullopt;
  const std::size_t end = std::min(rest.find(','), rest.size());
  const std::string_view value = rest.substr(2, end - 2);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return value;
}

bool is_nonce(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return c >= 0x21 && c <= 0x7e && c != ','; });
}

}  // namespace

ScramExchange::ScramExchange(ScramVerifier verifier, std::string certificate_hash)
    : ScramExchange(std::move(verifier), std::move(certificate_hash), make_server_nonce()) {}

ScramExchange::ScramExchange(ScramVerifier verifier, std::string certificate_hash, std::string server_nonce)
    : verifier_(std::move(verifier)),
      certificate_hash_(std::move(certificate_hash)),
      server_nonce_(std::move(server_nonce)) {}

std::vector<std::string_view> ScramExchange::mechanisms() const {
  if (certificate_hash_.empty()) return {kScram};
  return {kScramPlus, kScram};
}

// gs2-header: the binding, an authorization identity that must be empty, and a comma behind each.
Result<std::string_view> ScramExchange::take_header(std::string_view& message) {
  const std::string_view whole = message;
  const std::size_t end = message.find(',');
  if (end == std::string_view::npos) return malformed("There is no channel-binding flag.");
  const std::string_view binding = message.substr(0, end);
  message.remove_prefix(end + 1);
  if (binding == "n" || binding == "y") {
    if (bound_) {
      return malformed(
          "The client selected SCRAM-SHA-256-PLUS, but the SCRAM message does not include channel binding "
          "data.");
    }
    if (binding == "y" && !certificate_hash_.empty()) {
      return Status(ErrorCode::invalid_authorization, "SCRAM channel binding negotiation error",
                    "The client supports SCRAM channel binding but thinks the server does not. However, this "
                    "server does support channel binding.");
    }
  } else if (binding.starts_with("p=")) {
    if (!bound_) {
      return malformed(
          "The client selected SCRAM-SHA-256 without channel binding, but the SCRAM message includes channel "
          "binding data.");
    }
    if (binding.substr(2) != kBinding)
      return Status(ErrorCode::protocol_violation, "unsupported SCRAM channel-binding type",
                    "The only one is tls-server-end-point.");
  } else {
    return malformed("The channel-binding flag is neither n, y nor p.");
  }
  if (message.starts_with("a=")) {
    return Status(ErrorCode::feature_not_supported,
                  "client uses authorization identity, but it is not supported");
  }
  if (!message.starts_with(',')) return malformed("A comma is missing behind the channel-binding flag.");
  message.remove_prefix(1);
  return whole.substr(0, whole.size() - message.size());
}

Result<std::string> ScramExchange::first(std::string_view mechanism, std::string_view message) {
  const auto offered = mechanisms();
  if (std::ranges::find(offered, mechanism) == offered.end())
    return Status(ErrorCode::protocol_violation, "client selected an invalid SASL authentication mechanism");
  bound_ = mechanism == kScramPlus;
  std::string_view rest = message;
  const Result<std::string_view> header = take_header(rest);
  if (!header.ok()) return header.status();
  header_ = *header;
  client_first_ = rest;
  if (rest.starts_with("m=")) {
    return Status(ErrorCode::feature_not_supported, "client requires an unsupported SCRAM extension");
  }
  // The name is that of the start-up packet; the one here is ignored.
  if (!take_attribute(rest, 'n')) return malformed("The user name is missing.");
  const std::optional<std::string_view> client_nonce = take_attribute(rest, 'r');
  if (!client_nonce) return malformed("The nonce is missing.");
  if (!is_nonce(*client_nonce))
    return Status(ErrorCode::protocol_violation, "non-printable characters in SCRAM nonce");
  nonce_ = std::string(*client_nonce) + server_nonce_;
  server_first_ =
      "r=" + nonce_ + ",s=" + to_base64(verifier_.salt) + ",i=" + std::to_string(verifier_.iterations);
  return server_first_;
}

Result<std::string> ScramExchange::last(std::string_view message) {
  NAMDB_CHECK(!nonce_.empty());
  const std::size_t proof_at = message.rfind(",p=");
  if (proof_at == std::string_view::npos) return malformed("The proof is missing.");
  std::string_view rest = message.substr(0, proof_at);
  const std::string without_proof(rest);
  const std::optional<std::string_view> binding = take_attribute(rest, 'c');
  if (!binding) return malformed("The channel binding is missing.");
  if (*binding != to_base64(bound_ ? header_ + certificate_hash_ : header_)) {
    return Status(ErrorCode::protocol_violation,
                  bound_ ? "SCRAM channel binding check failed"
                         : "unexpected SCRAM channel-binding attribute in client-final-message");
  }
  const std::optional<std::string_view> nonce = take_attribute(rest, 'r');
  if (!nonce) return malformed("The nonce is missing.");
  if (*nonce != nonce_)
    return Status(ErrorCode::protocol_violation, "invalid SCRAM response", "Nonce does not match.");
  const std::optional<std::string> proof = from_base64(message.substr(proof_at + 3));
  if (!proof || proof->size() != kScramKey_bytes) return malformed("The proof is not 32 bytes in Base64.");

  const std::string signed_text = client_first_ + "," + server_first_ + "," + without_proof;
  const ScramKey signature = hmac_sha256(verifier_.stored_key, signed_text);
  ScramKey client_key;
  for (std::size_t i = 0; i < client_key.size(); ++i)
    client_key[i] = static_cast<unsigned char>(signature[i] ^ static_cast<unsigned char>((*proof)[i]));
  const ScramKey stored_key = sha256(client_key);
  if (::CRYPTO_memcmp(stored_key.data(), verifier_.stored_key.data(), stored_key.size()) != 0)
    return Status(ErrorCode::invalid_password, "password authentication failed");
  const ScramKey answer = hmac_sha256(verifier_.server_key, signed_text);
  return "v=" + to_base64({reinterpret_cast<const char*>(answer.data()), answer.size()});
}

}  // namespace namdb::authentication

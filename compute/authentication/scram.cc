#include "compute/authentication/scram.h"

#include <absl/strings/escaping.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <charconv>

#include "common/base/check.h"

namespace namdb::authentication {
namespace {

constexpr std::string_view kVerifierPrefix = "SCRAM-SHA-256$";

std::string_view as_text(const ScramKey& key) {
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

// Takes what stands before the separator, and the separator, from the front.
std::optional<std::string_view> take_until(std::string_view& text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at + 1);
  return taken;
}

bool read_key(std::string_view text, ScramKey& key) {
  const std::optional<std::string> bytes = from_base64(text);
  if (!bytes || bytes->size() != key.size()) return false;
  std::copy(bytes->begin(), bytes->end(), key.begin());
  return true;
}

}  // namespace

ScramKey hmac_sha256(std::span<const unsigned char> key, std::string_view message) {
  ScramKey code;
  unsigned length = 0;
  NAMDB_CHECK(::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                     reinterpret_cast<const unsigned char*>(message.data()), message.size(), code.data(),
                     &length) != nullptr);
  NAMDB_CHECK(length == code.size());
  return code;
}

ScramKey sha256(std::span<const unsigned char> bytes) {
  ScramKey digest;
  unsigned length = 0;
  NAMDB_CHECK(::EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, ::EVP_sha256(), nullptr) == 1);
  NAMDB_CHECK(length == digest.size());
  return digest;
}

std::string to_base64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  // It overlooks blanks and missing padding.
  if (!absl::Base64Unescape({text.data(), text.size()}, &bytes) || to_base64(bytes) != text)
    return std::nullopt;
  return bytes;
}

ScramVerifier make_scram_verifier(std::string_view password, std::string_view salt,
                                  std::uint32_t iterations) {
  NAMDB_CHECK(!salt.empty() && iterations >= 1);
  ScramKey salted;
  NAMDB_CHECK(::PKCS5_PBKDF2_HMAC(password.data(), static_cast<int>(password.size()),
                                  reinterpret_cast<const unsigned char*>(salt.data()),
                                  static_cast<int>(salt.size()), static_cast<int>(iterations), ::EVP_sha256(),
                                  static_cast<int>(salted.size()), salted.data()) == 1);
  ScramVerifier verifier;
  verifier.iterations = iterations;
  verifier.salt = salt;
  verifier.stored_key = sha256(hmac_sha256(salted, "Client Key"));
  verifier.server_key = hmac_sha256(salted, "Server Key");
  ::OPENSSL_cleanse(salted.data(), salted.size());
  return verifier;
}

std::string scram_verifier(std::string_view password) {
  std::array<unsigned char, kScramSalt_bytes> salt;
  NAMDB_CHECK(::RAND_bytes(salt.data(), static_cast<int>(salt.size())) == 1);
  return to_text(make_scram_verifier(password, {reinterpret_cast<const char*>(salt.data()), salt.size()},
                                     kScramIterations));
}

std::string to_text(const ScramVerifier& verifier) {
  std::string text(kVerifierPrefix);
  text += std::to_string(verifier.iterations) + ':' + to_base64(verifier.salt) + '$';
  text += to_base64(as_text(verifier.stored_key)) + ':' + to_base64(as_text(verifier.server_key));
  return text;
}

std::optional<ScramVerifier> parse_scram_verifier(std::string_view text) {
  if (!text.starts_with(kVerifierPrefix)) return std::nullopt;
  text.remove_prefix(kVerifierPrefix.size());
  const std::optional<std::string_view> digits = take_until(text, ':');
  const std::optional<std::string_view> salt_text = take_until(text, '$');
  const std::optional<std::string_view> stored_key = take_until(text, ':');
  if (!digits || !salt_text || !stored_key) return std::nullopt;
  ScramVerifier verifier;
  std::int32_t iterations = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), iterations);
  if (error != std::errc() || end != digits->data() + digits->size() || iterations < 1) return std::nullopt;
  verifier.iterations = static_cast<std::uint32_t>(iterations);
  const std::optional<std::string> salt = from_base64(*salt_text);
  if (!salt || salt->empty()) return std::nullopt;
  verifier.salt = *salt;
  if (!read_key(*stored_key, verifier.stored_key) || !read_key(text, verifier.server_key))
    return std::nullopt;
  return verifier;
}

ScramVerifier mock_scram_verifier(std::span<const unsigned char> secret, std::string_view user) {
  ScramVerifier verifier;
  const ScramKey salt = hmac_sha256(secret, "salt of " + std::string(user));
  verifier.salt = std::string(as_text(salt).substr(0, kScramSalt_bytes));
  // The hash of a key that no client knows.
  verifier.stored_key = hmac_sha256(secret, "stored key of " + std::string(user));
  verifier.server_key = hmac_sha256(secret, "server key of " + std::string(user));
  return verifier;
}

}  // namespace namdb::authentication

#include "common/fabric/session_keys.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "common/base/check.h"

namespace namdb::fabric {
namespace {

// HKDF-SHA256 (RFC 5869). Without a salt only its second step: the key is a secret of full strength already.
void derive(std::span<const unsigned char> key, std::string_view salt, std::string_view purpose,
            std::span<unsigned char> result) {
  EVP_KDF* const method = ::EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  NAMDB_CHECK(method != nullptr);
  EVP_KDF_CTX* const context = ::EVP_KDF_CTX_new(method);
  ::EVP_KDF_free(method);
  NAMDB_CHECK(context != nullptr);
  int mode = salt.empty() ? EVP_KDF_HKDF_MODE_EXPAND_ONLY : EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND;
  std::string digest = "SHA256";
  // OpenSSL reads these only, and asks for them without const.
  const auto bytes_of = [](const char* name, const void* bytes, std::size_t length_bytes) {
    return ::OSSL_PARAM_construct_octet_string(name, const_cast<void*>(bytes), length_bytes);
  };
  const OSSL_PARAM parameters[] = {
      ::OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      ::OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      bytes_of(OSSL_KDF_PARAM_KEY, key.data(), key.size()),
      bytes_of(OSSL_KDF_PARAM_INFO, purpose.data(), purpose.size()),
      salt.empty() ? ::OSSL_PARAM_construct_end() : bytes_of(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      ::OSSL_PARAM_construct_end()};
  NAMDB_CHECK(::EVP_KDF_derive(context, result.data(), result.size(), parameters) == 1);
  ::EVP_KDF_CTX_free(context);
}

Secret expand(const Secret& secret, std::string_view purpose) {
  Secret result;
  derive(secret.bytes, {}, purpose, result.bytes);
  return result;
}

}  // namespace

Secret::~Secret() {
  ::OPENSSL_cleanse(bytes.data(), bytes.size());
}

RecordKey::~RecordKey() {
  ::OPENSSL_cleanse(key.data(), key.size());
}

EphemeralKey::EphemeralKey() : key_(::EVP_PKEY_Q_keygen(nullptr, nullptr, "X25519")) {
  NAMDB_CHECK(key_ != nullptr);
  std::size_t length_bytes = share_.size();
  NAMDB_CHECK(::EVP_PKEY_get_raw_public_key(key_, share_.data(), &length_bytes) == 1 &&
              length_bytes == share_.size());
}

EphemeralKey::~EphemeralKey() {
  ::EVP_PKEY_free(key_);
}

Result<Secret> EphemeralKey::agree(const Share& other) const {
  EVP_PKEY* const peer = ::EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, other.data(), other.size());
  NAMDB_CHECK(peer != nullptr);
  EVP_PKEY_CTX* const context = ::EVP_PKEY_CTX_new(key_, nullptr);
  NAMDB_CHECK(context != nullptr);
  Secret secret;
  std::size_t length_bytes = secret.bytes.size();
  // OpenSSL refuses a result of zeros (RFC 7748, section 6.1).
  const bool agreed = ::EVP_PKEY_derive_init(context) == 1 &&
                      ::EVP_PKEY_derive_set_peer(context, peer) == 1 &&
                      ::EVP_PKEY_derive(context, secret.bytes.data(), &length_bytes) == 1 &&
                      length_bytes == secret.bytes.size();
  ::EVP_PKEY_CTX_free(context);
  ::EVP_PKEY_free(peer);
  if (agreed) return secret;
  return Status(ErrorCode::protocol_violation, "the peer's half of the connection's key is malformed");
}

SessionSecrets derive_secrets(const ClusterKey& key, const Secret& agreed, std::string_view transport,
                              std::string_view transcript) {
  std::array<unsigned char, 32> digest{};
  unsigned length_bytes = 0;
  NAMDB_CHECK(::EVP_Digest(transcript.data(), transcript.size(), digest.data(), &length_bytes, ::EVP_sha256(),
                           nullptr) == 1);
  std::array<unsigned char, 64> secrets;
  std::ranges::copy(agreed.bytes, secrets.begin());
  std::ranges::copy(key.bytes, secrets.begin() + 32);
  const std::string_view salt(reinterpret_cast<const char*>(digest.data()), digest.size());
  const std::string purpose = "namdb " + std::string(transport) + " encrypted, sent by the ";
  SessionSecrets result;
  derive(secrets, salt, purpose + "client", result.client.bytes);
  derive(secrets, salt, purpose + "server", result.server.bytes);
  ::OPENSSL_cleanse(secrets.data(), secrets.size());
  return result;
}

Secret next_secret(const Secret& secret) {
  return expand(secret, "namdb next secret");
}

RecordKey record_key(const Secret& secret) {
  std::array<unsigned char, 28> bytes;
  derive(secret.bytes, {}, "namdb record key", bytes);
  RecordKey result;
  std::memcpy(result.key.data(), bytes.data(), result.key.size());
  std::memcpy(result.nonce.data(), bytes.data() + result.key.size(), result.nonce.size());
  ::OPENSSL_cleanse(bytes.data(), bytes.size());
  return result;
}

}  // namespace namdb::fabric

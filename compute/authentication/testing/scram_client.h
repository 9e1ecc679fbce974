// A client's side of SCRAM-SHA-256, for tests.
#pragma once

#include <openssl/evp.h>

#include <string>
#include <string_view>
#include <utility>

#include "common/base/check.h"
#include "compute/authentication/scram.h"
#include "compute/authentication/scram_exchange.h"

namespace namdb::authentication::testing {

class ScramClient {
 public:
  // Binds itself to the certificate of that hash; empty: to none.
  ScramClient(std::string password, std::string certificate_hash)
      : password_(std::move(password)), certificate_hash_(std::move(certificate_hash)) {}

  std::string_view mechanism() const { return certificate_hash_.empty() ? kScram : kScramPlus; }
  const std::string& nonce() const { return nonce_; }
  std::string first() const { return header() + first_bare(); }
  std::string last(std::string_view challenge) {
    const auto part = [&](std::string_view name) {
      const std::size_t begin = challenge.find(name) + name.size();
      return std::string(challenge.substr(begin, challenge.find(',', begin) - begin));
    };
    const std::string salt = from_base64(part(",s=")).value();
    ScramKey salted;
    NAMDB_CHECK(::PKCS5_PBKDF2_HMAC(password_.data(), static_cast<int>(password_.size()),
                                    reinterpret_cast<const unsigned char*>(salt.data()),
                                    static_cast<int>(salt.size()), std::stoi(part(",i=")), ::EVP_sha256(),
                                    static_cast<int>(salted.size()), salted.data()) == 1);
    const std::string without_proof = "c=" + to_base64(header() + certificate_hash_) + ",r=" + part("r=");
    const std::string signed_text = first_bare() + "," + std::string(challenge) + "," + without_proof;
    ScramKey proof = hmac_sha256(salted, "Client Key");
    const ScramKey signature = hmac_sha256(sha256(proof), signed_text);
    for (std::size_t i = 0; i < proof.size(); ++i)
      proof[i] = static_cast<unsigned char>(proof[i] ^ signature[i]);
    answer_ = "v=" + encode(hmac_sha256(hmac_sha256(salted, "Server Key"), signed_text));
    return without_proof + ",p=" + encode(proof);
  }
  // The server knows the password too.
  bool accepts(std::string_view answer) const { return answer == answer_; }

 private:
  static std::string encode(const ScramKey& key) {
    return to_base64({reinterpret_cast<const char*>(key.data()), key.size()});
  }
  std::string header() const { return certificate_hash_.empty() ? "n,," : "p=tls-server-end-point,,"; }
  std::string first_bare() const { return "n=,r=" + nonce_; }

  std::string password_;
  std::string certificate_hash_;
  std::string nonce_ = "fyko+d2lbbFgONRv9qkxdawL";
  std::string answer_;
};

}  // namespace namdb::authentication::testing

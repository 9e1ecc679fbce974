#include "common/fabric/cluster_key.h"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "common/base/check.h"
#include "common/reactor/system_error.h"

namespace namdb::fabric {

Result<ClusterKey> read_cluster_key(const std::string& path) {
  const std::string what = "cluster key " + path;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return reactor::system_error(ErrorCode::configuration, what, errno);
  struct stat info{};
  ClusterKey key;
  std::array<unsigned char, 33> bytes;
  const bool known = ::fstat(descriptor, &info) == 0;
  const ssize_t length = ::read(descriptor, bytes.data(), bytes.size());
  ::close(descriptor);
  if (!known || !S_ISREG(info.st_mode) || length != 32 || info.st_size != 32) {
    return Status(ErrorCode::configuration, what + " is not a file of 32 bytes",
                  "make one with: (umask 077; head -c 32 /dev/urandom > FILE)");
  }
  if ((info.st_mode & 077) != 0 || (info.st_uid != ::geteuid() && info.st_uid != 0)) {
    return Status(ErrorCode::configuration, what + " can be read by others than its owner",
                  "chmod 0600 " + path);
  }
  std::memcpy(key.bytes.data(), bytes.data(), key.bytes.size());
  return key;
}

std::string fingerprint(const ClusterKey& key) {
  constexpr std::size_t kShown_bytes = 8;
  std::array<unsigned char, 32> digest;
  unsigned length = 0;
  NAMDB_CHECK(
      ::EVP_Digest(key.bytes.data(), key.bytes.size(), digest.data(), &length, ::EVP_sha256(), nullptr) == 1);
  return absl::BytesToHexString({reinterpret_cast<const char*>(digest.data()), kShown_bytes});
}

Nonce make_nonce() {
  Nonce nonce;
  NAMDB_CHECK(::RAND_bytes(nonce.data(), static_cast<int>(nonce.size())) == 1);
  return nonce;
}

namespace {

Proof prove(const ClusterKey& key, const std::string& channel, ProofRole role, std::string_view transcript) {
  std::string message = "namdb " + channel;
  message += role == ProofRole::server ? " server" : " client";
  message += transcript;
  Proof proof;
  unsigned length = 0;
  NAMDB_CHECK(::HMAC(::EVP_sha256(), key.bytes.data(), static_cast<int>(key.bytes.size()),
                     reinterpret_cast<const unsigned char*>(message.data()), message.size(), proof.data(),
                     &length) != nullptr);
  NAMDB_CHECK(length == proof.size());
  return proof;
}

}  // namespace

Proof make_proof(const ClusterKey& key, std::string_view transport, ProofRole role, const Nonce& client,
                 const Nonce& server) {
  std::string nonces(reinterpret_cast<const char*>(client.data()), client.size());
  nonces.append(reinterpret_cast<const char*>(server.data()), server.size());
  return prove(key, std::string(transport), role, nonces);
}

Proof make_proof(const ClusterKey& key, std::string_view transport, ProofRole role,
                 std::string_view transcript) {
  return prove(key, std::string(transport) + " encrypted", role, transcript);
}

bool equal(const Proof& a, const Proof& b) {
  return ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace namdb::fabric

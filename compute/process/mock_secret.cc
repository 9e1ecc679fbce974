#include "compute/process/mock_secret.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <unistd.h>

#include <cerrno>

#include "common/base/check.h"
#include "common/reactor/system_error.h"
#include "compute/authentication/scram.h"

namespace namdb::compute {

Result<MockSecret> mock_secret(const fabric::ClusterKey* key, const std::string& data_folder) {
  if (key != nullptr) return authentication::hmac_sha256(key->bytes, "namdb: users without a password");
  const std::string path = data_folder + "/run/mock-secret";
  MockSecret secret;
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor >= 0) {
    const ssize_t length = ::read(descriptor, secret.data(), secret.size());
    ::close(descriptor);
    if (length == static_cast<ssize_t>(secret.size())) return secret;
  }
  // There is none, or one that was cut short.
  NAMDB_CHECK(::RAND_bytes(secret.data(), static_cast<int>(secret.size())) == 1);
  descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return reactor::system_error(ErrorCode::configuration, path, errno);
  const ssize_t length = ::write(descriptor, secret.data(), secret.size());
  const int error = errno;
  ::close(descriptor);
  if (length != static_cast<ssize_t>(secret.size()))
    return reactor::system_error(ErrorCode::configuration, path, error);
  return secret;
}

}  // namespace namdb::compute

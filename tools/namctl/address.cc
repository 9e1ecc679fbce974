#include "tools/namctl/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>

#include "common/base/checksum.h"

namespace namdb::namctl {
namespace {

// nam-computed appends ".s.PGSQL.65535" to its folder, nam-memoryd's name is shorter.
constexpr std::size_t kLongestSocketPath = sizeof(sockaddr_un::sun_path) - 1;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

bool connects(int family, const sockaddr* address, socklen_t length) {
  const int descriptor = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const bool connected = ::connect(descriptor, address, length) == 0;
  ::close(descriptor);
  return connected;
}

}  // namespace

bool port_is_free(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return false;
  const int reuse = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
  const sockaddr_in address = loopback(port);
  const bool bound = ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                     ::listen(descriptor, 1) == 0;
  ::close(descriptor);
  return bound;
}

bool answers(const std::string& address) {
  if (address.starts_with("unix:")) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string path = address.substr(5);
    if (path.size() > kLongestSocketPath) return false;
    std::memcpy(name.sun_path, path.data(), path.size());
    return connects(AF_UNIX, reinterpret_cast<const sockaddr*>(&name), sizeof name);
  }
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  const sockaddr_in name =
      loopback(static_cast<std::uint16_t>(std::strtoul(address.c_str() + colon + 1, nullptr, 10)));
  return connects(AF_INET, reinterpret_cast<const sockaddr*>(&name), sizeof name);
}

Result<std::filesystem::path> socket_path(const std::filesystem::path& data, const std::string& name) {
  const std::filesystem::path beside = data / "run" / name;
  if (beside.native().size() <= kLongestSocketPath) return beside;
  const std::filesystem::path folder = "/tmp/namdb-" + std::to_string(::geteuid());
  ::mkdir(folder.c_str(), 0700);
  struct stat entry{};
  // Another user could have made it before us.
  if (::lstat(folder.c_str(), &entry) != 0 || !S_ISDIR(entry.st_mode) || entry.st_uid != ::geteuid() ||
      (entry.st_mode & 077) != 0) {
    return {ErrorCode::configuration, folder.string() + " is not a folder of this user's alone",
            "remove it, or choose a shorter --data"};
  }
  std::array<char, 17> hash{};
  const std::span<const char> text(data.native());
  std::snprintf(hash.data(), hash.size(), "%016lx",
                static_cast<unsigned long>(checksum64(std::as_bytes(text))));
  return folder / (std::string(hash.data()) + "-" + name);
}

}  // namespace namdb::namctl

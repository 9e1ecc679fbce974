#include "common/reactor/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "common/reactor/system_error.h"

namespace namdb::reactor {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";

Status malformed(std::string_view text) {
  return Status(ErrorCode::configuration,
                "address \"" + std::string(text) + "\" is not unix:PATH or HOST:PORT");
}

bool is_port(std::string_view text) {
  if (text.empty() || text.size() > 5) return false;
  unsigned value = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return false;
    value = value * 10 + static_cast<unsigned>(digit - '0');
  }
  return value <= 65535;
}

}  // namespace

Result<std::vector<SocketAddress>> SocketAddress::resolve(std::string_view text, bool to_listen) {
  std::vector<SocketAddress> addresses;
  if (text.starts_with(kUnixPrefix)) {
    const std::string_view path = text.substr(kUnixPrefix.size());
    sockaddr_un address{};
    if (path.empty() || path.find('\0') != std::string_view::npos) return malformed(text);
    if (path.size() >= sizeof address.sun_path) {
      return Status(ErrorCode::configuration,
                    "the path of a unix socket has at most 107 bytes: " + std::string(path));
    }
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    SocketAddress result;
    std::memcpy(&result.storage_, &address, sizeof address);
    result.length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    addresses.push_back(result);
    return addresses;
  }

  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return malformed(text);
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return malformed(text);
  }
  if (host.empty() || !is_port(port)) return malformed(text);

  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(std::string(host).c_str(), std::string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Status(ErrorCode::connection_failure,
                  "cannot resolve \"" + std::string(host) + "\": " + ::gai_strerror(error));
  }
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (entry->ai_addrlen > sizeof(sockaddr_storage)) continue;
    SocketAddress result;
    std::memcpy(&result.storage_, entry->ai_addr, entry->ai_addrlen);
    result.length_ = entry->ai_addrlen;
    addresses.push_back(result);
  }
  ::freeaddrinfo(found);
  if (addresses.empty()) return malformed(text);
  return addresses;
}

SocketAddress SocketAddress::of(const sockaddr& address) {
  SocketAddress result;
  result.length_ = address.sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  std::memcpy(&result.storage_, &address, result.length_);
  return result;
}

Result<SocketAddress> SocketAddress::local_of(int descriptor) {
  SocketAddress address;
  address.length_ = sizeof address.storage_;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address.storage_), &address.length_) != 0) {
    return system_error(ErrorCode::connection_failure, "getsockname", errno);
  }
  return address;
}

Result<SocketAddress> SocketAddress::peer_of(int descriptor) {
  SocketAddress address;
  address.length_ = sizeof address.storage_;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address.storage_), &address.length_) != 0) {
    return system_error(ErrorCode::connection_failure, "getpeername", errno);
  }
  return address;
}

std::string SocketAddress::path() const {
  if (length_ <= offsetof(sockaddr_un, sun_path)) return {};
  const auto* address = reinterpret_cast<const sockaddr_un*>(&storage_);
  return std::string(address->sun_path,
                     ::strnlen(address->sun_path, length_ - offsetof(sockaddr_un, sun_path)));
}

std::string SocketAddress::to_string() const {
  if (is_unix()) {
    const std::string name = path();
    return name.empty() ? "unix" : std::string(kUnixPrefix) + name;
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (::getnameinfo(data(), length_, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) !=
      0) {
    return "unknown";
  }
  const bool bracket = family() == AF_INET6;
  return (bracket ? "[" : "") + std::string(host) + (bracket ? "]:" : ":") + port;
}

bool SocketAddress::is_local() const {
  switch (family()) {
    case AF_UNIX:
      return true;
    case AF_INET: {
      const auto* address = reinterpret_cast<const sockaddr_in*>(&storage_);
      return (ntohl(address->sin_addr.s_addr) >> 24) == 127;
    }
    case AF_INET6: {
      const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr;
      return IN6_IS_ADDR_LOOPBACK(&address) || (IN6_IS_ADDR_V4MAPPED(&address) && address.s6_addr[12] == 127);
    }
    default:
      return false;
  }
}

}  // namespace namdb::reactor

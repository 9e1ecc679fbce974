// The settings of the tcp transport.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/clock.h"
#include "common/fabric/cluster_key.h"

namespace namdb::fabric::tcp {

// Which connections are encrypted. Both ends must want the same of a connection.
enum class Encryption : std::uint8_t {
  between_machines,  // where there is a key, and the peer's address is not loopback
  off,
  required,  // all; needs a key
};

// As people write it: auto, off, required. Other words: between_machines.
Encryption encryption_of(std::string_view name);

struct TcpOptions {
  // Proven to and demanded from every peer. Without one, a server listens on loopback addresses only.
  std::optional<ClusterKey> key;
  Encryption encryption = Encryption::between_machines;
  // Of a server: the time that a peer has to prove the key, or without a key to say hello.
  std::uint64_t authentication_timeout_ns = kSecond_ns;
  // From the connection's start to the welcome.
  std::uint64_t handshake_timeout_ns = 10 * kSecond_ns;
};

}  // namespace namdb::fabric::tcp

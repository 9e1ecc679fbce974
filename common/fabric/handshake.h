// The handshake of a new connection, before the first request, on every transport between machines. Both send
// a Greeting; with a cluster key the client sends a proof, and the server an Answer with its own; then the
// client sends a Hello, and the server an Answer with the welcome. Everything received is outside input; a
// peer that is refused gets a Status with the reason. Little-endian, no padding between the pieces, each of
// which is followed by its CRC-32C: a flipped bit ends the connection, and is not reported as a wrong key.
//
// Where the connection is to be encrypted, a Share follows each Greeting, the proofs cover all of these, and
// everything behind the proofs is encrypted. Both sides must want it, and neither gives in: so an attacker
// between them cannot make them talk in the clear.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/cluster_key.h"
#include "common/fabric/session_keys.h"
#include "common/reactor/task.h"

namespace namdb::fabric {

// The most bytes of `hello`, of `welcome`, and of a refusal's text.
inline constexpr std::uint32_t kMaxHandshake_bytes = 64U << 10;

// The transport that both sides must speak.
struct Dialect {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::string_view name;
  bool encrypted = false;  // needs a cluster key
};

// Its own CRC-32C is checked only when the versions agree, for another version may lack it.
struct Greeting {
  static constexpr std::uint32_t kHasKey = 1;
  static constexpr std::uint32_t kEncrypts = 2;
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t flags;
  std::array<unsigned char, kNonce_bytes> nonce;
};
static_assert(sizeof(Greeting) == 48 && offsetof(Greeting, version) == 8 && offsetof(Greeting, nonce) == 16);

struct Hello {
  std::uint32_t length_bytes;
  std::uint32_t zero;
};
static_assert(sizeof(Hello) == 8);

struct Answer {
  std::uint32_t ok;  // 1, or 0: the bytes are an encoded Status and the connection is closed
  std::uint32_t length_bytes;
};
static_assert(sizeof(Answer) == 8);

// A connection during its handshake: bytes in both directions, in order.
class HandshakeStream {
 public:
  // The next `length_bytes` bytes; connection_failure when the connection ends or the deadline passes before.
  virtual reactor::Task<Result<std::string>> take(std::size_t length_bytes, std::uint64_t deadline_ns) = 0;
  virtual void send(const void* bytes, std::size_t length_bytes) = 0;
  // From now on it encrypts the bytes that it sends, and decrypts those that it takes. Only of dialects
  // that are encrypted.
  virtual void encrypt(const Secret& sent, const Secret& received);

 protected:
  ~HandshakeStream() = default;
};

// As the client: gives the server's welcome. Errors: connection_failure, protocol_violation,
// invalid_authorization, and what the server's service refused with.
reactor::Task<Result<std::string>> greet_server(HandshakeStream& stream, Dialect dialect,
                                                std::optional<ClusterKey> key, std::string hello,
                                                std::uint64_t deadline_ns);

// For people at the client: an error of greet_server(), or of the connection before it, with the server's
// address and, if the keys differ, with advice how to compare them. Errors of the service itself stay as they
// are.
Status refused_by(const std::string& address, const Status& status, const std::optional<ClusterKey>& key);

// As the server, in two steps. First the client proves that it speaks the dialect and, where there is a key,
// that it knows the key. Errors: as of greet_server().
reactor::Task<Status> prove_client(HandshakeStream& stream, Dialect dialect, std::optional<ClusterKey> key,
                                   std::uint64_t deadline_ns);
// Then the client's hello. The client is still to be answered.
reactor::Task<Result<std::string>> take_hello(HandshakeStream& stream, std::uint64_t deadline_ns);

// A piece as it is sent: its bytes and their CRC-32C.
std::string sealed(std::string_view piece);

void answer(HandshakeStream& stream, const std::string& bytes);
void refuse(HandshakeStream& stream, const Status& status);

}  // namespace namdb::fabric

#include "common/fabric/handshake.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "common/base/crc32c.h"
#include "common/fabric/status_bytes.h"

namespace namdb::fabric {
namespace {

Greeting make_greeting(const Dialect& dialect, const std::optional<ClusterKey>& key, const Nonce& nonce) {
  const std::uint32_t flags = (key ? Greeting::kHasKey : 0) | (dialect.encrypted ? Greeting::kEncrypts : 0);
  return Greeting{dialect.magic, dialect.version, flags, nonce};
}

template <typename T>
T from_bytes(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <typename T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

std::uint32_t checksum_of(std::string_view piece) {
  return crc32c(std::as_bytes(std::span(piece)));
}

void send(HandshakeStream& stream, std::string_view piece) {
  const std::string bytes = sealed(piece);
  stream.send(bytes.data(), bytes.size());
}

// The next bytes must be the CRC-32C of `piece`.
reactor::Task<Status> take_checksum(HandshakeStream& stream, std::uint32_t expected,
                                    std::uint64_t deadline_ns) {
  const Result<std::string> bytes = co_await stream.take(sizeof expected, deadline_ns);
  if (!bytes.ok()) co_return bytes.status();
  if (from_bytes<std::uint32_t>(*bytes) == expected) co_return Status();
  co_return Status(ErrorCode::connection_failure,
                   "the handshake was damaged on the way (its CRC-32C does not agree)");
}

reactor::Task<Result<std::string>> take_piece(HandshakeStream& stream, std::size_t length_bytes,
                                              std::uint64_t deadline_ns) {
  Result<std::string> piece = co_await stream.take(length_bytes, deadline_ns);
  if (!piece.ok()) co_return piece;
  Status whole = co_await take_checksum(stream, checksum_of(*piece), deadline_ns);
  if (!whole.ok()) co_return whole;
  co_return piece;
}

// Whether the greeting is in this language at all; `other` names the peer's role.
Status compare_dialects(const Dialect& dialect, const Greeting& greeting, const std::string& other) {
  if (greeting.magic != dialect.magic) {
    return Status(ErrorCode::protocol_violation,
                  "the " + other + " does not speak namdb's " + std::string(dialect.name) + " fabric");
  }
  if (greeting.version != dialect.version) {
    return Status(ErrorCode::protocol_violation,
                  "the " + other + " speaks version " + std::to_string(greeting.version) + " of the " +
                      std::string(dialect.name) + " fabric, this side version " +
                      std::to_string(dialect.version));
  }
  return Status();
}

Status compare_keys(const Greeting& greeting, bool has_key, const std::string& other) {
  const bool other_has_key = (greeting.flags & Greeting::kHasKey) != 0;
  if (other_has_key != has_key) {
    return Status(ErrorCode::invalid_authorization,
                  "the " + other +
                      (other_has_key ? " has a cluster key, this side has none"
                                     : " has no cluster key, this side has one"));
  }
  return Status();
}

Status compare_encryption(const Greeting& greeting, bool encrypted, const std::string& other) {
  const bool other_encrypts = (greeting.flags & Greeting::kEncrypts) != 0;
  if (other_encrypts == encrypted) return Status();
  return Status(
      ErrorCode::invalid_authorization,
      "the " + other +
          (other_encrypts
               ? " encrypts its fabric traffic with this side, which does not (--fabric-encryption)"
               : " does not encrypt its fabric traffic with this side, which does (--fabric-encryption)"),
      "give all daemons and tools the same --fabric-encryption");
}

// Adds what the people of this side may know of the key; the key itself is never shown.
Status explain(const Status& status, const std::optional<ClusterKey>& key) {
  if (status.code() != ErrorCode::invalid_authorization || !status.hint().empty() || !key) return status;
  return Status(status.code(), status.message() + "; this side's has the fingerprint " + fingerprint(*key),
                std::string(status.hint()));
}

// The bytes of an Answer, or the Status in it.
reactor::Task<Result<std::string>> take_answer(HandshakeStream& stream, std::uint64_t deadline_ns) {
  const Result<std::string> header = co_await take_piece(stream, sizeof(Answer), deadline_ns);
  if (!header.ok()) co_return header.status();
  const auto received = from_bytes<Answer>(*header);
  if (received.ok > 1 || received.length_bytes > kMaxHandshake_bytes) {
    co_return Status(ErrorCode::protocol_violation, "the server's answer is malformed");
  }
  Result<std::string> bytes = co_await take_piece(stream, received.length_bytes, deadline_ns);
  if (bytes.ok() && received.ok == 0) co_return decode_status(*bytes);
  co_return bytes;
}

void send_answer(HandshakeStream& stream, bool ok, const std::string& bytes) {
  const std::size_t length_bytes = std::min<std::size_t>(bytes.size(), kMaxHandshake_bytes);
  const Answer header{ok ? 1U : 0U, static_cast<std::uint32_t>(length_bytes)};
  send(stream, bytes_of(header));
  send(stream, std::string_view(bytes).substr(0, length_bytes));
}

// Checks the peer's greeting, once its bytes are there: dialect, checksum, key, encryption.
reactor::Task<Status> check_greeting(HandshakeStream& stream, Dialect dialect, Greeting greeting,
                                     bool has_key, std::string other, std::uint64_t deadline_ns) {
  Status comparison = compare_dialects(dialect, greeting, other);
  if (!comparison.ok()) co_return comparison;
  Status whole = co_await take_checksum(stream, checksum_of(bytes_of(greeting)), deadline_ns);
  if (!whole.ok()) co_return whole;
  Status keys = compare_keys(greeting, has_key, other);
  if (!keys.ok()) co_return keys;
  co_return compare_encryption(greeting, dialect.encrypted, other);
}

// The first words of one side: its greeting, and its half of the connection's key where it encrypts.
class Opening {
 public:
  Opening(const Dialect& dialect, const std::optional<ClusterKey>& key)
      : greeting_(make_greeting(dialect, key, make_nonce())) {
    NAMDB_CHECK(!dialect.encrypted || key);
    if (dialect.encrypted) ephemeral_.emplace();
  }
  void send_to(HandshakeStream& stream) const {
    send(stream, bytes_of(greeting_));
    if (ephemeral_) send(stream, bytes_of(ephemeral_->share()));
  }
  const Nonce& nonce() const { return greeting_.nonce; }
  std::string bytes() const {
    return bytes_of(greeting_) + (ephemeral_ ? bytes_of(ephemeral_->share()) : "");
  }
  Result<Secret> agree(const Share& share) const { return ephemeral_->agree(share); }

 private:
  Greeting greeting_;
  std::optional<EphemeralKey> ephemeral_;
};

// All that both sides have sent before the proofs.
struct Transcript {
  Nonce client;
  Nonce server;
  std::string bytes;  // empty: the connection is not encrypted
};

Proof proof_of(const ClusterKey& key, std::string_view transport, ProofRole role,
               const Transcript& transcript) {
  if (!transcript.bytes.empty()) return make_proof(key, transport, role, transcript.bytes);
  return make_proof(key, transport, role, transcript.client, transcript.server);
}

// Behind the proofs.
Status encrypt(HandshakeStream& stream, const Opening& opening, const Share& other, const ClusterKey& key,
               std::string_view transport, ProofRole role, const Transcript& transcript) {
  const Result<Secret> agreed = opening.agree(other);
  if (!agreed.ok()) return agreed.status();
  const SessionSecrets secrets = derive_secrets(key, *agreed, transport, transcript.bytes);
  const bool client = role == ProofRole::client;
  stream.encrypt(client ? secrets.client : secrets.server, client ? secrets.server : secrets.client);
  return Status();
}

}  // namespace

void HandshakeStream::encrypt(const Secret& /*sent*/, const Secret& /*received*/) {
  NAMDB_CHECK(false);
}

std::string sealed(std::string_view piece) {
  return std::string(piece) + bytes_of(checksum_of(piece));
}

reactor::Task<Result<std::string>> greet_server(HandshakeStream& stream, Dialect dialect,
                                                std::optional<ClusterKey> key, std::string hello,
                                                std::uint64_t deadline_ns) {
  if (hello.size() > kMaxHandshake_bytes)
    co_return Status(ErrorCode::limit_exceeded, "the hello is too long");
  const Opening own(dialect, key);
  own.send_to(stream);
  const Result<std::string> bytes = co_await stream.take(sizeof(Greeting), deadline_ns);
  if (!bytes.ok()) co_return bytes.status();
  const auto greeting = from_bytes<Greeting>(*bytes);
  Status comparison =
      co_await check_greeting(stream, dialect, greeting, key.has_value(), "server", deadline_ns);
  if (!comparison.ok()) co_return comparison;
  Transcript transcript{own.nonce(), greeting.nonce, {}};
  Share share{};
  if (dialect.encrypted) {
    const Result<std::string> piece = co_await take_piece(stream, sizeof(Share), deadline_ns);
    if (!piece.ok()) co_return piece.status();
    share = from_bytes<Share>(*piece);
    transcript.bytes = own.bytes() + *bytes + *piece;
  }
  if (key) {
    const Proof proof = proof_of(*key, dialect.name, ProofRole::client, transcript);
    send(stream, bytes_of(proof));
    const Result<std::string> reply = co_await take_answer(stream, deadline_ns);
    if (!reply.ok()) co_return reply.status();
    const Proof expected = proof_of(*key, dialect.name, ProofRole::server, transcript);
    if (reply->size() != sizeof(Proof) || !equal(from_bytes<Proof>(*reply), expected)) {
      co_return Status(ErrorCode::invalid_authorization, "the server does not know the cluster key");
    }
  }
  if (dialect.encrypted) {
    Status agreed = encrypt(stream, own, share, *key, dialect.name, ProofRole::client, transcript);
    if (!agreed.ok()) co_return agreed;
  }
  const Hello header{static_cast<std::uint32_t>(hello.size()), 0};
  send(stream, bytes_of(header));
  send(stream, hello);
  Result<std::string> welcome = co_await take_answer(stream, deadline_ns);
  co_return welcome;
}

reactor::Task<Status> prove_client(HandshakeStream& stream, Dialect dialect, std::optional<ClusterKey> key,
                                   std::uint64_t deadline_ns) {
  const Result<std::string> bytes = co_await stream.take(sizeof(Greeting), deadline_ns);
  if (!bytes.ok()) co_return bytes.status();
  const auto greeting = from_bytes<Greeting>(*bytes);
  // A peer that does not speak the protocol learns nothing, not even which protocol this is.
  if (greeting.magic != dialect.magic) co_return compare_dialects(dialect, greeting, "client");
  const Opening own(dialect, key);
  own.send_to(stream);
  Status comparison =
      co_await check_greeting(stream, dialect, greeting, key.has_value(), "client", deadline_ns);
  if (!comparison.ok()) co_return explain(comparison, key);
  Transcript transcript{greeting.nonce, own.nonce(), {}};
  Share share{};
  if (dialect.encrypted) {
    const Result<std::string> piece = co_await take_piece(stream, sizeof(Share), deadline_ns);
    if (!piece.ok()) co_return piece.status();
    share = from_bytes<Share>(*piece);
    transcript.bytes = *bytes + *piece + own.bytes();
  }
  if (key) {
    const Result<std::string> proof = co_await take_piece(stream, sizeof(Proof), deadline_ns);
    if (!proof.ok()) co_return proof.status();
    const Proof expected = proof_of(*key, dialect.name, ProofRole::client, transcript);
    if (!equal(from_bytes<Proof>(*proof), expected)) {
      Status wrong(ErrorCode::invalid_authorization, "the client does not know the cluster key");
      refuse(stream, wrong);
      co_return explain(wrong, key);
    }
    const Proof own_proof = proof_of(*key, dialect.name, ProofRole::server, transcript);
    send_answer(stream, true, std::string(own_proof.begin(), own_proof.end()));
  }
  if (!dialect.encrypted) co_return Status();
  co_return encrypt(stream, own, share, *key, dialect.name, ProofRole::server, transcript);
}

reactor::Task<Result<std::string>> take_hello(HandshakeStream& stream, std::uint64_t deadline_ns) {
  const Result<std::string> header = co_await take_piece(stream, sizeof(Hello), deadline_ns);
  if (!header.ok()) co_return header.status();
  const auto hello = from_bytes<Hello>(*header);
  if (hello.zero != 0 || hello.length_bytes > kMaxHandshake_bytes) {
    co_return Status(ErrorCode::protocol_violation, "the client's hello is malformed");
  }
  Result<std::string> result = co_await take_piece(stream, hello.length_bytes, deadline_ns);
  co_return result;
}

Status refused_by(const std::string& address, const Status& status, const std::optional<ClusterKey>& key) {
  if (status.code() == ErrorCode::connection_failure) {
    return Status(status.code(), "connecting to " + address + ": " + status.message(),
                  std::string(status.hint()));
  }
  if (status.code() != ErrorCode::invalid_authorization) return status;
  if (!status.hint().empty())
    return Status(status.code(), address + ": " + status.message(), std::string(status.hint()));
  return Status(
      status.code(), address + ": " + explain(status, key).message(),
      "every daemon's --cluster-key is a copy of the same file: compare `sha256sum FILE`, which begins "
      "with the fingerprint, on both machines");
}

void answer(HandshakeStream& stream, const std::string& bytes) {
  send_answer(stream, true, bytes);
}

void refuse(HandshakeStream& stream, const Status& status) {
  send_answer(stream, false, encode_status(status));
}

}  // namespace namdb::fabric

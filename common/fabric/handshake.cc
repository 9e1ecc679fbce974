#include "common/fabric/handshake.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/fabric/status_bytes.h"

namespace namdb::fabric {
namespace {

Greeting make_greeting(const Dialect& dialect, const std::optional<ClusterKey>& key, const Nonce& nonce) {
  return Greeting{dialect.magic, dialect.version, key ? Greeting::kHasKey : 0, nonce};
}

template <typename T>
T from_bytes(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// What the two greetings forbid; `other` names the peer's role.
Status compare(const Dialect& dialect, const Greeting& greeting, bool has_key, const std::string& other) {
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
  const bool other_has_key = (greeting.flags & Greeting::kHasKey) != 0;
  if (other_has_key != has_key) {
    return Status(ErrorCode::invalid_authorization,
                  "the " + other +
                      (other_has_key ? " has a cluster key, this side has none"
                                     : " has no cluster key, this side has one"));
  }
  return Status();
}

// The bytes of an Answer, or the Status in it.
reactor::Task<Result<std::string>> take_answer(HandshakeStream& stream, std::uint64_t deadline_ns) {
  const Result<std::string> header = co_await stream.take(sizeof(Answer), deadline_ns);
  if (!header.ok()) co_return header.status();
  const auto received = from_bytes<Answer>(*header);
  if (received.ok > 1 || received.length_bytes > kMaxHandshake_bytes) {
    co_return Status(ErrorCode::protocol_violation, "the server's answer is malformed");
  }
  Result<std::string> bytes = co_await stream.take(received.length_bytes, deadline_ns);
  if (bytes.ok() && received.ok == 0) co_return decode_status(*bytes);
  co_return bytes;
}

void send_answer(HandshakeStream& stream, bool ok, const std::string& bytes) {
  const std::size_t length_bytes = std::min<std::size_t>(bytes.size(), kMaxHandshake_bytes);
  const Answer header{ok ? 1U : 0U, static_cast<std::uint32_t>(length_bytes)};
  stream.send(&header, sizeof header);
  stream.send(bytes.data(), length_bytes);
}

}  // namespace

reactor::Task<Result<std::string>> greet_server(HandshakeStream& stream, Dialect dialect,
                                                std::optional<ClusterKey> key, std::string hello,
                                                std::uint64_t deadline_ns) {
  if (hello.size() > kMaxHandshake_bytes)
    co_return Status(ErrorCode::limit_exceeded, "the hello is too long");
  const Nonce nonce = make_nonce();
  const Greeting own = make_greeting(dialect, key, nonce);
  stream.send(&own, sizeof own);
  const Result<std::string> bytes = co_await stream.take(sizeof(Greeting), deadline_ns);
  if (!bytes.ok()) co_return bytes.status();
  const auto greeting = from_bytes<Greeting>(*bytes);
  Status comparison = compare(dialect, greeting, key.has_value(), "server");
  if (!comparison.ok()) co_return comparison;
  if (key) {
    const Proof proof = make_proof(*key, dialect.name, ProofRole::client, nonce, greeting.nonce);
    stream.send(proof.data(), proof.size());
    const Result<std::string> reply = co_await take_answer(stream, deadline_ns);
    if (!reply.ok()) co_return reply.status();
    const Proof expected = make_proof(*key, dialect.name, ProofRole::server, nonce, greeting.nonce);
    if (reply->size() != sizeof(Proof) || !equal(from_bytes<Proof>(*reply), expected)) {
      co_return Status(ErrorCode::invalid_authorization, "the server does not know the cluster key");
    }
  }
  const Hello header{static_cast<std::uint32_t>(hello.size()), 0};
  stream.send(&header, sizeof header);
  stream.send(hello.data(), hello.size());
  Result<std::string> welcome = co_await take_answer(stream, deadline_ns);
  co_return welcome;
}

reactor::Task<Result<std::string>> greet_client(HandshakeStream& stream, Dialect dialect,
                                                std::optional<ClusterKey> key, std::uint64_t deadline_ns) {
  const Result<std::string> bytes = co_await stream.take(sizeof(Greeting), deadline_ns);
  if (!bytes.ok()) co_return bytes.status();
  const auto greeting = from_bytes<Greeting>(*bytes);
  // Whoever does not speak the protocol learns nothing, not even what this is.
  const bool stranger = greeting.magic != dialect.magic;
  const Nonce nonce = make_nonce();
  const Greeting own = make_greeting(dialect, key, nonce);
  if (!stranger) stream.send(&own, sizeof own);
  Status comparison = compare(dialect, greeting, key.has_value(), "client");
  if (!comparison.ok()) co_return comparison;
  if (key) {
    const Result<std::string> proof = co_await stream.take(sizeof(Proof), deadline_ns);
    if (!proof.ok()) co_return proof.status();
    const Proof expected = make_proof(*key, dialect.name, ProofRole::client, greeting.nonce, nonce);
    if (!equal(from_bytes<Proof>(*proof), expected)) {
      Status wrong(ErrorCode::invalid_authorization, "the client does not know the cluster key");
      refuse(stream, wrong);
      co_return wrong;
    }
    const Proof own_proof = make_proof(*key, dialect.name, ProofRole::server, greeting.nonce, nonce);
    send_answer(stream, true, std::string(own_proof.begin(), own_proof.end()));
  }
  const Result<std::string> header = co_await stream.take(sizeof(Hello), deadline_ns);
  if (!header.ok()) co_return header.status();
  const auto hello = from_bytes<Hello>(*header);
  if (hello.zero != 0 || hello.length_bytes > kMaxHandshake_bytes) {
    co_return Status(ErrorCode::protocol_violation, "the client's hello is malformed");
  }
  Result<std::string> result = co_await stream.take(hello.length_bytes, deadline_ns);
  co_return result;
}

void answer(HandshakeStream& stream, const std::string& bytes) {
  send_answer(stream, true, bytes);
}

void refuse(HandshakeStream& stream, const Status& status) {
  send_answer(stream, false, encode_status(status));
}

}  // namespace namdb::fabric

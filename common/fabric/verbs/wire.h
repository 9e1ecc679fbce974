// The messages of the verbs transport: SENDs of at most kFragment_bytes over the reliable connection that
// also carries the one-sided operations. A message is a header and its payload; what does not fit into the
// first SEND follows in further ones that have no header, all of them full but the last. Little-endian.
// Outside input to whoever reads it.
//
// During the handshake (common/fabric/handshake.h) the payloads of `handshake` messages are a stream of
// bytes. Only after it does the server tell the key of its region, and let the queue pair reach it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/fabric/fabric.h"
#include "common/fabric/handshake.h"

namespace namdb::fabric::verbs {

inline constexpr Dialect kDialect = {{'n', 'a', 'm', 'd', 'b', 'v', 'r', 'b'}, 1, "verbs"};

inline constexpr std::uint32_t kFragment_bytes = 8192;

enum class MessageKind : std::uint8_t { handshake = 1, call = 2, reply = 3, failure = 4 };

struct MessageHeader {
  MessageKind kind;
  std::uint8_t zero;
  std::uint16_t method;  // call only, otherwise 0
  std::uint32_t length_bytes;
  std::uint64_t call;  // chosen by the client, repeated in the reply
};
static_assert(sizeof(MessageHeader) == 16 && offsetof(MessageHeader, length_bytes) == 4 &&
              offsetof(MessageHeader, call) == 8);
static_assert(kMaxHandshake_bytes <= kMaxCall_bytes);

// nullptr if it may begin a message, otherwise what is wrong with it.
inline const char* refuse_message(const MessageHeader& header) {
  if (header.kind < MessageKind::handshake || header.kind > MessageKind::failure)
    return "a message of an unknown kind";
  if (header.zero != 0 || (header.kind != MessageKind::call && header.method != 0))
    return "reserved bits that are set";
  if (header.length_bytes > kMaxCall_bytes) return "a message beyond the largest call";
  return nullptr;
}

// Before the service's bytes in the server's welcome: how to reach the region, whose first byte has the
// address 0.
struct RegionAccess {
  static constexpr std::uint32_t kAtomicsWithCpu = 1;
  std::uint64_t region_bytes;
  std::uint32_t key;  // the region's rkey
  std::uint32_t flags;
};
static_assert(sizeof(RegionAccess) == 16 && offsetof(RegionAccess, key) == 8);

}  // namespace namdb::fabric::verbs

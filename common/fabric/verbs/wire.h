// The messages of the verbs transport: SENDs of at most kFragment_bytes over the reliable connection that
// also carries the one-sided operations. A message is a header and its payload; the part that does not fit
// into the first SEND follows in further ones that have no header, all of them full but the last.
// Little-endian. Outside input to the side that reads it.
//
// Where both sides want it, calls and replies that fit into a packet go as datagrams instead: the token of
// the connection, and the same header and payload. Datagrams get lost, doubled and out of order. So a call's
// number there has the number of a slot (low half) and the count of the slot's uses (high half). The server
// runs each number once, and repeats the answer until the slot is used again.
//
// One connection may carry several peers, of workers that share a queue pair: its members. The first one is
// member 0, who made the handshake; the others join with their hello and are answered with the welcome. A
// member leaves when all that it posted before has taken effect; the server may ask it to (evict), and ends
// the connection if it does not.
//
// During the handshake (common/fabric/handshake.h) the payloads of `handshake` messages are a stream of
// bytes. Only after it does the server tell the key of its region, and let the queue pair reach it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/fabric/fabric.h"
#include "common/fabric/handshake.h"

namespace namdb::fabric::verbs {

inline constexpr Dialect kDialect = {{'n', 'a', 'm', 'd', 'b', 'v', 'r', 'b'}, 4, "verbs"};

inline constexpr std::uint32_t kFragment_bytes = 8192;

// Join, leave and call are answered with a reply or a failure.
enum class MessageKind : std::uint8_t {
  handshake = 1,
  call = 2,
  reply = 3,
  failure = 4,
  datagrams = 5,
  join = 6,
  leave = 7,
  evict = 8,
};

using MemberId = std::uint8_t;
inline constexpr std::size_t kMaxMembers = 256;

struct MessageHeader {
  MessageKind kind;
  MemberId member;       // call, join, leave and evict; otherwise 0
  std::uint16_t method;  // call only, otherwise 0
  std::uint32_t length_bytes;
  std::uint64_t call;  // chosen by the client, repeated in the reply
};
static_assert(sizeof(MessageHeader) == 16 && offsetof(MessageHeader, length_bytes) == 4 &&
              offsetof(MessageHeader, call) == 8);
static_assert(kMaxHandshake_bytes <= kMaxCall_bytes);

// nullptr if it may begin a message, otherwise what is wrong with it.
inline const char* refuse_message(const MessageHeader& header) {
  if (header.kind < MessageKind::handshake || header.kind > MessageKind::evict)
    return "a message of an unknown kind";
  const bool of_member = header.kind == MessageKind::call || header.kind >= MessageKind::join;
  if ((header.member != 0 && !of_member) || (header.kind != MessageKind::call && header.method != 0))
    return "reserved bits that are set";
  if (header.length_bytes > kMaxCall_bytes) return "a message beyond the largest call";
  return nullptr;
}

// Of a port for datagrams. In the server's welcome, and the payload of the client's message `datagrams`: from
// then on the server answers with datagrams what comes as one.
struct DatagramAddress {
  std::uint32_t queue_pair;  // 0: none
  std::uint32_t key;
};
static_assert(sizeof(DatagramAddress) == 8);

struct DatagramHeader {
  std::uint64_t token;
  MessageHeader message;
};
static_assert(sizeof(DatagramHeader) == 24);

// Before the service's bytes in the server's welcome: how to reach the region, whose first byte has the
// address 0.
struct RegionAccess {
  static constexpr std::uint32_t kAtomicsWithCpu = 1;
  std::uint64_t region_bytes;
  std::uint32_t key;  // the peer's rkey of the region
  std::uint32_t flags;
  std::uint64_t token;  // of the connection, for datagrams
  DatagramAddress datagrams;
};
static_assert(sizeof(RegionAccess) == 32 && offsetof(RegionAccess, key) == 8);

}  // namespace namdb::fabric::verbs

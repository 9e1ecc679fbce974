// The bytes of the tcp transport after the handshake (common/fabric/handshake.h). Little-endian, no padding
// between frames, no alignment. The client sends requests and the server sends responses:
//
//   request    RequestHeader, then nothing (read), the data (write), expected and desired (compare_and_swap),
//   the
//              addend (fetch_add), the request's bytes (call)
//   response   results: ResponseHeader, then the results of the next `count` one-sided operations in the
//   order in
//              which they were posted: the data of a READ, nothing for a WRITE, the old word of an atomic;
//              reply or failure: ResponseHeader, then the reply's bytes or an encoded Status
//
// All of it is outside input to whoever reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/handshake.h"

namespace namdb::fabric::tcp {

inline constexpr Dialect kDialect = {{'n', 'a', 'm', 'd', 'b', 't', 'c', 'p'}, 1, "tcp"};

enum class RequestKind : std::uint8_t { read = 1, write = 2, compare_and_swap = 3, fetch_add = 4, call = 5 };

struct RequestHeader {
  RequestKind kind;
  std::uint8_t zero;
  std::uint16_t method;        // call only, otherwise 0
  std::uint32_t length_bytes;  // of the data or the call's request; 8 for atomics
  std::uint64_t offset;        // in the region; of a call: its id, which the reply carries
};
static_assert(sizeof(RequestHeader) == 16 && offsetof(RequestHeader, length_bytes) == 4 &&
              offsetof(RequestHeader, offset) == 8);

enum class ResponseKind : std::uint8_t { results = 1, reply = 2, failure = 3 };

struct ResponseHeader {
  ResponseKind kind;
  std::uint8_t zero;
  std::uint16_t also_zero;
  std::uint32_t count;     // results: operations; otherwise the length in bytes
  std::uint64_t identity;  // results: bytes that follow; otherwise the call's id
};
static_assert(sizeof(ResponseHeader) == 16 && offsetof(ResponseHeader, count) == 4 &&
              offsetof(ResponseHeader, identity) == 8);

// Reads a struct or word from unaligned bytes.
template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// What the server makes of the first bytes of `input`.
struct RequestFrame {
  enum class State : std::uint8_t { whole, incomplete, invalid };
  State state;
  RequestHeader header;  // unless it is incomplete itself
  std::size_t
      frame_bytes;     // whole: its length; incomplete: what is known to be needed, more than input.size()
  const char* reason;  // invalid: why the peer must go
};
RequestFrame decode_request(std::span<const std::byte> input, std::uint64_t region_bytes,
                            std::uint64_t capacity_bytes);

// nullptr if it may follow in the stream, otherwise why the server must go.
const char* refuse_response(const ResponseHeader& header);

}  // namespace namdb::fabric::tcp

// The bytes of the tcp transport after the handshake (common/fabric/handshake.h). Little-endian, no padding
// between frames, no alignment. The client sends requests and the server sends responses:
//
//   request    RequestHeader, then nothing (read), the data (write), expected and desired
//              (compare_and_swap), the addend (fetch_add), the request's bytes (call)
//   response   results: ResponseHeader, then the results of the next `count` one-sided operations, in the
//              order in which they were posted: the data of a READ, nothing for a WRITE, the old word of an
//              atomic;
//              reply or failure: ResponseHeader, then the reply's bytes or an encoded Status
//
// A header carries the CRC-32C of the data behind it, and then one of itself: a length is used only after its
// checksum agrees. Frames that do not agree with their checksums end the connection, and nothing of them is
// executed or handed on. On an encrypted connection, whose records have tags (records.h), checksums are 0 and
// are not checked.
//
// All of it is outside input to the side that reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "common/base/crc32c.h"
#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/handshake.h"

namespace namdb::fabric::tcp {

inline constexpr Dialect kDialect = {{'n', 'a', 'm', 'd', 'b', 't', 'c', 'p'}, 2, "tcp"};

enum class RequestKind : std::uint8_t { read = 1, write = 2, compare_and_swap = 3, fetch_add = 4, call = 5 };

struct RequestHeader {
  RequestKind kind;
  std::uint8_t zero;
  std::uint16_t method;        // call only, otherwise 0
  std::uint32_t length_bytes;  // of the data or the call's request; 8 for atomics
  std::uint64_t offset;        // in the region; of a call: its id, which the reply carries
  std::uint32_t data_checksum = 0;
  std::uint32_t header_checksum = 0;
};
static_assert(sizeof(RequestHeader) == 24 && offsetof(RequestHeader, length_bytes) == 4 &&
              offsetof(RequestHeader, offset) == 8 && offsetof(RequestHeader, header_checksum) == 20);

enum class ResponseKind : std::uint8_t { results = 1, reply = 2, failure = 3 };

struct ResponseHeader {
  ResponseKind kind;
  std::uint8_t zero;
  std::uint16_t also_zero;
  std::uint32_t count;     // results: operations; otherwise the length in bytes
  std::uint64_t identity;  // results: bytes that follow; otherwise the call's id
  std::uint32_t data_checksum = 0;
  std::uint32_t header_checksum = 0;
};
static_assert(sizeof(ResponseHeader) == 24 && offsetof(ResponseHeader, count) == 4 &&
              offsetof(ResponseHeader, identity) == 8 && offsetof(ResponseHeader, header_checksum) == 20);

// The reason with which a connection ends after its bytes were damaged on the way.
inline constexpr const char* kDamaged = "a frame that was damaged on the way (its CRC-32C does not agree)";

template <typename Header>
std::uint32_t checksum_of_header(const Header& header) {
  return crc32c(std::as_bytes(std::span(&header, 1)).first(offsetof(Header, header_checksum)));
}

// Whether frames have them: not on encrypted connections.
enum class Checksums : bool { none, both };

// Of a header that is sent; `data` follows it.
template <typename Header>
void seal(Header& header, std::span<const std::byte> data, Checksums checksums = Checksums::both) {
  if (checksums == Checksums::none) return;
  header.data_checksum = crc32c(data);
  header.header_checksum = checksum_of_header(header);
}

// Reads a struct or word from unaligned bytes.
template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// The server's reading of the first bytes of `input`. The data of a whole frame is still to be compared with
// its checksum.
struct RequestFrame {
  enum class State : std::uint8_t { whole, incomplete, invalid };
  State state;
  RequestHeader header;  // unless it is incomplete itself
  // whole: its length; incomplete: the least length that it has, more than input.size()
  std::size_t frame_bytes;
  const char* reason;  // invalid: why the peer must go

  std::span<const std::byte> data(std::span<const std::byte> input) const {
    return input.subspan(sizeof header, frame_bytes - sizeof header);
  }
};
RequestFrame decode_request(std::span<const std::byte> input, std::uint64_t region_bytes,
                            std::uint64_t capacity_bytes, Checksums checksums = Checksums::both);

// nullptr if it may follow in the stream, otherwise why the server must go.
const char* refuse_response(const ResponseHeader& header, Checksums checksums = Checksums::both);

}  // namespace namdb::fabric::tcp

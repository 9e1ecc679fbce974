// Every byte that a compute and a memory server share on this transport, besides the region: the handshake on
// the unix socket, and the pair of pipes through which calls go. Both run on one machine, so the layout only
// has to hold within one build; the version says so when it does not.
//
//   client: ClientHello, `hello_bytes` bytes            descriptors: the client's eventfd
//   server: ServerWelcome, `welcome_bytes` bytes        descriptors: region, pipes, the server's eventfd
//           (refused: the bytes are an encoded error, and there are no descriptors)
//   client: kGoodbye before it closes its channel cleanly; after it the channel touches the region no more
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace namdb::fabric::shm {

inline constexpr std::uint64_t kMagic = 0x6d68732d62646d6e;  // "nmdb-shm"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kMaxHello_bytes = 64U << 10;
inline constexpr char kGoodbye = 'G';

struct ClientHello {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t hello_bytes;
};
static_assert(sizeof(ClientHello) == 16);

struct ServerWelcome {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t refused;
  std::uint64_t capacity_bytes;  // address space to reserve for the region
  std::uint32_t pipe_bytes;      // of each direction
  std::uint32_t welcome_bytes;
};
static_assert(sizeof(ServerWelcome) == 32);

// One direction: a ring of bytes. `written` and `read` only grow; the bytes between them are in the ring.
// Each word has one writer, its side; a flag is set by the side that is about to sleep, and cleared by the
// side that wakes it. Neither side trusts the words that it reads here.
struct PipeControl {
  alignas(64) std::atomic<std::uint64_t> written;
  std::atomic<std::uint32_t> writer_waits;  // for room
  alignas(64) std::atomic<std::uint64_t> read;
  std::atomic<std::uint32_t> reader_sleeps;
};
static_assert(sizeof(PipeControl) == 128);

// At the start of the memory behind the pipes, followed by the bytes of both, requests first.
struct PipesHeader {
  alignas(64) std::atomic<std::uint64_t> region_bytes;  // the server's: the region may grow
  std::atomic<std::uint32_t> closing;                   // the server's: the client shall say goodbye
  PipeControl requests;
  PipeControl replies;
};
static_assert(sizeof(PipesHeader) == 320);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

inline constexpr std::size_t kPipesData_offset = 4096;
inline constexpr std::size_t kPipe_bytes = 64U << 10;
static_assert(sizeof(PipesHeader) <= kPipesData_offset);
static_assert((kPipe_bytes & (kPipe_bytes - 1)) == 0, "offsets wrap by a mask");

enum class FrameKind : std::uint16_t { request, reply, error };

// Before each request and reply.
struct FrameHeader {
  std::uint32_t length_bytes;  // of the payload that follows, at most kMaxCall_bytes
  FrameKind kind;
  std::uint16_t method;  // requests
  std::uint64_t call;    // chosen by the client, repeated in the reply
};
static_assert(sizeof(FrameHeader) == 16);

}  // namespace namdb::fabric::shm

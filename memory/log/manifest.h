// The bytes of a checkpoint on disk: chunks, and the manifest that says which of them are one generation. All
// integers are little-endian 64-bit words unless another width is named.
//
//   chunk     0   checksum over all behind it, up to the payload's end
//             8   magic (32 bits) | format version (32)
//             16  log id
//             24  key, the user's: an extent, say
//             32  generation that wrote it
//             40  payload bytes
//             48  payload, and zeros to the end of the page
//   manifest  0   checksum over all behind it, up to the state's end
//             8   magic (32) | format version (32)
//             16  log id
//             24  database id
//             32  server id
//             40  generation
//             48  position where redo begins
//             56  number of chunks
//             64  state bytes
//             72  chunks by ascending key: {key}, {generation}, {payload bytes}, {checksum}
//             ..  state, the user's, and zeros to the end of the page
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "memory/log/disk.h"
#include "memory/log/log_format.h"

namespace namdb::memory {

inline constexpr std::uint32_t kCheckpointFormatVersion = 1;
inline constexpr std::uint64_t kChunkHeader_bytes = 48;
inline constexpr std::uint64_t kMaxChunk_bytes = std::uint64_t{1} << 30;

struct ChunkRef {
  std::uint64_t key = 0;
  std::uint64_t generation = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t checksum = 0;
  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;
};

struct Manifest {
  LogIdentity identity;
  std::uint64_t generation = 0;
  LogPosition redo_from = 0;
  std::vector<ChunkRef> chunks;  // by ascending key
  std::vector<std::byte> state;

  // Null if it has no chunk of that key.
  const ChunkRef* find(std::uint64_t key) const;
};

// The whole file.
PageBuffer write_manifest(const Manifest& manifest);
// Errors corrupt_data and configuration (a newer format); the messages name `path`.
Result<Manifest> read_manifest(const std::string& path, std::span<const std::byte> file);

// The whole file of a chunk; sets the checksum of `ref`, whose length is the payload's.
PageBuffer write_chunk(std::uint64_t log_id, ChunkRef& ref, std::span<const std::byte> payload);
// The payload, within `file`; nullopt if it is not that chunk, whole.
std::optional<std::span<const std::byte>> read_chunk(std::uint64_t log_id, const ChunkRef& ref,
                                                     std::span<const std::byte> file);

// Generations are numbered upwards. The high half is the number of the place under which the host that made
// the generation had the region (common/placement/configuration.h); 0 without a configuration of places. The
// low half counts. No two hosts have a region under one number, so their files have different names, also
// when both continue from one generation.
inline constexpr unsigned kGenerationCount_bits = 32;
// "7", or "5.2" under place number 5.
std::string generation_text(std::uint64_t generation);

// The log is needed from here on, for each of these generations; 0: there are none. After a take-over the
// newest generation may begin earlier than the generation before, which is another host's.
LogPosition oldest_redo(std::span<const Manifest> generations);

std::string manifest_name(std::uint64_t generation);
std::optional<std::uint64_t> manifest_generation(const std::string& name);
std::string chunk_name(std::uint64_t key, std::uint64_t generation);
struct ChunkName {
  std::uint64_t key;
  std::uint64_t generation;
};
std::optional<ChunkName> parse_chunk_name(const std::string& name);

}  // namespace namdb::memory

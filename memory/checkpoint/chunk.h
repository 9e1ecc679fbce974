// A chunk is the content of one extent in a checkpoint: for each place of records that was ever granted in
// its block, the place's life and the body that stands there, if any. Records, rings, old versions, buckets
// and locks are not in it. Integers are little-endian 64-bit words, or two 32-bit halves of one.
//
//   0   magic "NCHK" (high) | format version (low)
//   8   offset of the extent
//   16  number of sections
//   24  sections, each of one block of a table's records (RecordBlock)
//         {table (high) | number of places (low)} {offset of the block} {its bytes}
//         {the number under which it was taken} {record bytes (high) | body bytes (low)}
//         places by ascending index: {index in the block (high) | bytes of the body, or 0 (low)} {life} body
//   ..  checksum over all before it, seeded with the extent's offset
//
// *Life* (SlabAllocator::life()): a journal entry that creates a record at the place is news only under a
// greater grant number. With a body it is the number of that body's grant. Places that are not named were
// not granted since their block was taken: lives below `taken` are over.
//
// A body's checksum binds it to its address. It stands in the chunk as it stood in the region.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/base/error.h"
#include "memory/region/grant_numbers.h"

namespace namdb::memory {

inline constexpr std::uint32_t kChunkMagic = 0x4e43484b;  // "NCHK"
inline constexpr std::uint32_t kChunkFormatVersion = 1;
inline constexpr std::uint64_t kChunkHead_bytes = 24;
inline constexpr std::uint64_t kChunkSection_bytes = 40;
inline constexpr std::uint64_t kChunkPlace_bytes = 16;

// The records of a block, as their table lays them out.
struct ChunkShape {
  std::uint32_t record_bytes = 0;  // from one place to the next
  std::uint32_t body_bytes = 0;
  friend bool operator==(const ChunkShape&, const ChunkShape&) = default;
};

struct ChunkPlace {
  std::uint64_t offset = 0;
  std::uint64_t life = 0;
  std::span<const std::byte> body;  // empty: none
};

struct ChunkSection {
  RecordBlock block;
  ChunkShape shape;
  std::vector<ChunkPlace> places;
};

struct Chunk {
  std::uint64_t extent = 0;
  // A block that went away while the chunk was written may overlap another one.
  std::vector<ChunkSection> sections;
};

class ChunkWriter {
 public:
  explicit ChunkWriter(std::uint64_t extent);
  // Places of one block come together, and by ascending offset. `body` is empty or has shape.body_bytes.
  void place(const RecordBlock& block, ChunkShape shape, const ChunkPlace& place);
  bool empty() const { return sections_ == 0; }
  // The whole chunk. Once.
  std::vector<std::byte> finish();

 private:
  void word(std::uint64_t value);

  std::uint64_t extent_;
  std::vector<std::byte> bytes_;
  std::uint64_t sections_ = 0;
  RecordBlock block_;          // of the last section
  std::uint64_t section_ = 0;  // where it begins
  std::uint32_t places_ = 0;   // in it
};

// The spans point into `bytes`. Never reads outside of them, whatever they hold. Errors: corrupt_data where
// they are not that extent's chunk, whole; configuration where they are of a newer format.
Result<Chunk> decode_chunk(std::uint64_t extent, std::span<const std::byte> bytes);

}  // namespace namdb::memory

// The bytes of the log on disk. All integers are little-endian 64-bit words unless another width is named.
//
// A log is a stream of records, cut into blocks. A *position* counts the stream's bytes since the log
// began, and is never used again. Segments are files of one length, numbered from 0; a *place* is number *
// segment length + offset.
//
//   segment       page 0      the header below; a page of zeros to its end
//                 page 1 ..   blocks, each begins at a page
//   header   0    checksum over the next 56 bytes
//            8    magic (32 bits) | format version (32)
//            16   log id, random, one for each log
//            24   database id
//            32   server id
//            40   segment number
//            48   segment length in bytes
//            56   0
//   block    0    checksum over the rest of the header and the payload, seeded with log id and place
//            8    magic (32) | payload bytes (32), a multiple of 8
//            16   log id
//            24   place
//            32   sequence: blocks since the log began
//            40   checksum of the block before, 0 in the first
//            48   position of the payload
//            56   how much of the payload goes on with the record that the block before left open
//            64   payload, and zeros to the end of the page
//   record   0    magic (16) | kind (16) | length in bytes (32)
//            8    bytes, and zeros to a multiple of 8
//
// A block is written once, by one durable write, when the one before is durable. So a block that is not whole
// is the last one, and was never acknowledged. A whole block behind a block that is not whole proves damage.
// Old blocks of a segment file that is used again have other places, and those of another log another id. A
// record that a loss of power left open is dropped: the next block goes on with nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "common/base/error.h"
#include "memory/log/disk.h"

namespace namdb::memory {

using LogPosition = std::uint64_t;

inline constexpr std::uint32_t kLogFormatVersion = 1;
inline constexpr std::uint64_t kBlockHeader_bytes = 64;
inline constexpr std::uint64_t kRecordHeader_bytes = 8;
inline constexpr std::uint64_t kMinSegment_bytes = 4 * kDiskPage_bytes;
inline constexpr std::uint64_t kMaxSegment_bytes = std::uint64_t{1} << 31;

// Whose log it is.
struct LogOwner {
  std::uint64_t database_id = 0;
  std::uint16_t server_id = 0;
  friend bool operator==(const LogOwner&, const LogOwner&) = default;
};

struct LogIdentity {
  std::uint64_t log_id = 0;
  LogOwner owner;
  friend bool operator==(const LogIdentity&, const LogIdentity&) = default;
};

struct SegmentHeader {
  LogIdentity identity;
  std::uint64_t number = 0;
  std::uint64_t segment_bytes = 0;
};

// Fills the first page of a segment.
void write_segment_header(const SegmentHeader& header, std::span<std::byte> page);
// Error corrupt_data, and configuration where the version is a newer one; the messages name `path`.
Result<SegmentHeader> read_segment_header(const std::string& path, std::span<const std::byte> page);

// Between two blocks of a log, or behind the last one. Two logs with one id that have the same tail have the
// same bytes before it.
struct LogTail {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;  // in it; a full segment's length: the next block begins the next segment
  LogPosition position = 0;
  std::uint64_t sequence = 0;  // of the next block
  std::uint64_t previous = 0;  // checksum of the last
  friend bool operator==(const LogTail&, const LogTail&) = default;

  // Where the next block begins: never at the end of a segment.
  LogTail next_block(std::uint64_t segment_bytes) const {
    LogTail next = *this;
    if (offset == segment_bytes) {
      ++next.segment;
      next.offset = kDiskPage_bytes;
    }
    return next;
  }
};
// So many of the last ones are kept in memory.
inline constexpr std::size_t kKeptTails = 1024;

struct BlockHeader {
  std::uint64_t place = 0;
  std::uint64_t sequence = 0;
  std::uint64_t previous = 0;
  LogPosition position = 0;
  std::uint64_t continued_bytes = 0;
  std::uint32_t payload_bytes = 0;

  std::uint64_t block_bytes() const { return whole_pages(kBlockHeader_bytes + payload_bytes); }
};

// Seals the block whose payload stands in its place already, and zeros the rest of its last page; its
// checksum.
std::uint64_t seal_block(std::uint64_t log_id, const BlockHeader& header, std::span<std::byte> block);
// The bytes, in whole pages, of the block that seems to begin with this page; 0 if no block of that log and
// place begins here, or if the block is longer than `limit_bytes`. Does not check that the block is whole.
std::uint64_t block_bytes_at(std::uint64_t log_id, std::uint64_t place, std::span<const std::byte> page,
                             std::uint64_t limit_bytes);
// The tail behind a block with that checksum, which follows the tail `next`.
inline LogTail tail_behind(const LogTail& next, const BlockHeader& header, std::uint64_t checksum) {
  return {next.segment, next.offset + header.block_bytes(), header.position + header.payload_bytes,
          header.sequence + 1, checksum};
}
struct CertifiedBlock {
  BlockHeader header;
  std::uint64_t checksum = 0;
  std::span<const std::byte> payload;  // within the bytes that were given
};
// The block at the start of `bytes`, which are block_bytes_at() long, if it is whole.
std::optional<CertifiedBlock> certify_block(std::uint64_t log_id, std::uint64_t place,
                                            std::span<const std::byte> bytes);

struct RecordHeader {
  std::uint16_t kind = 0;
  std::uint32_t length_bytes = 0;

  // With header and padding.
  std::uint64_t whole_bytes() const {
    return kRecordHeader_bytes + (std::uint64_t{length_bytes} + 7) / 8 * 8;
  }
};
void write_record_header(const RecordHeader& header, std::byte* at);
std::optional<RecordHeader> read_record_header(const std::byte* at);

// Words of a page, at any alignment.
inline void put_word(std::byte* at, std::uint64_t word) {
  std::memcpy(at, &word, 8);
}
inline std::uint64_t get_word(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  return word;
}

// A number in the name of a file: 16 hexadecimal digits.
std::string hexadecimal(std::uint64_t number);
std::optional<std::uint64_t> from_hexadecimal(std::string_view text);
std::string segment_name(std::uint64_t number);
std::optional<std::uint64_t> segment_number(const std::string& name);

}  // namespace namdb::memory

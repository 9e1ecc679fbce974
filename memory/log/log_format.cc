#include "memory/log/log_format.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "common/base/check.h"
#include "common/base/checksum.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kSegmentMagic = 0x4e534547;  // "NSEG"
constexpr std::uint64_t kBlockMagic = 0x4e424c4b;    // "NBLK"
constexpr std::uint64_t kRecordMagic = 0x4e52;       // "NR"
constexpr std::uint64_t kSegmentHeader_bytes = 64;
constexpr std::string_view kSegmentPrefix = "segment-";

std::uint64_t block_seed(std::uint64_t log_id, std::uint64_t place) {
  return log_id ^ (place * 0x9e3779b97f4a7c15ULL);
}

}  // namespace

void write_segment_header(const SegmentHeader& header, std::span<std::byte> page) {
  NAMDB_CHECK(page.size() == kDiskPage_bytes);
  std::fill(page.begin(), page.end(), std::byte{0});
  put_word(page.data() + 8, kSegmentMagic << 32 | kLogFormatVersion);
  put_word(page.data() + 16, header.identity.log_id);
  put_word(page.data() + 24, header.identity.owner.database_id);
  put_word(page.data() + 32, header.identity.owner.server_id);
  put_word(page.data() + 40, header.number);
  put_word(page.data() + 48, header.segment_bytes);
  put_word(page.data(), checksum64(page.subspan(8, kSegmentHeader_bytes - 8), kSegmentMagic));
}

Result<SegmentHeader> read_segment_header(const std::string& path, std::span<const std::byte> page) {
  const std::uint64_t kind = get_word(page.data() + 8);
  if (kind >> 32 != kSegmentMagic ||
      checksum64(page.subspan(8, kSegmentHeader_bytes - 8), kSegmentMagic) != get_word(page.data()))
    return Status(ErrorCode::corrupt_data, "the header of " + path + " is damaged");
  if (static_cast<std::uint32_t>(kind) != kLogFormatVersion) {
    return Status(ErrorCode::configuration,
                  path + " has format " + std::to_string(static_cast<std::uint32_t>(kind)) +
                      " of the log, and this program knows " + std::to_string(kLogFormatVersion),
                  "use the program that wrote it");
  }
  SegmentHeader header;
  header.identity.log_id = get_word(page.data() + 16);
  header.identity.owner.database_id = get_word(page.data() + 24);
  header.identity.owner.server_id = static_cast<std::uint16_t>(get_word(page.data() + 32));
  header.number = get_word(page.data() + 40);
  header.segment_bytes = get_word(page.data() + 48);
  if (header.segment_bytes < kMinSegment_bytes || header.segment_bytes > kMaxSegment_bytes ||
      header.segment_bytes % kDiskPage_bytes != 0)
    return Status(ErrorCode::corrupt_data, "the header of " + path + " has an impossible length");
  return header;
}

std::uint64_t seal_block(std::uint64_t log_id, const BlockHeader& header, std::span<std::byte> block) {
  NAMDB_CHECK(block.size() == header.block_bytes() && header.payload_bytes % 8 == 0);
  const std::uint64_t used = kBlockHeader_bytes + header.payload_bytes;
  std::fill(block.begin() + static_cast<std::ptrdiff_t>(used), block.end(), std::byte{0});
  put_word(block.data() + 8, kBlockMagic << 32 | header.payload_bytes);
  put_word(block.data() + 16, log_id);
  put_word(block.data() + 24, header.place);
  put_word(block.data() + 32, header.sequence);
  put_word(block.data() + 40, header.previous);
  put_word(block.data() + 48, header.position);
  put_word(block.data() + 56, header.continued_bytes);
  const std::uint64_t checksum = checksum64(block.subspan(8, used - 8), block_seed(log_id, header.place));
  put_word(block.data(), checksum);
  return checksum;
}

std::uint64_t block_bytes_at(std::uint64_t log_id, std::uint64_t place, std::span<const std::byte> page,
                             std::uint64_t limit_bytes) {
  const std::uint64_t kind = get_word(page.data() + 8);
  const std::uint64_t payload = kind & 0xffffffff;
  if (kind >> 32 != kBlockMagic || get_word(page.data() + 16) != log_id ||
      get_word(page.data() + 24) != place || payload == 0 || payload % 8 != 0)
    return 0;
  const std::uint64_t length = whole_pages(kBlockHeader_bytes + payload);
  return length <= limit_bytes ? length : 0;
}

std::optional<CertifiedBlock> certify_block(std::uint64_t log_id, std::uint64_t place,
                                            std::span<const std::byte> bytes) {
  CertifiedBlock block;
  block.header.payload_bytes = static_cast<std::uint32_t>(get_word(bytes.data() + 8));
  const std::uint64_t used = kBlockHeader_bytes + block.header.payload_bytes;
  block.checksum = get_word(bytes.data());
  if (checksum64(bytes.subspan(8, used - 8), block_seed(log_id, place)) != block.checksum)
    return std::nullopt;
  block.header.place = place;
  block.header.sequence = get_word(bytes.data() + 32);
  block.header.previous = get_word(bytes.data() + 40);
  block.header.position = get_word(bytes.data() + 48);
  block.header.continued_bytes = get_word(bytes.data() + 56);
  block.payload = bytes.subspan(kBlockHeader_bytes, block.header.payload_bytes);
  return block;
}

void write_record_header(const RecordHeader& header, std::byte* at) {
  put_word(at, kRecordMagic << 48 | std::uint64_t{header.kind} << 32 | header.length_bytes);
}

std::optional<RecordHeader> read_record_header(const std::byte* at) {
  const std::uint64_t word = get_word(at);
  if (word >> 48 != kRecordMagic) return std::nullopt;
  return RecordHeader{static_cast<std::uint16_t>(word >> 32), static_cast<std::uint32_t>(word)};
}

std::string hexadecimal(std::uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::optional<std::uint64_t> from_hexadecimal(std::string_view text) {
  if (text.size() != 16) return std::nullopt;
  std::uint64_t number = 0;
  for (const char digit : text) {
    const auto found = std::string_view("0123456789abcdef").find(digit);
    if (found == std::string_view::npos) return std::nullopt;
    number = number << 4 | found;
  }
  return number;
}

std::string segment_name(std::uint64_t number) {
  return std::string(kSegmentPrefix) + hexadecimal(number);
}

std::optional<std::uint64_t> segment_number(const std::string& name) {
  if (!name.starts_with(kSegmentPrefix)) return std::nullopt;
  return from_hexadecimal(std::string_view(name).substr(kSegmentPrefix.size()));
}

}  // namespace namdb::memory

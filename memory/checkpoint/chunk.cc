#include "memory/checkpoint/chunk.h"

#include <string>
#include <utility>

#include "common/base/check.h"
#include "common/base/checksum.h"
#include "common/layout/record.h"
#include "common/layout/words.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t halves(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32 | low;
}

std::uint32_t high_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word >> 32);
}

std::uint32_t low_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word);
}

Status damaged(std::uint64_t extent, const std::string& what) {
  return Status(ErrorCode::corrupt_data,
                "the chunk of the extent at " + std::to_string(extent) + " in a checkpoint " + what);
}

// Takes words and bytes from the front of what is left.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}
  std::size_t left() const { return rest_.size(); }
  // There are so many.
  std::uint64_t word() {
    const std::uint64_t value = layout::load_word(rest_.data());
    rest_ = rest_.subspan(8);
    return value;
  }
  std::span<const std::byte> bytes(std::size_t count) {
    const std::span<const std::byte> taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

 private:
  std::span<const std::byte> rest_;
};

bool possible(const ChunkSection& section) {
  const auto& [record_bytes, body_bytes] = section.shape;
  return section.block.taken != 0 && section.block.offset % 8 == 0 && record_bytes % 8 == 0 &&
         body_bytes % 8 == 0 && body_bytes >= layout::kBodyPrefix_bytes &&
         record_bytes >= std::uint64_t{body_bytes} + 8 && section.block.bytes >= record_bytes &&
         section.block.offset + section.block.bytes > section.block.offset;
}

// False if no such section begins there.
bool read_section(Reader& reader, ChunkSection& section) {
  if (reader.left() < kChunkSection_bytes) return false;
  const std::uint64_t first = reader.word();
  section.block.table = high_of(first);
  section.block.offset = reader.word();
  section.block.bytes = reader.word();
  section.block.taken = reader.word();
  const std::uint64_t shape = reader.word();
  section.shape = {high_of(shape), low_of(shape)};
  if (!possible(section)) return false;
  const std::uint64_t most = section.block.bytes / section.shape.record_bytes;
  std::uint64_t next = 0;  // index
  for (std::uint32_t i = 0; i < low_of(first); ++i) {
    if (reader.left() < kChunkPlace_bytes) return false;
    const std::uint64_t place = reader.word();
    const std::uint64_t life = reader.word();
    const std::uint64_t index = high_of(place);
    const std::uint32_t body_bytes = low_of(place);
    if (index < next || index >= most || life == 0 || body_bytes > reader.left()) return false;
    if (body_bytes != 0 && body_bytes != section.shape.body_bytes) return false;
    next = index + 1;
    section.places.push_back(
        {section.block.offset + index * section.shape.record_bytes, life, reader.bytes(body_bytes)});
  }
  return true;
}

}  // namespace

ChunkWriter::ChunkWriter(std::uint64_t extent) : extent_(extent) {
  word(halves(kChunkMagic, kChunkFormatVersion));
  word(extent);
  word(0);
}

void ChunkWriter::word(std::uint64_t value) {
  bytes_.resize(bytes_.size() + 8);
  layout::store_word(bytes_.data() + bytes_.size() - 8, value);
}

void ChunkWriter::place(const RecordBlock& block, ChunkShape shape, const ChunkPlace& place) {
  NAMDB_CHECK(place.body.empty() || place.body.size() == shape.body_bytes);
  if (sections_ == 0 || block != block_) {
    ++sections_;
    block_ = block;
    section_ = bytes_.size();
    places_ = 0;
    word(0);
    word(block.offset);
    word(block.bytes);
    word(block.taken);
    word(halves(shape.record_bytes, shape.body_bytes));
  }
  layout::store_word(bytes_.data() + section_, halves(block.table, ++places_));
  const std::uint64_t index = (place.offset - block.offset) / shape.record_bytes;
  word(halves(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(place.body.size())));
  word(place.life);
  bytes_.insert(bytes_.end(), place.body.begin(), place.body.end());
}

std::vector<std::byte> ChunkWriter::finish() {
  layout::store_word(bytes_.data() + 16, sections_);
  word(checksum64(bytes_, extent_));
  return std::move(bytes_);
}

Result<Chunk> decode_chunk(std::uint64_t extent, std::span<const std::byte> bytes) {
  if (bytes.size() < kChunkHead_bytes + 8 || bytes.size() % 8 != 0) return damaged(extent, "is cut short");
  const std::span<const std::byte> content = bytes.first(bytes.size() - 8);
  if (layout::load_word(content.data() + content.size()) != checksum64(content, extent))
    return damaged(extent, "does not fit its checksum");
  Reader reader(content);
  const std::uint64_t first = reader.word();
  if (high_of(first) != kChunkMagic) return damaged(extent, "is something else");
  if (low_of(first) != kChunkFormatVersion) {
    return Status(ErrorCode::configuration, "a checkpoint has chunks of format " +
                                                std::to_string(low_of(first)) + ", which is not known here");
  }
  Chunk chunk;
  chunk.extent = reader.word();
  if (chunk.extent != extent) return damaged(extent, "is that of another extent");
  const std::uint64_t sections = reader.word();
  for (std::uint64_t i = 0; i < sections; ++i) {
    ChunkSection section;
    if (!read_section(reader, section)) return damaged(extent, "has a section that cannot be");
    chunk.sections.push_back(std::move(section));
  }
  if (reader.left() != 0) return damaged(extent, "goes on behind its end");
  return chunk;
}

}  // namespace namdb::memory

#include "common/layout/record.h"

#include "common/base/check.h"
#include "common/base/checksum.h"

namespace namdb::layout {

namespace {

std::uint64_t body_checksum(std::span<const std::byte> body, GlobalAddress record) {
  return checksum64(body.subspan(kBodyPrefix_bytes),
                    checksum64(body.first(kBodyChecksum_offset), record.value));
}

}  // namespace

BodyHeader decode_body_header(const std::byte* body) {
  const HeaderWord stamp_word(load_word(body));
  const std::uint64_t meta = load_word(body + kBodyMeta_offset);
  return BodyHeader{.stamp = stamp_word.stamp(),
                    .deleted = stamp_word.deleted(),
                    .displaced = HeaderWord(load_word(body + 8)),
                    .table = static_cast<std::uint32_t>(meta >> 32),
                    .incarnation = static_cast<std::uint32_t>(meta >> 8) & kIncarnation_mask,
                    .ring_slot = static_cast<std::uint32_t>(meta & 0x7f)};
}

bool certify_body(std::span<const std::byte> body, GlobalAddress record) {
  return load_word(body.data() + kBodyChecksum_offset) == body_checksum(body, record);
}

void seal_body(std::span<std::byte> body, GlobalAddress record, const BodyHeader& header) {
  NAMDB_CHECK(body.size() >= kBodyPrefix_bytes && body.size() % 8 == 0);
  store_word(body.data(), header.header_word().value());
  store_word(body.data() + 8, header.displaced.value());
  store_word(body.data() + kBodyMeta_offset,
             (std::uint64_t{header.table} << 32) |
                 (std::uint64_t{header.incarnation & kIncarnation_mask} << 8) | (header.ring_slot & 0x7f));
  store_word(body.data() + kBodyChecksum_offset, body_checksum(body, record));
}

void frame_new_record(std::span<std::byte> record, const RecordLayout& layout) {
  NAMDB_CHECK(record.size() == layout.locked_bytes());
  store_word(record.data(), load_word(record.data() + 8));
  store_word(record.data() + layout.trailer_offset(), 0);
  for (std::uint32_t i = 0; i < layout.ring_slots; ++i) {
    store_word(record.data() + layout.ring_header_offset(i), HeaderWord(Stamp{}).with_moved().value());
  }
  for (std::uint32_t i = 0; i < layout.reader_words; ++i)
    store_word(record.data() + layout.reader_offset(i), 0);
}

}  // namespace namdb::layout

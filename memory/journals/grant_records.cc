#include "memory/journals/grant_records.h"

#include "common/layout/words.h"

namespace namdb::memory {

using layout::load_word;
using layout::store_word;

std::vector<std::byte> mark_record(std::uint64_t mark) {
  std::vector<std::byte> bytes(8);
  store_word(bytes.data(), mark);
  return bytes;
}

std::vector<std::byte> block_record(const RecordBlock& block) {
  std::vector<std::byte> bytes(32);
  store_word(bytes.data(), block.table);
  store_word(bytes.data() + 8, block.offset);
  store_word(bytes.data() + 16, block.bytes);
  store_word(bytes.data() + 24, block.taken);
  return bytes;
}

std::optional<std::uint64_t> read_mark_record(std::span<const std::byte> record) {
  if (record.size() != 8) return std::nullopt;
  return load_word(record.data());
}

std::optional<RecordBlock> read_block_record(std::span<const std::byte> record) {
  if (record.size() != 32 || load_word(record.data()) > ~std::uint32_t{0}) return std::nullopt;
  return RecordBlock{static_cast<std::uint32_t>(load_word(record.data())), load_word(record.data() + 8),
                     load_word(record.data() + 16), load_word(record.data() + 24)};
}

}  // namespace namdb::memory

#include "common/layout/placement.h"

#include <algorithm>
#include <cstring>

#include "common/base/checksum.h"

namespace namdb::layout {
namespace {

constexpr std::uint64_t kTextSeed = 0x7061'7274;

template <typename Integer>
std::int64_t load_integer(const std::byte* bytes) {
  Integer value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::uint64_t field_hash(const Column& column, std::span<const std::byte> field) {
  if (column.is_string()) {
    // Without the zeros behind it: columns of other lengths have other numbers of them.
    const auto length = static_cast<std::size_t>(load_integer<std::uint16_t>(field.data()));
    const auto value = field.subspan(2, std::min(length, field.size() - 2));
    return partition_hash(std::string_view(reinterpret_cast<const char*>(value.data()), value.size()));
  }
  switch (field.size()) {
    case 1:
      return partition_hash(load_integer<std::uint8_t>(field.data()));
    case 2:
      return partition_hash(load_integer<std::int16_t>(field.data()));
    case 4:
      return partition_hash(load_integer<std::int32_t>(field.data()));
    default:
      return partition_hash(load_integer<std::int64_t>(field.data()));
  }
}

// The bits of a chained table's hashes that the whole key decides.
constexpr std::uint64_t kInChainMask = (std::uint64_t{1} << 24) - 1;

}  // namespace

std::uint64_t partition_hash(std::string_view value) {
  return checksum64(std::as_bytes(std::span(value)), kTextSeed);
}

std::uint64_t partition_hash(const Schema& schema, std::span<const std::byte> key) {
  std::uint64_t hash = 0;
  bool first = true;
  for (const std::uint32_t position : schema.partition()) {
    const Column& column = schema.columns()[position];
    const std::uint32_t offset = schema.field_offset(position) - schema.key_offset();
    const std::uint64_t value = field_hash(column, key.subspan(offset, column.field_bytes()));
    hash = first ? value : checksum64(std::as_bytes(std::span(&value, 1)), hash);
    first = false;
  }
  return hash;
}

HashInterval chained_hashes(std::uint32_t table, std::uint64_t partition_hash) {
  // Other tables' rows with these values have other hashes.
  const std::uint64_t mixed = checksum64(std::as_bytes(std::span(&partition_hash, 1)), table);
  return {mixed & ~kInChainMask, mixed | kInChainMask};
}

std::uint64_t row_hash(std::uint32_t table, const Schema& schema, std::span<const std::byte> key,
                       std::uint64_t server_count) {
  const std::uint64_t hash = hash_key(table, key);
  if (schema.chained()) {
    const std::uint64_t chained =
        chained_hashes(table, partition_hash(schema, key)).low | (hash & kInChainMask);
    return chained != 0 ? chained : 1;
  }
  if (schema.partition().empty() || server_count == 1) return hash;
  // The hashes of server n are [n * 2^64 / servers, (n + 1) * 2^64 / servers), of which `low` is the first;
  // there are `width` at least.
  const std::uint64_t server = bucket_index(partition_hash(schema, key), server_count);
  const auto low = static_cast<std::uint64_t>(
      ((static_cast<unsigned __int128>(server) << 64) + server_count - 1) / server_count);
  const auto width = static_cast<std::uint64_t>((static_cast<unsigned __int128>(1) << 64) / server_count);
  const std::uint64_t placed = low + bucket_index(hash, width);
  return placed != 0 ? placed : 1;
}

}  // namespace namdb::layout

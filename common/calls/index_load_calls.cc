#include "common/calls/index_load_calls.h"

#include <cstring>

#include "common/base/check.h"

namespace namdb::calls {
namespace {

template <typename Number>
void append_number(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
bool take_number(std::string_view& bytes, Number& number) {
  if (bytes.size() < sizeof number) return false;
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return true;
}

}  // namespace

std::string encode(const IndexLoad& load) {
  std::string bytes;
  append_number(bytes, load.index);
  append_number(bytes, load.sender);
  append_number(bytes, load.number);
  append_number(bytes, static_cast<std::uint8_t>(load.last));
  for (const std::string_view key : load.keys) {
    NAMDB_CHECK(key.size() <= UINT16_MAX);
    append_number(bytes, static_cast<std::uint16_t>(key.size()));
    bytes += key;
  }
  return bytes;
}

std::optional<IndexLoad> decode_index_load(std::string_view bytes) {
  IndexLoad load;
  std::uint8_t last = 0;
  if (!take_number(bytes, load.index) || !take_number(bytes, load.sender) ||
      !take_number(bytes, load.number) || !take_number(bytes, last) || last > 1)
    return std::nullopt;
  load.last = last == 1;
  while (!bytes.empty()) {
    std::uint16_t length = 0;
    if (!take_number(bytes, length) || bytes.size() < length) return std::nullopt;
    const std::string_view key = bytes.substr(0, length);
    if (!load.keys.empty() && key < load.keys.back()) return std::nullopt;
    load.keys.push_back(key);
    bytes.remove_prefix(length);
  }
  return load;
}

}  // namespace namdb::calls

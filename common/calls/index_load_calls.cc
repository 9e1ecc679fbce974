#include "common/calls/index_load_calls.h"

#include "common/calls/fields.h"

namespace namdb::calls {

std::string encode(const IndexLoad& load) {
  std::string bytes;
  put(bytes, load.round);
  put(bytes, load.index);
  put(bytes, load.sender);
  put(bytes, load.number);
  put(bytes, static_cast<std::uint8_t>(load.last));
  for (const std::string_view key : load.keys) put_key(bytes, key);
  return bytes;
}

std::optional<IndexLoad> decode_index_load(std::string_view bytes) {
  Fields fields(bytes);
  IndexLoad load;
  load.round = fields.take<std::uint64_t>();
  load.index = fields.take<std::uint32_t>();
  load.sender = fields.take<decltype(load.sender)>();
  load.number = fields.take<std::uint32_t>();
  load.last = fields.take_flag();
  while (!fields.at_end()) {
    const std::string_view key = fields.take_key();
    if (!load.keys.empty() && key < load.keys.back()) return std::nullopt;
    load.keys.push_back(key);
  }
  if (!fields.sound()) return std::nullopt;
  return load;
}

}  // namespace namdb::calls

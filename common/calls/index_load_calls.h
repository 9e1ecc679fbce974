// The bytes of INDEX_LOAD (method 58): after a restart a memory server sends the keys that its rows have in
// parts of indexes on other memory servers, before these open. Numbers are little-endian, without gaps; a key
// is its length (16 bits) and its bytes.
//   request  round of the opening (64) | index (32) | the sender's server id (16) | number of this request,
//            from 0 on (32) | 1 = the last of this index from this sender (8) | keys, ascending
//   reply    empty
// A request that came before changes nothing. Requests are outside input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace namdb::calls {

inline constexpr std::uint16_t kIndexLoadMethod = 58;

struct IndexLoad {
  std::uint32_t index = 0;
  std::uint16_t sender = 0;
  std::uint32_t number = 0;
  bool last = false;
  std::vector<std::string_view> keys;  // of a decoded request: in its bytes
  std::uint64_t round = 0;
};

std::string encode(const IndexLoad& load);
// nullopt when the request is malformed, or its keys do not ascend.
std::optional<IndexLoad> decode_index_load(std::string_view bytes);

}  // namespace namdb::calls

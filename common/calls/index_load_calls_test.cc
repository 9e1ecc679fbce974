// The bytes of INDEX_LOAD, and what is not taken for one.
#include "common/calls/index_load_calls.h"

#include <catch2/catch.hpp>

namespace namdb::calls {

TEST_CASE("the bytes of INDEX_LOAD", "[index_load]") {
  const std::string bytes = encode(IndexLoad{0x0403'0201, 0x0605, 7, true, {"a", "bc"}, 0x0908});
  CHECK(bytes == std::string("\x08\x09\0\0\0\0\0\0\1\2\3\4\5\6\7\0\0\0\1\1\0a\2\0bc", 26));
  const auto load = decode_index_load(bytes);
  REQUIRE(load);
  CHECK(load->round == 0x0908);
  CHECK(load->index == 0x0403'0201);
  CHECK(load->sender == 0x0605);
  CHECK(load->number == 7);
  CHECK(load->last);
  CHECK(load->keys == std::vector<std::string_view>{"a", "bc"});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const bool whole = length == 19 || length == 22;  // without keys, or with one
    CHECK(decode_index_load(bytes.substr(0, length)).has_value() == whole);
  }
  CHECK_FALSE(decode_index_load(encode(IndexLoad{1, 1, 1, false, {"b", "a"}})));
  std::string other = bytes;
  other[18] = 2;
  CHECK_FALSE(decode_index_load(other));
}

}  // namespace namdb::calls

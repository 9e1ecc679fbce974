#include "common/calls/index_calls.h"

#include <catch2/catch.hpp>

#include "common/base/random.h"

namespace namdb::calls {

TEST_CASE("calls about index entries arrive as they were sent", "[index]") {
  std::string bytes;
  append(bytes, IndexChange{IndexChange::Kind::add, 7, 3, "abcd"});
  append(bytes, IndexChange{IndexChange::Kind::mark, 8, 0, "", true});
  CHECK(bytes.substr(0, 13) == std::string("\1\7\0\0\0\3\0\4\0abcd", 13));
  const auto changes = decode_index_changes(bytes);
  REQUIRE(changes);
  REQUIRE(changes->size() == 2);
  CHECK(changes->at(0).kind == IndexChange::Kind::add);
  CHECK(changes->at(0).index == 7);
  CHECK(changes->at(0).declared_bytes == 3);
  CHECK(changes->at(0).key == "abcd");
  CHECK_FALSE(changes->at(0).ahead);
  CHECK(changes->at(1).kind == IndexChange::Kind::mark);
  CHECK(changes->at(1).ahead);
  CHECK(changes->at(1).key.empty());

  bytes.clear();
  append(bytes, IndexChangeResult{5, true, {"x", "yz"}});
  append(bytes, IndexChangeResult{});
  const auto results = decode_index_results(bytes);
  REQUIRE(results);
  REQUIRE(results->size() == 2);
  CHECK(results->at(0).sequence == 5);
  CHECK(results->at(0).more_candidates);
  CHECK(results->at(0).candidates == std::vector<std::string_view>{"x", "yz"});

  bytes.clear();
  append(bytes, IndexVerdict{IndexVerdict::Kind::dead, 7, 9, "k"});
  const auto verdicts = decode_index_verdicts(bytes);
  REQUIRE(verdicts);
  CHECK(verdicts->at(0).kind == IndexVerdict::Kind::dead);
  CHECK(verdicts->at(0).sequence == 9);

  bytes.clear();
  append(bytes, IndexDoubt{7, 9, "k"});
  const auto doubts = decode_index_doubts(bytes);
  REQUIRE(doubts);
  CHECK(doubts->at(0).key == "k");

  const std::string seek_bytes = encode(IndexSeek{7, true, 100, "low", "high"});
  const auto seek = decode_index_seek(seek_bytes);
  REQUIRE(seek);
  CHECK(seek->descending);
  CHECK(seek->limit == 100);
  CHECK(seek->low == "low");
  CHECK(seek->high == "high");
  const std::string open_bytes = encode(IndexSeek{7, false, 1, "", std::nullopt});
  const auto open = decode_index_seek(open_bytes);
  REQUIRE(open);
  CHECK_FALSE(open->high);

  const std::string reply_bytes = encode(IndexSeekResult{true, 4096, 8192, {"a", "b"}});
  const auto reply = decode_index_seek_result(reply_bytes);
  REQUIRE(reply);
  CHECK(reply->more);
  CHECK(reply->leaf_offset == 4096);
  CHECK(reply->parent_offset == 8192);
  CHECK(reply->keys.size() == 2);
}

TEST_CASE("bytes that are no call about index entries are refused, whatever they are", "[index]") {
  Random random(8);
  std::string changes;
  append(changes, IndexChange{IndexChange::Kind::add, 7, 3, "abcd"});
  for (std::size_t length = 1; length < changes.size(); ++length) {
    CHECK_FALSE(decode_index_changes(changes.substr(0, length)));
  }
  CHECK_FALSE(decode_index_changes(std::string("\0\7\0\0\0\3\0\0\0", 9)));
  CHECK_FALSE(decode_index_changes(std::string("\4\7\0\0\0\3\0\0\0", 9)));
  CHECK_FALSE(decode_index_changes(std::string("\x84\7\0\0\0\3\0\0\0", 9)));
  const std::string seek = encode(IndexSeek{7, true, 100, "low", "high"});
  CHECK_FALSE(decode_index_seek(seek + "x"));
  CHECK_FALSE(decode_index_seek(seek.substr(0, seek.size() - 1)));
  CHECK_FALSE(decode_index_seek(""));
  CHECK_FALSE(decode_index_seek_result(""));
  CHECK(decode_index_changes("")->empty());
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random.below(60), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(round % 2 == 0 ? 256 : 6));
    static_cast<void>(decode_index_changes(bytes));
    static_cast<void>(decode_index_results(bytes));
    static_cast<void>(decode_index_verdicts(bytes));
    static_cast<void>(decode_index_doubts(bytes));
    static_cast<void>(decode_index_seek(bytes));
    static_cast<void>(decode_index_seek_result(bytes));
  }
}

}  // namespace namdb::calls

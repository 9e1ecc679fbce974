#include "common/placement/follow_calls.h"

#include <catch2/catch.hpp>
#include <string>

namespace namdb::placement {
namespace {

// All that is shorter or longer is refused.
template <typename Decode>
void check_whole(const std::string& bytes, Decode decode) {
  REQUIRE(decode(bytes).has_value());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(decode(bytes.substr(0, length)).has_value());
  CHECK_FALSE(decode(bytes + "x").has_value());
}

}  // namespace

TEST_CASE("requests of copies are read back, and others are refused", "[placement]") {
  FollowRequest request;
  request.database_id = 7;
  request.server_id = 2;
  request.address = "copy:1";
  request.has_log = request.whole = true;
  request.end = {3, 8192, 4711, 17, 99};
  request.recent = {{15, 97}, {16, 98}};
  check_whole(encode(request), decode_follow);
  const auto read = decode_follow(encode(request));
  CHECK(read->address == "copy:1");
  CHECK(read->whole);
  CHECK(read->end == request.end);
  CHECK(read->recent == request.recent);
  request.end.offset = 5;
  CHECK_FALSE(decode_follow(encode(request)).has_value());
  request.end.offset = 0;
  request.address.clear();
  CHECK_FALSE(decode_follow(encode(request)).has_value());
  check_whole(encode(CopyRequest{3}), decode_copy);
  check_whole(encode(LeaveRequest{"to:1", true}), decode_leave);
  CHECK(decode_leave(encode(LeaveRequest{"to:1", true}))->force);
}

TEST_CASE("calls of a primary to its copies are read back, and others are refused", "[placement]") {
  FollowReply reply;
  reply.answer = FollowAnswer::blocks;
  reply.database_id = 7;
  reply.log_id = 8;
  reply.segment_bytes = 32768;
  reply.place = {3, "primary:1", {"a:1", "b:1"}};
  reply.position = 5000;
  reply.generation = 2;
  reply.begin = {1, 4096, 100, 5, 6};
  reply.mark = {4, 5};
  reply.bytes = std::string(4096, 'x');
  const std::string bytes = encode(reply);
  const auto read = decode_follow_reply(bytes);
  REQUIRE(read.has_value());
  CHECK(read->place == reply.place);
  CHECK(read->begin == reply.begin);
  CHECK(read->mark == reply.mark);
  CHECK(read->bytes == reply.bytes);
  CHECK_FALSE(decode_follow_reply(bytes.substr(0, bytes.size() - 1)).has_value());
  CHECK_FALSE(decode_follow_reply(bytes + "x").has_value());
  reply.bytes.clear();
  check_whole(encode(reply), decode_follow_reply);
}

}  // namespace namdb::placement

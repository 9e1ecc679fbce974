#include "common/placement/move_calls.h"

#include <catch2/catch.hpp>

namespace namdb::placement {
namespace {

// All that is shorter or longer is refused.
template <typename Decode>
void check_bounds(const std::string& bytes, Decode decode) {
  REQUIRE(decode(bytes).has_value());
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK_FALSE(decode(bytes.substr(0, length)).has_value());
  CHECK_FALSE(decode(bytes + "x").has_value());
}

}  // namespace

TEST_CASE("requests and replies about moves are read back, and others are refused", "[placement]") {
  check_bounds(encode(FilesRequest{Part::checkpoint, "chunk-1"}), decode_files);
  CHECK(decode_files(encode(FilesRequest{Part::checkpoint, "chunk-1"}))->after == "chunk-1");
  check_bounds(encode(ReadFileRequest{Part::log, "segment-0", 8192, 4096}), decode_read_file);
  CHECK_FALSE(decode_read_file(encode(ReadFileRequest{Part::log, "segment-0", 1, 4096})).has_value());
  CHECK_FALSE(decode_read_file(encode(ReadFileRequest{Part::log, "segment-0", 0, 0})).has_value());
  check_bounds(encode(HandOverRequest{5, 77, "host:1"}), decode_hand_over);
  CHECK_FALSE(decode_hand_over(encode(HandOverRequest{0, 77, "host:1"})).has_value());
  CHECK_FALSE(decode_hand_over(encode(HandOverRequest{5, 77, ""})).has_value());
  check_bounds(encode(MoveRequest{"old:1", "new:1"}), decode_move);
  CHECK(decode_move(encode(MoveRequest{})).has_value());
  CHECK_FALSE(decode_move(encode(MoveRequest{"old:1", ""})).has_value());
  MoveReply progress;
  progress.state = MoveState::claims;
  progress.from = "old:1";
  progress.copied_bytes = 3;
  progress.error = "why";
  check_bounds(encode(progress), decode_move_reply);
  CHECK(decode_move_reply(encode(progress))->state == MoveState::claims);
  CHECK(decode_move_reply(encode(progress))->error == "why");
}

TEST_CASE("a list of files is read back, and lengths that no file has are refused", "[placement]") {
  FilesReply reply;
  reply.database_id = 1;
  reply.position = 100;
  reply.segment = 2;
  reply.offset = 8192;
  reply.more = true;
  reply.files = {{"segment-1", 32768}, {"segment-2", 4096}};
  const auto read = decode_files_reply(encode(reply));
  REQUIRE(read.has_value());
  CHECK(read->offset == 8192);
  REQUIRE(read->files.size() == 2);
  CHECK(read->files[1].name == "segment-2");
  reply.files[0].length_bytes = 5;
  CHECK_FALSE(decode_files_reply(encode(reply)).has_value());
  reply.files.clear();
  CHECK_FALSE(decode_files_reply(encode(reply)).has_value());
}

}  // namespace namdb::placement

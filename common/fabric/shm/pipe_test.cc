#include "common/fabric/shm/pipe.h"

#include <catch2/catch.hpp>

#include <memory>
#include <vector>

#include "common/base/random.h"
#include "common/fabric/fabric.h"

namespace namdb::fabric::shm {
namespace {

struct Pipe {
  static constexpr std::size_t kBytes = 256;
  PipeControl control{};
  std::vector<std::byte> bytes = std::vector<std::byte>(kBytes);
  PipeSender sender{control, bytes.data(), kBytes};
  PipeReceiver receiver{control, bytes.data(), kBytes};
};

FrameHeader request(std::uint64_t call, std::size_t length_bytes) {
  return {static_cast<std::uint32_t>(length_bytes), FrameKind::request, 7, call};
}

}  // namespace

TEST_CASE("frames of all lengths go through the pipe in order, also those longer than the pipe") {
  Pipe pipe;
  Random random(1);
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::vector<std::string> expected;
  FrameHeader header;
  std::string payload;
  while (received < 2000) {
    if (sent < 2000 && random.chance(0.5)) {
      std::string bytes(random.below(random.chance(0.1) ? 2000 : 50), static_cast<char>('a' + sent % 26));
      pipe.sender.send(request(sent, bytes.size()), bytes);
      expected.push_back(std::move(bytes));
      ++sent;
    } else {
      pipe.sender.flush();
      while (pipe.receiver.receive(header, payload)) {
        REQUIRE(header.call == received);
        REQUIRE(header.method == 7);
        REQUIRE((payload == expected[received]));
        ++received;
        pipe.sender.flush();
      }
    }
  }
  REQUIRE(!pipe.sender.waiting());
  REQUIRE(!pipe.sender.broken());
  REQUIRE(!pipe.receiver.broken());
}

TEST_CASE("a receiver that sleeps is woken once, one that does not is not") {
  Pipe pipe;
  pipe.sender.send(request(1, 3), "abc");
  REQUIRE(!pipe.sender.wake_needed());
  REQUIRE(!pipe.receiver.prepare_sleep());  // there is work
  pipe.receiver.cancel_sleep();
  FrameHeader header;
  std::string payload;
  REQUIRE(pipe.receiver.receive(header, payload));
  REQUIRE(pipe.receiver.prepare_sleep());
  REQUIRE(!pipe.sender.wake_needed());  // nothing was written since
  pipe.sender.send(request(2, 3), "abc");
  REQUIRE(pipe.sender.wake_needed());
  REQUIRE(!pipe.sender.wake_needed());
  pipe.sender.send(request(3, 3), "abc");
  REQUIRE(!pipe.sender.wake_needed());  // it has been woken
}

TEST_CASE("a sender that waits for room is woken when there is some") {
  Pipe pipe;
  const std::string bytes(300, 'x');
  pipe.sender.send(request(1, bytes.size()), bytes);
  REQUIRE(pipe.sender.waiting());
  REQUIRE(pipe.sender.prepare_sleep());
  FrameHeader header;
  std::string payload;
  REQUIRE(!pipe.receiver.receive(header, payload));
  REQUIRE(pipe.receiver.wake_needed());
  REQUIRE(!pipe.sender.prepare_sleep());
  pipe.sender.cancel_sleep();
  REQUIRE(pipe.sender.flush());
  REQUIRE(pipe.receiver.receive(header, payload));
  REQUIRE((payload == bytes));
}

TEST_CASE("positions that cannot be break the pipe and nothing else") {
  for (const std::uint64_t nonsense : {std::uint64_t{257}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    Pipe pipe;
    FrameHeader header;
    std::string payload;
    pipe.control.written = nonsense;
    REQUIRE(!pipe.receiver.receive(header, payload));
    REQUIRE(pipe.receiver.broken());
    pipe.control.read = nonsense / 2;
    pipe.sender.send(request(1, 1), "x");
    REQUIRE(pipe.sender.broken());
  }
}

TEST_CASE("a frame that claims to be too long breaks the pipe") {
  Pipe pipe;
  pipe.sender.send(request(1, kMaxCall_bytes + 1), "x");
  FrameHeader header;
  std::string payload;
  REQUIRE(!pipe.receiver.receive(header, payload));
  REQUIRE(pipe.receiver.broken());
}

TEST_CASE("random bytes never do more than break the pipe") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Pipe pipe;
    Random random(seed);
    for (int round = 0; round < 20; ++round) {
      for (std::byte& byte : pipe.bytes) byte = static_cast<std::byte>(random.next());
      if (random.chance(0.3)) {
        pipe.bytes[0] = pipe.bytes[1] = pipe.bytes[2] = pipe.bytes[3] = std::byte{0};
      }
      pipe.control.written = pipe.control.written + random.below(256);
      FrameHeader header;
      std::string payload;
      while (pipe.receiver.receive(header, payload)) REQUIRE(payload.size() == header.length_bytes);
    }
  }
}

TEST_CASE("errors go through encoded, nonsense is an internal error") {
  const Status error(ErrorCode::duplicate_key, "the key is there", "choose another");
  const Status same = decode_error(encode_error(error));
  REQUIRE(same.code() == error.code());
  REQUIRE(same.message() == error.message());
  REQUIRE(same.hint() == error.hint());
  REQUIRE(decode_error(encode_error(Status(ErrorCode::fenced, ""))).code() == ErrorCode::fenced);
  for (const std::string_view nonsense :
       {std::string_view(), std::string_view("x"), std::string_view("duplicate_key"),
        std::string_view("no_such_error\0m\0h", 17)}) {
    REQUIRE(decode_error(nonsense).code() == ErrorCode::internal);
  }
}

}  // namespace namdb::fabric::shm

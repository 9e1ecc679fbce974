// The contract's guarantees for calls.
#include <catch2/catch.hpp>

#include "common/fabric/conformance/suite.h"

namespace namdb::fabric::conformance {
namespace {

using reactor::Task;

Task<void> many_calls(Channel* channel, std::size_t count, int* wrong) {
  std::vector<std::unique_ptr<Call>> calls;
  for (std::size_t i = 0; i < count; ++i) {
    calls.push_back(std::make_unique<Call>());
    calls[i]->method = i % 7 == 3 ? kFail : kEcho;
    calls[i]->request = std::to_string(i) + std::string(i * 37 % 5000, 'x');
    channel->post(*calls[i]);
  }
  for (std::size_t i = 0; i < count; ++i) {
    co_await calls[i]->done();
    if (calls[i]->method == kFail) {
      *wrong += calls[i]->status().ok() || calls[i]->status().message() != calls[i]->request;
    } else {
      *wrong += !calls[i]->status().ok() || calls[i]->reply != calls[i]->request;
    }
  }
}

}  // namespace

TEST_CASE("a call of any length up to the limit is answered") {
  on_every_transport(1, [](Suite& suite) {
    for (const std::size_t length : {0U, 1U, 7U, 100U, 4096U, 70'000U, kMaxCall_bytes}) {
      std::string bytes(length, 'a');
      for (std::size_t i = 0; i < length; i += 97) bytes[i] = static_cast<char>(i);
      const std::string request = bytes;
      REQUIRE(suite.call(0, kEcho, bytes).ok());
      REQUIRE((bytes == request));
    }
  });
}

TEST_CASE("a call or a reply that is too long is an error, and the channel goes on") {
  on_every_transport(1, [](Suite& suite) {
    std::string bytes(kMaxCall_bytes + 1, 'a');
    REQUIRE(suite.call(0, kEcho, bytes).code() == ErrorCode::limit_exceeded);
    bytes = "short";
    REQUIRE(suite.call(0, kTooLong, bytes).code() == ErrorCode::limit_exceeded);
    bytes = "still there";
    REQUIRE(suite.call(0, kEcho, bytes).ok());
    REQUIRE(bytes == "still there");
  });
}

TEST_CASE("a handler's error arrives with its code, message and hint, and the channel goes on") {
  on_every_transport(1, [](Suite& suite) {
    std::string bytes = "the very message";
    const Status status = suite.call(0, kFail, bytes);
    REQUIRE(!status.ok());
    REQUIRE(status.code() == ErrorCode::duplicate_key);
    REQUIRE(status.message() == "the very message");
    REQUIRE(status.hint() == "a hint");
    bytes = "x";
    REQUIRE(suite.call(0, kEcho, bytes).ok());
    REQUIRE(!suite.channel(0)->failed());
  });
}

TEST_CASE("many calls of several clients are outstanding at the same time, each gets its own reply") {
  on_every_transport(3, [](Suite& suite) {
    int wrong[3] = {};
    suite.all_clients(
        [&](int client) { return many_calls(suite.channel(client).get(), 300, &wrong[client]); });
    REQUIRE(wrong[0] + wrong[1] + wrong[2] == 0);
  });
}

TEST_CASE("a call sees the operations that completed before it was posted") {
  on_every_transport(1, [](Suite& suite) {
    for (std::uint64_t round = 1; round <= 20; ++round) {
      REQUIRE(suite
                  .post(0,
                        [&](Batch& batch, LocalBuffer& buffer) {
                          buffer.word() = round;
                          batch.write(800, buffer.data(), 8);
                          batch.fetch_add(808, 1, buffer.data() + 8);
                        })
                  .ok());
      std::string bytes = "100";
      REQUIRE(suite.call(0, kReadWord, bytes).ok());
      REQUIRE(bytes == std::to_string(round));
      bytes = "101";
      REQUIRE(suite.call(0, kReadWord, bytes).ok());
      REQUIRE(bytes == std::to_string(round));
    }
  });
}

}  // namespace namdb::fabric::conformance

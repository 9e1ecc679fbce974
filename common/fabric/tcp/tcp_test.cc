// The tcp transport's own properties: sizes and modes, coalescing, fences, the loopback channel. The
// conformance suite tests the properties of all transports.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "common/fabric/tcp/testing/test_pair.h"

namespace namdb::fabric::tcp {
namespace {

Task<void> mixed_batches(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  constexpr std::size_t kLarge_bytes = 300'000 / 8 * 8;
  LocalBuffer written(channel->pool(), kLarge_bytes);
  LocalBuffer read(channel->pool(), kLarge_bytes);
  LocalBuffer words(channel->pool(), 64);
  for (std::size_t i = 0; i < kLarge_bytes / 8; ++i) written.word(i) = i * 0x9E3779B97F4A7C15U;
  for (int round = 0; round < 5; ++round) {
    Batch batch;
    batch.write(8, written.data(), kLarge_bytes);
    batch.fetch_add(0, 5, words.data());
    batch.compare_and_swap(0, words.word() + 1, 0, words.data() + 8);
    batch.read(8, read.data(), kLarge_bytes);
    batch.read(0, words.data() + 16, 8);
    channel->post(batch);
    const Status status = co_await batch.done();
    CHECK(status.ok());
    CHECK(words.word(0) == static_cast<std::uint64_t>(5 * round));
    CHECK(words.word(1) == static_cast<std::uint64_t>(5 * round + 5));
    CHECK(words.word(2) == static_cast<std::uint64_t>(5 * round + 5));
    CHECK(std::memcmp(written.data(), read.data(), kLarge_bytes) == 0);
    std::memset(read.data(), 0, kLarge_bytes);
  }
}

TEST_CASE("operations of all kinds and sizes arrive whole, in every mode of the reactor") {
  for (const bool multishot : {true, false}) {
    for (const std::uint32_t buffer_bytes : {64U, 1000U, 32768U}) {
      reactor::ReactorOptions options;
      options.use_multishot = multishot;
      options.receive_buffer_bytes = buffer_bytes;
      options.receive_buffers = buffer_bytes == 64 ? 1 : 128;
      Pair pair({}, {}, options);
      pair.reactor->run_until(mixed_batches(pair));
    }
  }
}

Task<void> calls(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  Call waiting;
  waiting.method = kWait;
  waiting.request = "late";
  channel->post(waiting);
  for (const std::size_t length_bytes : {std::size_t{0}, std::size_t{1}, std::size_t{kMaxCall_bytes}}) {
    Call call;
    call.method = kEcho;
    call.request = std::string(length_bytes, 'x');
    channel->post(call);
    const Status status = co_await call.done();
    CHECK(status.ok());
    CHECK(call.reply == call.request);
  }
  Call failing;
  failing.method = kFail;
  channel->post(failing);
  Status status = co_await failing.done();
  CHECK(status.code() == ErrorCode::undefined_object);
  CHECK(status.message() == "no such thing");
  CHECK(status.hint() == "look elsewhere");
  Call too_long;
  too_long.method = kEcho;
  too_long.request = std::string(kMaxCall_bytes + 1, 'x');
  channel->post(too_long);
  status = co_await too_long.done();
  CHECK(status.code() == ErrorCode::limit_exceeded);
  CHECK(!channel->failed());
  CHECK(waiting.pending());
  pair.service->release();
  status = co_await waiting.done();
  CHECK(status.ok());
  CHECK(waiting.reply == "late");
}

TEST_CASE("calls are answered as they end, a handler's error is the call's own") {
  Pair pair;
  pair.reactor->run_until(calls(pair));
}

Task<void> many_coroutines(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  const std::uint64_t sends_before = pair.reactor->counters().sends;
  Gate gate;
  for (std::uint64_t i = 0; i < 64; ++i) pair.reactor->spawn(gate, post_and_wait(*channel, 64 * i));
  co_await gate.close();
  // Ten rounds, each one send of 64 requests and one send of 64 answers.
  CHECK(pair.reactor->counters().sends - sends_before <= 24);
}

TEST_CASE("operations that the coroutines of one turn post leave in one send, and so do the answers") {
  Pair pair;
  pair.reactor->run_until(many_coroutines(pair));
}

Task<void> fence_under_load(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  co_await pair.service->until_peers(1);
  Call waiting;
  waiting.method = kWait;
  channel->post(waiting);
  co_await pair.service->until_calls(1);
  Gate gate;
  pair.reactor->spawn(gate, pair.server->fence(pair.service->only_peer()));
  Batch batch;
  LocalBuffer buffer(channel->pool(), 64);
  batch.read(0, buffer.data(), 64);
  channel->post(batch);
  Status status = co_await batch.done();
  CHECK(status.code() == ErrorCode::connection_failure);
  status = co_await waiting.done();
  CHECK(status.code() == ErrorCode::connection_failure);
  // The peer's handler is still at work: it may touch the region, so the fence is not through.
  co_await pair.reactor->sleep_for(kMillisecond_ns);
  CHECK(gate.count() == 1);
  CHECK(pair.service->disconnects() == 0);
  pair.service->release();
  co_await gate.close();
  CHECK(pair.service->disconnects() == 1);
  CHECK(channel->failed());
  batch.clear();
  batch.read(0, buffer.data(), 64);
  channel->post(batch);
  CHECK(!batch.pending());
  CHECK(!batch.status().ok());
  Call late;
  channel->post(late);
  CHECK(!late.pending());
  CHECK(!late.status().ok());
  co_await pair.server->fence(12345);
}

TEST_CASE("a fence ends everything of the peer before it returns; its channel stays failed") {
  Pair pair;
  pair.reactor->run_until(fence_under_load(pair));
}

Task<void> destroy_with_pending(Pair& pair) {
  std::unique_ptr<Channel> channel = co_await connect(pair);
  LocalBuffer buffer(channel->pool(), 64);
  Batch batch;
  batch.read(0, buffer.data(), 64);
  channel->post(batch);
  Call call;
  call.method = kEcho;
  channel->post(call);
  channel.reset();
  CHECK(!batch.pending());
  CHECK(!batch.status().ok());
  CHECK(!call.status().ok());
}

TEST_CASE("a channel that is destroyed completes what is pending with an error") {
  Pair pair;
  pair.reactor->run_until(destroy_with_pending(pair));
}

Task<void> loopback(Pair& pair) {
  Channel& channel = pair.server->loopback();
  LocalBuffer buffer(channel.pool(), 64);
  for (std::size_t i = 0; i < 8; ++i) buffer.word(i) = i + 1;
  Batch batch;
  batch.write(0, buffer.data(), 64);
  batch.fetch_add(0, 9, buffer.data());
  batch.compare_and_swap(8, 2, 7, buffer.data() + 8);
  batch.read(8, buffer.data() + 16, 8);
  channel.post(batch);
  CHECK(!batch.pending());
  CHECK(batch.status().ok());
  CHECK(buffer.word(0) == 1);
  CHECK(buffer.word(1) == 2);
  CHECK(buffer.word(2) == 7);
  CHECK(pair.region[0] == 10);
  Call call;
  call.method = kEcho;
  call.request = "hello";
  channel.post(call);
  const Status status = co_await call.done();
  CHECK(status.ok());
  CHECK(call.reply == "hello");
}

TEST_CASE("the loopback channel executes at once") {
  Pair pair;
  pair.reactor->run_until(loopback(pair));
}

}  // namespace
}  // namespace namdb::fabric::tcp

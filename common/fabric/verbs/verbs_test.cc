// The verbs transport on a real device: its requests to the device, and messages that a peer may not send.
// See test_peers.h.
#include "common/fabric/verbs/testing/test_peers.h"

namespace namdb::fabric::verbs {
namespace verbs_test {

Task<void> post_side_by_side(Channel* channel, std::size_t count, EndpointCounters* before,
                             EndpointCounters* after) {
  LocalBuffer buffer(channel->pool(), 8192);
  std::vector<Batch> batches(count);
  *before = counters_of(channel);
  for (std::size_t i = 0; i < count; ++i) {
    batches[i].write(64 * i, buffer.data() + 64 * i, 16);
    batches[i].write(64 * i + 16, buffer.data() + 64 * i + 16, 8);
    batches[i].read(64 * i, buffer.data() + 64 * i + 32, 16);
    channel->post(batches[i]);
  }
  for (Batch& batch : batches) co_await batch.done();
  *after = counters_of(channel);
}

Task<void> post_at_once(Channel* channel, std::size_t count, bool* ok, EndpointCounters* after) {
  LocalBuffer buffer(channel->pool(), 8 * count);
  Batch batch;
  for (std::size_t i = 0; i < count; ++i) batch.write(8 * i, buffer.data() + 8 * i, 8);
  channel->post(batch);
  const Status& status = co_await batch.done();
  *ok = status.ok();
  *after = counters_of(channel);
}

Task<void> call_often(Channel* channel, std::size_t count, std::size_t length_bytes, std::size_t* answered) {
  std::vector<Call> calls(count);
  for (std::size_t i = 0; i < count; ++i) {
    calls[i].method = kCount;
    calls[i].request = std::to_string(i) + std::string(length_bytes, '.');
    channel->post(calls[i]);
  }
  for (Call& call : calls) {
    const Status& status = co_await call.done();
    if (status.ok() && call.reply == call.request) ++*answered;
  }
}

TEST_CASE("operations that a turn posts to one server leave with one doorbell, and complete once a batch") {
  Server server;
  EndpointCounters before;
  EndpointCounters after;
  const Status status = with_channel(server.address(), options_with_key(7), [&](Channel* channel) {
    return post_side_by_side(channel, 20, &before, &after);
  });
  REQUIRE(status.ok());
  REQUIRE(after.requests - before.requests == 60);
  REQUIRE(after.doorbells - before.doorbells == 1);
  REQUIRE(after.signalled - before.signalled == 20);
  REQUIRE(after.inlined - before.inlined == 40);
}

TEST_CASE("more operations than the send queue holds wait for their slots") {
  Server server;
  VerbsOptions options = options_with_key(7);
  options.send_queue_depth = 8;
  bool ok = false;
  EndpointCounters after;
  const Status status = with_channel(
      server.address(), options, [&](Channel* channel) { return post_at_once(channel, 500, &ok, &after); });
  REQUIRE(status.ok());
  REQUIRE(ok);
  REQUIRE(after.doorbells >= 500 / 8);
  REQUIRE(after.signalled >= 500 / 2);
}

TEST_CASE("a device's report of a failure ends the connections concerned at once") {
  Server server;
  RawClient peer(server.address(), true);
  const std::uint32_t number = peer.link().endpoint().number();
  SECTION("of the device") {
    peer.device().on_event(IBV_EVENT_DEVICE_FATAL, 0, 0);
  }
  SECTION("of its completion queue") {
    peer.device().on_event(IBV_EVENT_CQ_ERR, 0, 0);
  }
  SECTION("of a queue pair") {
    peer.device().on_event(IBV_EVENT_QP_FATAL, number, 0);
  }
  REQUIRE(!peer.await_end().ok());
  REQUIRE(peer.link().endpoint().counters().errors == 1);
  require_service(server);
}

TEST_CASE("calls by datagrams are run once each, though many are lost and many come twice") {
  VerbsOptions options = options_with_key(7);
  options.calls = CallKind::datagrams;
  options.lose_every_datagram = 3;
  // With a packet's worth, and with more than fits.
  const std::size_t length_bytes = GENERATE(16, 6000);
  CAPTURE(length_bytes);
  Server server(options);
  constexpr std::size_t kCalls = 400;
  std::size_t answered = 0;
  const Status status = with_channel(server.address(), options, [&](Channel* channel) {
    return call_often(channel, kCalls, length_bytes, &answered);
  });
  REQUIRE(status.ok());
  REQUIRE(answered == kCalls);
  const std::map<std::string, int> counts = server.counts();
  REQUIRE(counts.size() == kCalls);
  for (const auto& [request, count] : counts) REQUIRE(count == 1);
  const bool fits = length_bytes < 1000;
  REQUIRE((server.facts()["calls_doubled"] != 0) == fits);
  REQUIRE((server.facts()["datagrams_received"] >= kCalls) == fits);
}

TEST_CASE("calls are answered where no datagram arrives at all") {
  VerbsOptions options = options_with_key(7);
  options.calls = CallKind::datagrams;
  options.lose_every_datagram = 1;
  Server server(options);
  constexpr std::size_t kCalls = 20;
  std::size_t answered = 0;
  const Status status = with_channel(server.address(), options, [&](Channel* channel) {
    return call_often(channel, kCalls, 16, &answered);
  });
  REQUIRE(status.ok());
  REQUIRE(answered == kCalls);
  for (const auto& [request, count] : server.counts()) REQUIRE(count == 1);
}

TEST_CASE("another cluster key, or none, is refused on both sides") {
  Server server;
  for (const VerbsOptions& options : {options_with_key(8), VerbsOptions()}) {
    const Status status = with_channel(server.address(), options, [](Channel*) -> Task<void> { co_return; });
    REQUIRE(status.code() == ErrorCode::invalid_authorization);
  }
  require_service(server);
}

TEST_CASE("a handshake has no message without bytes, which would come when nobody expects it any more") {
  Server server;
  RawClient peer(server.address(), true, "");
  // A greeting, a proof, the header of a hello, and the checksum of its no bytes.
  REQUIRE(peer.link().endpoint().counters().sends == 4);
}

TEST_CASE("a peer that sends what no peer may send is disconnected, the others go on") {
  Server server;
  SECTION("messages of no kind") {
    RawClient peer(server.address(), true);
    peer.link().endpoint().send(static_cast<MessageKind>(9), 0, 0, "?");
    REQUIRE(!peer.await_end().ok());
  }
  SECTION("calls before the handshake") {
    RawClient peer(server.address(), false);
    peer.link().endpoint().send(MessageKind::call, kEcho, 0, "?");
    REQUIRE(!peer.await_end().ok());
  }
  SECTION("more calls than the window") {
    RawClient peer(server.address(), true);
    for (std::size_t i = 0; i <= kClientCalls; ++i) {
      peer.link().endpoint().send(MessageKind::call, kNever, i, "?");
    }
    REQUIRE(!peer.await_end().ok());
  }
  require_service(server);
}

}  // namespace verbs_test
}  // namespace namdb::fabric::verbs

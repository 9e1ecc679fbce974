// Access to the region on a real device: by which peer, with which key. See test_peers.h.
#include "common/fabric/verbs/testing/test_peers.h"

namespace namdb::fabric::verbs {
namespace keys_test {

// Past all that this process knows about the connection: its reactor does not run meanwhile.
ibv_wc_status write(RawClient& peer, LocalBuffer& buffer, std::uint64_t offset, std::uint32_t key) {
  ibv_sge place{reinterpret_cast<std::uint64_t>(buffer.data()), 8,
                *peer.device().local_key(buffer.data(), 8)};
  constexpr std::uint64_t kOurs = std::uint64_t{1} << 40;
  ibv_send_wr request{};
  request.wr_id = kOurs;
  request.sg_list = &place;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = offset;
  request.wr.rdma.rkey = key;
  ibv_send_wr* refused = nullptr;
  REQUIRE(ibv_post_send(peer.link().endpoint().queue_pair(), &request, &refused) == 0);
  ibv_wc completion{};
  while (ibv_poll_cq(peer.device().completions(), 1, &completion) == 0 || completion.wr_id != kOurs) {
  }
  return completion.status;
}

VerbsOptions options_with_keys(RegionKeyKind kind) {
  VerbsOptions options = options_with_key(7);
  options.region_keys = kind;
  return options;
}

TEST_CASE("a peer that has not passed the handshake reaches no memory, though it knows the key") {
  Server server;
  const RawClient honest(server.address(), true);
  RawClient stranger(server.address(), false);
  Batch batch;
  {
    LocalBuffer buffer(stranger.device().messages(), 64);
    buffer.word() = 0xbad;
    batch.write(0, buffer.data(), 8);
    batch.begin();
    stranger.link().endpoint().set_remote_key(honest.key());
    stranger.link().endpoint().post(batch);
    REQUIRE(!stranger.await_end().ok());
    stranger.drop();
  }
  REQUIRE(!batch.pending());
  REQUIRE(!batch.status().ok());
  REQUIRE(server.word(0) == 0);
  require_service(server);
}

TEST_CASE("the device refuses the next WRITE of a fenced peer, and its key from anyone") {
  const RegionKeyKind kind = GENERATE(RegionKeyKind::windows, RegionKeyKind::registrations);
  CAPTURE(static_cast<int>(kind));
  Server server(options_with_keys(kind));
  RawClient peer(server.address(), true);
  LocalBuffer buffer(peer.device().messages(), 64);
  buffer.word() = 0xbad;
  REQUIRE(write(peer, buffer, 8, peer.key()) == IBV_WC_SUCCESS);
  REQUIRE(server.word(1) == 0xbad);
  server.fence_last_peer();
  REQUIRE(write(peer, buffer, 16, peer.key()) != IBV_WC_SUCCESS);
  REQUIRE(server.word(2) == 0);

  RawClient other(server.address(), true);
  LocalBuffer others(other.device().messages(), 64);
  others.word() = 0xbad;
  REQUIRE(other.key() != peer.key());
  REQUIRE(write(other, others, 24, other.key()) == IBV_WC_SUCCESS);
  REQUIRE(write(other, others, 32, peer.key()) == IBV_WC_REM_ACCESS_ERR);
  REQUIRE(server.word(4) == 0);
  require_service(server);
}

TEST_CASE("the key of a peer serves on no queue pair but its own") {
  Server server(options_with_keys(RegionKeyKind::windows));
  RawClient peer(server.address(), true);
  RawClient other(server.address(), true);
  LocalBuffer buffer(other.device().messages(), 64);
  buffer.word() = 0xbad;
  REQUIRE(write(other, buffer, 8, peer.key()) == IBV_WC_REM_ACCESS_ERR);
  REQUIRE(server.word(1) == 0);
  require_service(server);
}

TEST_CASE("the key of a peer reaches nothing beyond the region") {
  const RegionKeyKind kind = GENERATE(RegionKeyKind::windows, RegionKeyKind::registrations);
  CAPTURE(static_cast<int>(kind));
  Server server(options_with_keys(kind));
  RawClient peer(server.address(), true);
  LocalBuffer buffer(peer.device().messages(), 64);
  REQUIRE(write(peer, buffer, kRegion_bytes, peer.key()) == IBV_WC_REM_ACCESS_ERR);
  require_service(server);
}

TEST_CASE("receive buffers that a device lost are replaced") {
  Server server;
  RawClient peer(server.address(), true);
  // Takes away what arrives before the transport sees it, as some devices do when a queue pair ends.
  constexpr std::uint64_t kLost = 15;
  LocalBuffer call(peer.device().messages(), 64);
  const MessageHeader header{MessageKind::call, 0, kEcho, 0, 0};
  std::memcpy(call.data(), &header, sizeof header);
  ibv_sge place{reinterpret_cast<std::uint64_t>(call.data()), sizeof header,
                *peer.device().local_key(call.data(), sizeof header)};
  for (std::uint64_t lost = 0; lost != kLost;) {
    ibv_send_wr request{};
    request.sg_list = &place;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    ibv_send_wr* refused = nullptr;
    REQUIRE(ibv_post_send(peer.link().endpoint().queue_pair(), &request, &refused) == 0);
    ibv_wc completion{};
    while (ibv_poll_cq(peer.device().completions(), 1, &completion) == 0) {
    }
    REQUIRE(completion.status == IBV_WC_SUCCESS);
    if ((completion.wr_id & ReceiveQueue::kReceive) != 0) ++lost;
  }
  REQUIRE(peer.await([&] { return peer.device().receive_queue().replaced() != 0; }));
  require_service(server);
}

}  // namespace keys_test
}  // namespace namdb::fabric::verbs

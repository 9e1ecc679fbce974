#include "memory/server/server.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <set>

#include "common/calls/hot_calls.h"
#include "common/calls/protocol_version.h"
#include "common/layout/timestamp_vector.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace {

using testing::accounts;
using testing::hello;
using testing::TestCluster;

std::uint64_t accounted(const MemoryServer& server) {
  const RegionUse use = server.use();
  return use.fixed_bytes + use.free_bytes + use.journal_bytes + use.table_bytes + use.overflow_bytes;
}

TEST_CASE("a peer learns the region map and E when it connects") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const control::Welcome& welcome = client->welcome();
  CHECK(welcome.server_count() == 1);
  CHECK(welcome.epoch() == cluster.server->epoch());
  CHECK(welcome.max_transaction_ns() == 100 * kMillisecond_ns);
  layout::RegionMap map;
  REQUIRE(welcome.region_map().size() == sizeof map);
  std::memcpy(&map, welcome.region_map().data(), sizeof map);
  CHECK(map.certified());
  CHECK(std::memcmp(&map, cluster.bytes(0, sizeof map).data(), sizeof map) == 0);
}

TEST_CASE("peers that cannot be served are refused with a reason") {
  Options options = testing::small_options();
  options.version = "1.2";
  TestCluster cluster(options);
  const auto client = cluster.client("c");
  auto greeting = hello('a');
  greeting.set_protocol_version(calls::kProtocolVersion + 1);
  const Status refused = client->connect(greeting);
  CHECK(refused.code() == ErrorCode::protocol_violation);
  CHECK(refused.message() == "protocol version " + std::to_string(calls::kProtocolVersion + 1) +
                                 " of \"compute a\" is not spoken here: namdb 1.2 speaks version " +
                                 std::to_string(calls::kProtocolVersion));
  greeting = hello('a');
  greeting.set_compute_id("short");
  CHECK(client->connect(greeting).code() == ErrorCode::protocol_violation);
  greeting = hello('a');
  greeting.set_cluster_epoch(cluster.server->epoch() + 1);
  CHECK(client->connect(greeting).code() == ErrorCode::memory_server_restarted);
  greeting.set_cluster_epoch(cluster.server->epoch());
  CHECK(client->connect(greeting).ok());
}

Status join(testing::TestClient& client, const std::vector<std::uint64_t>& epochs) {
  control::JoinClusterRequest request;
  request.mutable_epochs()->Add(epochs.begin(), epochs.end());
  const auto reply = client.call<control::JoinClusterReply>(control::JOIN_CLUSTER, request);
  return reply.ok() ? Status() : reply.status();
}

TEST_CASE("server 0 notices that another memory server has restarted") {
  Options options = testing::small_options();
  options.server_count = 3;
  TestCluster cluster(options);
  const std::uint64_t epoch = cluster.server->epoch();
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  CHECK(join(*client, {epoch, 7}).code() == ErrorCode::protocol_violation);
  CHECK(join(*client, {epoch + 1, 7, 8}).code() == ErrorCode::memory_server_restarted);
  REQUIRE(join(*client, {epoch, 7, 8}).ok());
  REQUIRE(join(*client, {epoch, 7, 8}).ok());
  const Status refused = join(*client, {epoch, 7, 9});
  CHECK(refused.code() == ErrorCode::memory_server_restarted);
  CHECK(refused.message() == "memory server 2 has restarted and is empty");
  CHECK(join(*client, {epoch, 7, 8}).ok());
  const auto tool = cluster.client("t");
  REQUIRE(tool->connect(hello('t', true)).ok());
  CHECK(join(*tool, {epoch, 7, 8}).code() == ErrorCode::insufficient_privilege);
}

TEST_CASE("a memory server other than 0 joins one cluster, not by a greeting alone, and refuses others") {
  Options options = testing::small_options();
  options.server_id = 1;
  options.server_count = 2;
  TestCluster cluster(options);
  const std::uint64_t epoch = cluster.server->epoch();
  const auto first = cluster.client("a");
  const auto second = cluster.client("b");
  auto greeting = hello('a');
  greeting.set_cluster_epoch(5);
  REQUIRE(first->connect(greeting).ok());
  // No worker joined: the cluster of epoch 5 may be one that is about to be restarted.
  auto other = hello('b');
  other.set_cluster_epoch(6);
  REQUIRE(second->connect(other).ok());
  REQUIRE(join(*first, {5, epoch}).ok());
  CHECK(join(*second, {6, epoch}).code() == ErrorCode::memory_server_restarted);
  const auto late = cluster.client("l");
  other = hello('l');
  other.set_cluster_epoch(6);
  const Status refused = late->connect(other);
  CHECK(refused.code() == ErrorCode::memory_server_restarted);
  CHECK(refused.message() == "memory server 1 belongs to another cluster, or memory server 0 has restarted");
  other.set_cluster_epoch(5);
  CHECK(late->connect(other).ok());
  const auto tool = cluster.client("t");
  CHECK(tool->connect(hello('t', true)).ok());
}

TEST_CASE("tables are created, listed, and dropped; ids never come again") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto created = client->create(accounts("accounts"));
  REQUIRE(created.ok());
  CHECK(created.value().id() != 0);
  // Every main bucket certifies and is empty.
  for (std::uint64_t i = 0; i < created.value().buckets_per_server(); ++i) {
    const std::uint64_t offset = created.value().bucket_base(0) + i * layout::kBucket_bytes;
    layout::Bucket bucket;
    std::memcpy(&bucket, cluster.bytes(offset, sizeof bucket).data(), sizeof bucket);
    CHECK(bucket.certified(layout::GlobalAddress(0, offset)));
    CHECK(bucket.table == created.value().id());
    CHECK(bucket.generation == created.value().generation());
    CHECK(bucket.next_offset == 0);
  }
  CHECK(client->create(accounts("accounts")).status().code() == ErrorCode::duplicate_table);

  auto catalog = client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
  REQUIRE(catalog.ok());
  REQUIRE(catalog->tables_size() == 1);
  CHECK(catalog->tables(0).name() == "accounts");
  // The vector's catalog word shows the version.
  CHECK(cluster.load(cluster.server->region().map().vector_offset) == catalog->version());
  control::GetCatalogRequest known;
  known.set_known_version(catalog->version());
  CHECK(client->call<control::GetCatalogReply>(control::GET_CATALOG, known)->unchanged());

  control::DropTableRequest drop;
  drop.set_name("accounts");
  const auto dropped = client->call<control::DropTableReply>(control::DROP_TABLE, drop);
  REQUIRE(dropped.ok());
  CHECK(dropped.value().table() == created.value().id());
  CHECK(cluster.load(cluster.server->region().map().vector_offset) > catalog->version());
  CHECK(client->call<control::DropTableReply>(control::DROP_TABLE, drop).status().code() ==
        ErrorCode::undefined_table);
  const auto again = client->create(accounts("accounts"));
  REQUIRE(again.ok());
  CHECK(again.value().id() > created.value().id());
}

TEST_CASE("a creator that goes away leaves neither name nor memory") {
  TestCluster cluster;
  const std::uint64_t free_bytes = cluster.server->use().free_bytes;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  control::BeginCreateTableRequest begin;
  *begin.mutable_table() = accounts("accounts");
  const auto begun = client->call<control::BeginCreateTableReply>(control::BEGIN_CREATE_TABLE, begin);
  REQUIRE(begun.ok());
  control::PrepareTableRequest prepare;
  *prepare.mutable_table() = begun.value().table();
  REQUIRE(client->call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare).ok());
  CHECK(cluster.server->use().free_bytes < free_bytes);
  const auto other = cluster.client("d");
  REQUIRE(other->connect(hello('b')).ok());
  CHECK(other->create(accounts("accounts")).status().code() == ErrorCode::duplicate_table);
  client->disconnect();
  cluster.run_for(50 * kMillisecond_ns);
  // Not before every live worker has acknowledged.
  CHECK(cluster.server->use().free_bytes < free_bytes);
  REQUIRE(other->acknowledge_all().ok());
  cluster.run_for(50 * kMillisecond_ns);
  CHECK(cluster.server->use().free_bytes == free_bytes);
  CHECK(other->create(accounts("accounts")).ok());
}

TEST_CASE("a dropped table's memory comes back after all live workers acknowledged its epoch") {
  TestCluster cluster;
  const std::uint64_t free_bytes = cluster.server->use().free_bytes;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto table = client->create(accounts("accounts"));
  REQUIRE(table.ok());
  REQUIRE(client->allocate(table.value().id(), 10).ok());
  REQUIRE(client->allocate(table.value().id(), 2, true).ok());
  control::DropTableRequest drop;
  drop.set_name("accounts");
  const auto dropped = client->call<control::DropTableReply>(control::DROP_TABLE, drop);
  REQUIRE(dropped.ok());
  control::DiscardTableRequest discard;
  discard.set_table(table.value().id());
  REQUIRE(client->call<control::DiscardTableReply>(control::DISCARD_TABLE, discard).ok());
  CHECK(client->allocate(table.value().id(), 1).status().code() == ErrorCode::undefined_table);
  cluster.run_for(20 * kMillisecond_ns);

  control::HeartbeatRequest heartbeat;
  const auto reply = client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat);
  REQUIRE(reply.ok());
  CHECK(cluster.server->use().free_bytes < free_bytes);
  heartbeat.set_acknowledged_epoch(reply.value().reuse_epoch());
  REQUIRE(client->call<control::HeartbeatReply>(control::HEARTBEAT, heartbeat).ok());
  cluster.run_for(20 * kMillisecond_ns);
  CHECK(cluster.server->use().free_bytes == free_bytes);
}

TEST_CASE("records and buckets are handed out once, until the region is full, and can be returned") {
  TestCluster cluster(testing::small_options(), 1U << 20);
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto table = client->create(accounts("accounts"));
  REQUIRE(table.ok());
  std::set<std::uint64_t> seen;
  std::vector<std::uint64_t> last;
  while (true) {
    const auto offsets = client->allocate(table.value().id(), 100);
    CHECK(accounted(*cluster.server) == 1U << 20);
    if (!offsets.ok()) {
      CHECK(offsets.status().code() == ErrorCode::out_of_memory);
      break;
    }
    last = offsets.value();
    for (const std::uint64_t offset : last) CHECK(seen.insert(offset).second);
  }
  CHECK(seen.size() > 1000);
  control::ReturnMemoryRequest returned;
  returned.set_table(table.value().id());
  control::Range& range = *returned.add_ranges();
  range.set_offset(last.front());
  range.set_length_bytes(TestCluster::layout_of(table.value()).record_bytes());
  REQUIRE(client->call<control::ReturnMemoryReply>(control::RETURN_MEMORY, returned).ok());
  CHECK(client->call<control::ReturnMemoryReply>(control::RETURN_MEMORY, returned).status().code() ==
        ErrorCode::protocol_violation);
  const auto again = client->allocate(table.value().id(), 5);
  REQUIRE(again.ok());
  CHECK(again.value() == std::vector<std::uint64_t>{last.front()});
}

TEST_CASE("a snapshot call returns the vector with its catalog version and length") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto slot = client->lease();
  REQUIRE(slot.ok());
  cluster.publish(slot.value(), 41);
  const auto copy = client->call(calls::kSnapshotMethod, "");
  REQUIRE(copy.ok());
  REQUIRE(copy.value().size() == layout::vector_bytes(1));
  std::uint64_t words[3];
  std::memcpy(words, copy.value().data(), sizeof words);
  CHECK(words[0] == 1);
  CHECK(words[1] == 1);
  CHECK(layout::HeaderWord(words[2]).stamp() == layout::Stamp{slot.value().slot(), 41});
}

TEST_CASE("a fenced compute server loses its channels and is refused for ever") {
  TestCluster cluster;
  const auto victim = cluster.client("v");
  const auto other = cluster.client("o");
  const auto server_0 = cluster.client("m");
  REQUIRE(victim->connect(hello('v')).ok());
  REQUIRE(other->connect(hello('o')).ok());
  REQUIRE(server_0->connect(testing::hello_of_memory_server('m')).ok());
  control::FenceRequest fence;
  fence.set_compute_id(testing::compute_id('v'));
  CHECK(other->call<control::FenceReply>(control::FENCE, fence).status().code() ==
        ErrorCode::insufficient_privilege);
  REQUIRE(server_0->call<control::FenceReply>(control::FENCE, fence).ok());
  CHECK_FALSE(victim->call<control::StatusReply>(control::STATUS, control::StatusRequest()).ok());
  CHECK(cluster.server->status().peers_size() == 2);
  victim->disconnect();
  CHECK(victim->connect(hello('v')).code() == ErrorCode::fenced);
  CHECK(victim->connect(hello('w')).ok());
  fence.set_compute_id(testing::compute_id('m'));
  CHECK(server_0->call<control::FenceReply>(control::FENCE, fence).status().code() ==
        ErrorCode::protocol_violation);
}

TEST_CASE("a worker that falls silent is fenced where a timeout is set") {
  Options options = testing::small_options();
  options.heartbeat_timeout_ns = 50 * kMillisecond_ns;
  TestCluster cluster(options);
  const auto silent = cluster.client("s");
  const auto alive = cluster.client("a");
  REQUIRE(silent->connect(hello('s')).ok());
  REQUIRE(alive->connect(hello('a')).ok());
  for (int i = 0; i < 10; ++i) {
    cluster.run_for(20 * kMillisecond_ns);
    REQUIRE(alive->acknowledge_all().ok());
  }
  CHECK(cluster.server->status().peers_size() == 1);
  silent->disconnect();
  CHECK(silent->connect(hello('s')).code() == ErrorCode::fenced);
}

TEST_CASE("only tools shut the server down") {
  TestCluster cluster;
  const auto worker = cluster.client("w");
  const auto tool = cluster.client("t");
  REQUIRE(worker->connect(hello('w')).ok());
  REQUIRE(tool->connect(hello('t', true)).ok());
  CHECK(worker->call<control::ShutdownReply>(control::SHUTDOWN, control::ShutdownRequest()).status().code() ==
        ErrorCode::insufficient_privilege);
  CHECK(tool->lease().status().code() == ErrorCode::insufficient_privilege);
  REQUIRE(tool->call<control::ShutdownReply>(control::SHUTDOWN, control::ShutdownRequest()).ok());
  cluster.world.run(cluster.node, cluster.server->shutdown_requested());
}

TEST_CASE("an idle server wakes up for nothing") {
  TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  cluster.world.run_until_idle();  // returns: no timer is left
}

TEST_CASE("requests of random bytes get an error and do no harm") {
  TestCluster cluster;
  auto client = cluster.client("c");
  REQUIRE(client->connect(hello('a')).ok());
  const auto table = client->create(accounts("accounts"));
  REQUIRE(table.ok());
  REQUIRE(client->allocate(table.value().id(), 3).ok());
  Random random(11);
  for (int round = 0; round < 3000; ++round) {
    const auto method = static_cast<std::uint16_t>(random.chance(0.95) ? random.below(48) : random.next());
    if (method == control::PREPARE_TABLE && random.chance(0.5)) continue;
    std::string request(random.below(80), '\0');
    for (char& byte : request) byte = static_cast<char>(random.chance(0.3) ? random.below(8) : random.next());
    static_cast<void>(client->call(method, std::move(request)));
  }
  // Well-formed messages with fields that mean nothing.
  for (int round = 0; round < 2000; ++round) {
    control::Slot any;
    any.set_slot(static_cast<std::uint32_t>(random.below(4)));
    any.set_vector_position(random.next() >> random.below(64));
    any.set_final_counter(static_cast<std::uint32_t>(random.next()));
    static_cast<void>(client->call(static_cast<std::uint16_t>(random.below(48)), any.SerializeAsString()));
  }
  for (int round = 0; round < 500; ++round) {
    const auto random_table =
        random.chance(0.8) ? table.value().id() : static_cast<std::uint32_t>(random.next());
    std::vector<std::uint64_t> records(random.below(20));
    for (std::uint64_t& record : records) record = random.next() >> random.below(64);
    static_cast<void>(client->hint(
        random.chance(0.5) ? calls::kMoveVersionsMethod : calls::kNoteDeletesMethod, random_table, records));
  }
  CHECK(accounted(*cluster.server) == cluster.server->region().bytes());
  CHECK(client->call<control::StatusReply>(control::STATUS, control::StatusRequest()).ok());
}

}  // namespace
}  // namespace namdb::memory

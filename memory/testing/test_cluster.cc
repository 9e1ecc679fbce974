#include "memory/testing/test_cluster.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "common/calls/protocol_version.h"
#include "common/layout/overflow_group.h"
#include "common/layout/record_trailer.h"
#include "common/layout/timestamp_vector.h"
#include "common/layout/version_image.h"
#include "memory/region/descriptor.h"

namespace namdb::memory::testing {
namespace {

reactor::Task<Status> call_task(fabric::Channel* channel, fabric::Call* call) {
  channel->post(*call);
  co_await call->done();
  co_return call->status();
}

}  // namespace

Options small_options() {
  Options options;
  options.extent_bytes = 64U << 10;
  options.journal_bytes = 128U << 10;
  options.max_transaction_ns = 100 * kMillisecond_ns;
  options.slack_ns = 10 * kMillisecond_ns;
  options.collect_interval_ns = 2 * kMillisecond_ns;
  options.reuse_interval_ns = 2 * kMillisecond_ns;
  options.vector_capacity = 16;
  options.step_units = 3;
  return options;
}

std::string compute_id(char fill) {
  return std::string(16, fill);
}

control::Hello hello(char id, bool tool) {
  control::Hello message;
  message.set_protocol_version(calls::kProtocolVersion);
  message.set_compute_id(compute_id(id));
  message.set_name(std::string("compute ") + id);
  message.set_tool(tool);
  return message;
}

control::Hello hello_of_memory_server(char id) {
  control::Hello greeting = hello(id, true);
  greeting.set_memory_server(true);
  return greeting;
}

control::TableDescriptor accounts(const std::string& name, std::uint64_t buckets_per_server,
                                  std::uint32_t ring_slots) {
  control::TableDescriptor table;
  table.set_name(name);
  for (const char* column_name : {"id", "value"}) {
    control::Column& column = *table.add_columns();
    column.set_name(column_name);
    column.set_type(static_cast<std::uint32_t>(layout::ColumnType::bigint));
  }
  table.add_key(0);
  table.set_buckets_per_server(buckets_per_server);
  table.set_ring_slots(ring_slots);
  return table;
}

TestClient::TestClient(fabric::sim::SimWorld& world, const std::string& name, std::string address)
    : world_(world), node_(world.add_node(name)), address_(std::move(address)), fabric_(node_) {}

Status TestClient::connect(const control::Hello& greeting) {
  std::string bytes;
  auto channel = world_.run(node_, fabric_.connect(address_, greeting.SerializeAsString(), &bytes));
  if (!channel.ok()) return channel.status();
  channel_ = std::move(*channel);
  REQUIRE(welcome_.ParseFromString(bytes));
  return Status();
}

Result<std::string> TestClient::call(std::uint16_t method, std::string request) {
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  Status status = world_.run(node_, call_task(channel_.get(), &call));
  if (!status.ok()) return status;
  return std::move(call.reply);
}

Status TestClient::acknowledge_all() {
  control::HeartbeatRequest request;
  for (int i = 0; i < 2; ++i) {
    const auto reply = call<control::HeartbeatReply>(control::HEARTBEAT, request);
    if (!reply.ok()) return reply.status();
    request.set_acknowledged_epoch(reply.value().reuse_epoch());
    request.set_acknowledged_catalog(reply.value().catalog_version());
    request.set_acknowledged_versions(reply.value().version_epoch());
  }
  return Status();
}

Result<std::uint64_t> TestClient::lease_room(std::uint32_t slot, std::uint64_t length_bytes) {
  control::LeaseJournalRoomRequest request;
  request.set_slot(slot);
  request.set_length_bytes(length_bytes);
  const auto reply = call<control::LeaseJournalRoomReply>(control::LEASE_JOURNAL_ROOM, request);
  if (!reply.ok()) return reply.status();
  return reply->offset();
}

Status TestClient::return_room(std::uint32_t slot, std::uint64_t offset) {
  control::ReturnJournalRoomRequest request;
  request.set_slot(slot);
  request.set_offset(offset);
  return call<control::ReturnJournalRoomReply>(control::RETURN_JOURNAL_ROOM, request).status();
}

Result<control::LeaseSlotReply> TestClient::lease() {
  return call<control::LeaseSlotReply>(control::LEASE_SLOT, control::LeaseSlotRequest());
}

Result<calls::OpenJournalReply> TestClient::open_journal(std::uint32_t slot) {
  const auto reply = call(calls::kOpenJournalMethod, calls::encode(calls::OpenJournalRequest{slot}));
  if (!reply.ok()) return reply.status();
  const auto opened = calls::decode_open_journal_reply(*reply, ~std::uint64_t{0});
  REQUIRE(opened.has_value());
  return *opened;
}

Result<control::TableDescriptor> TestClient::create(const control::TableDescriptor& table) {
  control::BeginCreateTableRequest begin;
  *begin.mutable_table() = table;
  auto begun = call<control::BeginCreateTableReply>(control::BEGIN_CREATE_TABLE, begin);
  if (!begun.ok()) return begun.status();
  control::PrepareTableRequest prepare;
  *prepare.mutable_table() = begun->table();
  auto prepared = call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare);
  if (!prepared.ok()) return prepared.status();
  control::FinishCreateTableRequest finish;
  *finish.mutable_table() = begun->table();
  finish.mutable_table()->add_bucket_base(prepared->bucket_base());
  auto finished = call<control::FinishCreateTableReply>(control::FINISH_CREATE_TABLE, finish);
  if (!finished.ok()) return finished.status();
  return finish.table();
}

Result<std::vector<std::uint64_t>> TestClient::allocate(std::uint32_t table, std::uint32_t count,
                                                        bool buckets, std::uint32_t ring_slots) {
  control::AllocateRecordsRequest request;
  request.set_table(table);
  request.set_count(count);
  auto reply =
      call<control::AllocateReply>(buckets ? control::ALLOCATE_BUCKETS : control::ALLOCATE_RECORDS, request);
  if (!reply.ok()) return reply.status();
  std::uint64_t least_bytes = ~std::uint64_t{0};
  for (const control::Range& range : reply->ranges()) {
    least_bytes = std::min(least_bytes, range.length_bytes());
  }
  // All pieces are equal: find their length from the table's shape.
  control::TableDescriptor table_like = accounts("", 4, std::max(ring_slots, 1U));
  table_like.set_single_version(ring_slots == 0);
  const std::uint64_t unit =
      buckets ? layout::kBucket_bytes : TestCluster::layout_of(table_like).record_bytes();
  REQUIRE(least_bytes % unit == 0);
  std::vector<std::uint64_t> offsets;
  for (const control::Range& range : reply->ranges()) {
    for (std::uint64_t i = 0; i < range.length_bytes(); i += unit) offsets.push_back(range.offset() + i);
  }
  return offsets;
}

Status TestClient::hint(std::uint16_t method, std::uint32_t table,
                        const std::vector<std::uint64_t>& records) {
  std::string request(8 + 8 * records.size(), '\0');
  const std::uint64_t id = table;
  std::memcpy(request.data(), &id, 8);
  if (!records.empty()) std::memcpy(request.data() + 8, records.data(), 8 * records.size());
  const auto reply = call(method, std::move(request));
  return reply.ok() ? Status() : reply.status();
}

TestCluster::TestCluster(Options options, std::uint64_t region_bytes, std::uint64_t seed,
                         const Prepare& prepare, const std::string& address)
    : world(seed), node(world.add_node("m0")), memory_(region_bytes / 8), address_(address) {
  const auto region = std::as_writable_bytes(std::span(memory_));
  auto created = MemoryServer::create(node, region, std::move(options));
  REQUIRE(created.ok());
  server = std::move(*created);
  if (prepare) prepare(*this);
  fabric = std::make_unique<fabric::sim::SimServerFabric>(node, region, *server);
  server->start(*fabric);
  REQUIRE(world.run(node, fabric->listen(address_)).ok());
}

TestCluster::~TestCluster() {
  world.run(node, server->stop());
  world.run(node, fabric->close());
}

layout::RecordLayout TestCluster::layout_of(const control::TableDescriptor& table) {
  control::TableDescriptor named = table;
  auto shape = TableShape::create(named);
  REQUIRE(shape.ok());
  return shape->record;
}

void TestCluster::publish(const control::LeaseSlotReply& slot, std::uint32_t counter) {
  store(server->region().map().vector_offset + layout::kVectorWords_offset + 8 * slot.vector_position(),
        layout::HeaderWord(layout::Stamp{slot.slot(), counter}).value());
}

void TestCluster::insert(const control::TableDescriptor& table, std::uint64_t record, std::int64_t key,
                         layout::Stamp stamp, std::uint32_t incarnation) {
  const layout::RecordLayout shape = layout_of(table);
  const auto framed = bytes(record, shape.locked_bytes());
  const auto body = framed.subspan(8, shape.body_bytes());
  const auto payload = layout::body_payload(body);
  std::memset(payload.data(), 0, payload.size());
  std::memcpy(payload.data() + 8, &key, 8);
  layout::seal_body(body, server->region().address(record),
                    {.stamp = stamp, .table = table.id(), .incarnation = incarnation});
  layout::frame_new_record(framed, shape);

  const std::uint64_t hash = layout::hash_key(table.id(), payload.subspan(8, 8));
  const std::uint64_t index = layout::bucket_index(hash, table.buckets_per_server());
  const std::uint64_t offset = table.bucket_base(0) + index * layout::kBucket_bytes;
  layout::Bucket bucket;
  std::memcpy(&bucket, bytes(offset, sizeof bucket).data(), sizeof bucket);
  REQUIRE(bucket.certified(server->region().address(offset)));
  for (layout::BucketEntry& entry : bucket.entries) {
    if (!entry.free()) continue;
    entry = layout::BucketEntry::make(hash, record, incarnation);
    break;
  }
  bucket.seal(server->region().address(offset));
  std::memcpy(bytes(offset, sizeof bucket).data(), &bucket, sizeof bucket);
  REQUIRE(lookup(table, key) != 0);
}

std::uint64_t TestCluster::lookup(const control::TableDescriptor& table, std::int64_t key) {
  const std::uint64_t hash = layout::hash_key(table.id(), std::as_bytes(std::span(&key, 1)));
  const std::uint64_t index = layout::bucket_index(hash, table.buckets_per_server());
  const std::uint64_t offset = table.bucket_base(0) + index * layout::kBucket_bytes;
  layout::Bucket bucket;
  std::memcpy(&bucket, bytes(offset, sizeof bucket).data(), sizeof bucket);
  REQUIRE(bucket.certified(server->region().address(offset)));
  for (const layout::BucketEntry& entry : bucket.entries) {
    if (entry.key_hash == hash) return entry.offset();
  }
  return 0;
}

void TestCluster::update(const control::TableDescriptor& table, std::uint64_t record, layout::Stamp stamp,
                         bool deleted) {
  const layout::RecordLayout shape = layout_of(table);
  const auto body = bytes(record + 8, shape.body_bytes());
  const layout::BodyHeader current = layout::decode_body_header(body.data());
  const std::uint32_t ring_slot = (current.ring_slot + 1) % shape.ring_slots;
  REQUIRE(layout::HeaderWord(load(record + shape.ring_header_offset(ring_slot))).moved());
  const std::vector<std::byte> displaced(body.begin(), body.end());
  store(record + shape.ring_header_offset(ring_slot), current.header_word().value());
  layout::seal_body(body, server->region().address(record),
                    {.stamp = stamp,
                     .deleted = deleted,
                     .displaced = current.header_word(),
                     .table = table.id(),
                     .incarnation = current.incarnation,
                     .ring_slot = ring_slot});
  layout::encode_image(displaced, body, server->region().address(record),
                       bytes(record + shape.ring_payload_offset(ring_slot), body.size()));
  store(record, layout::HeaderWord(stamp, deleted).value());
}

layout::BodyHeader TestCluster::body_header(std::uint64_t record) {
  return layout::decode_body_header(bytes(record + 8, 24).data());
}

bool TestCluster::body_certified(const control::TableDescriptor& table, std::uint64_t record) {
  return layout::certify_body(bytes(record + 8, layout_of(table).body_bytes()),
                              server->region().address(record));
}

std::vector<layout::Stamp> TestCluster::overflow_chain(const control::TableDescriptor& table,
                                                       std::uint64_t record) {
  const layout::RecordLayout shape = layout_of(table);
  std::vector<layout::Stamp> stamps;
  layout::OverflowLink link(load(record + layout::overflow_head_offset(shape)));
  while (!link.none()) {
    const std::uint64_t entry = link.entry();
    const auto body = bytes(entry + layout::kOverflowBody_offset, shape.body_bytes());
    REQUIRE(layout::certify_image(body, server->region().address(record)));
    const layout::HeaderWord word(load(entry + layout::kOverflowStamp_offset));
    REQUIRE(layout::decode_body_header(body.data()).header_word() == word);
    stamps.push_back(word.stamp());
    REQUIRE(stamps.size() < 10'000);
    link = layout::OverflowLink(load(entry + layout::kOverflowNext_offset));
  }
  return stamps;
}

}  // namespace namdb::memory::testing

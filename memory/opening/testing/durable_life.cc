#include "memory/opening/testing/durable_life.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <span>
#include <utility>

#include "common/calls/journal_calls.h"
#include "common/layout/bucket.h"
#include "common/layout/journal.h"
#include "common/layout/record.h"
#include "memory/opening/checkpoints.h"

namespace namdb::memory::testing {

using layout::GlobalAddress;
using layout::JournalWriter;

namespace {

constexpr std::uint64_t kRegion_bytes = 4U << 20;

std::int64_t column(std::span<const std::byte> body, std::size_t index) {
  std::int64_t value = 0;
  std::memcpy(&value, layout::body_payload(body).data() + 8 + 8 * index, 8);
  return value;
}

}  // namespace

Options durable_server_options() {
  Options options = small_options();
  options.durability = Durability::flushed;
  return options;
}

DurableOptions durable_options() {
  DurableOptions options;
  options.database_id = kDatabaseId;
  options.log.segment_bytes = 32U << 10;
  options.log.max_bytes = 1U << 20;
  options.log.max_block_bytes = 8U << 10;
  options.log.reserve_bytes = 8U << 10;
  return options;
}

DurableLife::DurableLife(FaultDisk& disk, FaultDisk::End end, LifeOptions options) {
  const auto prepare = [&](TestCluster& cluster) {
    disk.restart(end, cluster.node);
    disk.stop_at(options.stop_at);
    disk.fail_at(options.fail_at);
    const auto exists = cluster.world.run(cluster.node, DurableDatabase::exists(disk, kDatabaseFolder));
    status_ = exists.status();
    if (!exists.ok()) return;
    auto opened = cluster.world.run(
        cluster.node,
        *exists
            ? DurableDatabase::open(cluster.node, disk, kDatabaseFolder, *cluster.server, options.durable)
            : DurableDatabase::create(cluster.node, disk, kDatabaseFolder, *cluster.server, options.durable));
    status_ = opened.status();
    if (opened.ok()) database_ = std::move(*opened);
  };
  cluster_ = std::make_unique<TestCluster>(options.server, kRegion_bytes, 1, prepare, options.address);
}

DurableLife::~DurableLife() {
  client_.reset();
  cluster_->run_for(kMillisecond_ns);
  if (database_) cluster_->world.run(cluster_->node, database_->close());
  cluster_.reset();
}

Status DurableLife::connect() {
  client_ = cluster_->client("c" + std::to_string(computes_));
  Status status = client_->connect(hello(static_cast<char>('a' + computes_++)));
  if (!status.ok()) return status;
  const auto leased = client_->lease();
  if (!leased.ok()) return leased.status();
  slot_ = leased->slot();
  const auto bytes =
      client_->call(calls::kOpenJournalMethod, calls::encode(calls::OpenJournalRequest{slot_}));
  if (!bytes.ok()) return bytes.status();
  const auto opened = calls::decode_open_journal_reply(*bytes, kRegion_bytes);
  REQUIRE(opened.has_value());
  ring_offset_ = opened->ring_offset;
  position_ = opened->position;
  counter_ = 0;
  return Status();
}

Status DurableLife::drop_table(const std::string& name) {
  control::DropTableRequest request;
  request.set_name(name);
  return client_->call<control::DropTableReply>(control::DROP_TABLE, request).status();
}

const Catalog::ByName<control::RoutineDescriptor>& DurableLife::routines() const {
  return cluster_->server->catalog()->routines();
}

Status DurableLife::put_routine(const std::string& name, const std::string& definition) {
  control::CreateRoutineRequest request;
  request.set_name(name);
  request.set_definition(definition);
  if (routines().contains(name)) request.set_replaces_version(routines().at(name).version());
  return client_->call<control::CreateRoutineReply>(control::CREATE_ROUTINE, request).status();
}

Status DurableLife::drop_routine(const std::string& name) {
  control::DropRoutineRequest request;
  request.set_name(name);
  request.set_version(routines().at(name).version());
  return client_->call<control::DropRoutineReply>(control::DROP_ROUTINE, request).status();
}

control::TableDescriptor DurableLife::descriptor(const std::string& name) const {
  return cluster_->server->catalog()->tables().at(name);
}

const Table& DurableLife::table_named(const std::string& name) const {
  return *cluster_->server->tables().all().at(descriptor(name).id());
}

Result<DurableLife::Place> DurableLife::allocate(std::uint32_t table) {
  control::AllocateRecordsRequest request;
  request.set_table(table);
  request.set_count(1);
  const auto reply = client_->call<control::AllocateReply>(control::ALLOCATE_RECORDS, request);
  if (!reply.ok()) return reply.status();
  return Place{reply->ranges(0).offset(), reply->grant()};
}

std::vector<std::byte> DurableLife::body_at(const Table& table, std::uint64_t offset) const {
  std::vector<std::byte> body(table.shape.record.body_bytes());
  cluster_->server->region().read(offset + 8, body);
  return body;
}

std::uint64_t DurableLife::find(const Table& table, std::int64_t key) const {
  for (std::uint64_t at = table.records.next_used(0); at != 0; at = table.records.next_used(at)) {
    const std::vector<std::byte> body = body_at(table, at);
    if (layout::certify_body(body, GlobalAddress(0, at)) && column(body, 0) == key &&
        !layout::decode_body_header(body.data()).deleted)
      return at;
  }
  return 0;
}

Status DurableLife::log(std::vector<std::byte> entry, std::uint32_t length_bytes) {
  cluster_->server->region().write(ring_offset_ + position_, std::span(entry).first(length_bytes));
  position_ += layout::journal_stream_bytes(length_bytes);
  const calls::FlushRequest request{slot_, position_, counter_ - 1};
  const auto bytes = client_->call(calls::kFlushMethod, calls::encode(request));
  if (!bytes.ok()) return bytes.status();
  const auto flushed = calls::decode_flush_reply(*bytes);
  REQUIRE(flushed.has_value());
  REQUIRE(flushed->durable_position == position_);
  return Status();
}

std::vector<std::byte> DurableLife::make_record(const Table& table, const Place& place, std::int64_t key,
                                                std::int64_t value) const {
  const layout::RecordLayout& shape = table.shape.record;
  std::vector<std::byte> record(shape.locked_bytes());
  const auto body = std::span(record).subspan(8, shape.body_bytes());
  std::memcpy(layout::body_payload(body).data() + 8, &key, 8);
  std::memcpy(layout::body_payload(body).data() + 16, &value, 8);
  layout::BodyHeader header{.stamp = {slot_, counter_},
                            .table = table.shape.id,
                            .incarnation = layout::incarnation_of(place.grant)};
  if (shape.timestamps) header.displaced = layout::HeaderWord(timestamp);
  layout::seal_body(body, GlobalAddress(0, place.offset), header);
  layout::frame_new_record(record, shape);
  return record;
}

Status DurableLife::log_birth(const Table& table, const Place& place, const std::vector<std::byte>& record) {
  const std::array<layout::ServerId, 1> regions{0};
  const layout::EntryHead head{1, 0, counter_ - 1, regions};
  const layout::Stamp stamp{slot_, counter_};
  std::vector<std::byte> entry(JournalWriter::frame_bytes(1) + JournalWriter::kChain_bytes +
                               JournalWriter::chain_record_bytes(record.size()) +
                               JournalWriter::chain_write_bytes(8));
  JournalWriter writer(entry, stamp, stamp, head);
  const std::uint64_t bucket = table.main.array.base_offset;
  writer.chain(GlobalAddress(0, bucket), 1, 2);
  writer.chain_record(GlobalAddress(0, place.offset), place.grant, record);
  const std::array<std::byte, 8> word{};
  writer.chain_write(GlobalAddress(0, bucket + 8), word);
  const std::uint32_t length = writer.finish({slot_, 0, position_});
  return log(std::move(entry), length);
}

Status DurableLife::insert(const std::string& name, std::int64_t key, std::int64_t value) {
  const Table& table = table_named(name);
  const auto place = allocate(table.shape.id);
  if (!place.ok()) return place.status();
  ++counter_;
  const std::vector<std::byte> record = make_record(table, *place, key, value);
  Status status = log_birth(table, *place, record);
  if (status.ok()) cluster_->server->region().write(place->offset, record);
  return status;
}

Status DurableLife::insert_flawed(const std::string& name, std::int64_t key, Flaw flaw) {
  const Table& table = table_named(name);
  const auto place = allocate(table.shape.id);
  if (!place.ok()) return place.status();
  ++counter_;
  std::vector<std::byte> record = make_record(table, *place, key, key);
  if (flaw == Flaw::length) record.resize(record.size() + 8);
  if (flaw == Flaw::body) record[8 + layout::kBodyPrefix_bytes] ^= std::byte{1};
  return log_birth(table, *place, record);
}

void DurableLife::die() {
  client_.reset();
  cluster_->run_for(kSecond_ns);
}

Status DurableLife::change(const std::string& name, std::int64_t key, std::int64_t value, bool deleted) {
  const Table& table = table_named(name);
  const std::uint64_t offset = find(table, key);
  REQUIRE(offset != 0);
  const std::vector<std::byte> displaced = body_at(table, offset);
  const layout::BodyHeader before = layout::decode_body_header(displaced.data());
  const layout::Stamp stamp{slot_, ++counter_};
  std::vector<std::byte> body = displaced;
  std::memcpy(layout::body_payload(std::span(body)).data() + 16, &value, 8);
  layout::seal_body(body, GlobalAddress(0, offset),
                    {.stamp = stamp,
                     .deleted = deleted,
                     .displaced = before.header_word(),
                     .table = table.shape.id,
                     .incarnation = before.incarnation,
                     .ring_slot = before.ring_slot});
  const std::array<layout::ServerId, 1> regions{0};
  const layout::EntryHead head{1, 0, counter_ - 1, regions};
  std::vector<std::byte> entry(JournalWriter::frame_bytes(1) + JournalWriter::update_bytes(body.size()));
  JournalWriter writer(entry, stamp, stamp, head);
  writer.update(GlobalAddress(0, offset), 0, displaced, body);
  const std::uint32_t length = writer.finish({slot_, 0, position_});
  Status status = log(std::move(entry), length);
  if (!status.ok()) return status;
  cluster_->server->region().write(offset + 8, body);
  cluster_->server->region().store(offset, layout::HeaderWord(stamp, deleted).value());
  return Status();
}

Status DurableLife::update(const std::string& table, std::int64_t key, std::int64_t value) {
  return change(table, key, value, false);
}

Status DurableLife::erase(const std::string& table, std::int64_t key) {
  return change(table, key, 0, true);
}

Status DurableLife::checkpoint() {
  Checkpoints checkpoints(server().parts(), database_->log(), database_->checkpoints(),
                          database_->sweep_log(), CheckpointOptions{.interval_ns = 0});
  checkpoints.start();
  control::CheckpointReply reply;
  const auto nobody = [] { return false; };
  const Status status =
      cluster_->world.run(cluster_->node, checkpoints.make(0, CheckpointService::Pace::fast, nobody, &reply));
  cluster_->world.run(cluster_->node, checkpoints.close());
  return status;
}

Status DurableLife::close_slot() {
  const calls::CloseJournalRequest journal{slot_, counter_};
  Status status = client_->call(calls::kCloseJournalMethod, calls::encode(journal)).status();
  if (!status.ok()) return status;
  control::CloseSlotRequest request;
  request.set_slot(slot_);
  request.set_final_counter(counter_);
  return client_->call<control::CloseSlotReply>(control::CLOSE_SLOT, request).status();
}

DurableLife::Rows DurableLife::rows() const {
  Rows rows;
  for (const std::string& name : tables()) {
    const Table& table = table_named(name);
    auto& values = rows[name];
    for (std::uint64_t at = table.records.next_used(0); at != 0; at = table.records.next_used(at)) {
      const std::vector<std::byte> body = body_at(table, at);
      if (!layout::certify_body(body, GlobalAddress(0, at)) ||
          layout::decode_body_header(body.data()).deleted)
        continue;
      REQUIRE(values.emplace(column(body, 0), column(body, 1)).second);
    }
  }
  return rows;
}

DurableLife::Rows DurableLife::rows_by_key() const {
  Rows rows;
  const Region& region = cluster_->server->region();
  for (const std::string& name : tables()) {
    const Table& table = table_named(name);
    REQUIRE(table.ready);
    CHECK(descriptor(name).bucket_base(0) == table.main.array.base_offset);
    auto& values = rows[name];
    for (std::uint64_t i = 0; i < table.main.array.bucket_count; ++i) {
      for (std::uint64_t at = table.main.array.bucket_offset(i); at != 0;) {
        layout::Bucket bucket;
        region.read(at, std::as_writable_bytes(std::span(&bucket, 1)));
        REQUIRE(bucket.certified(GlobalAddress(0, at)));
        for (const layout::BucketEntry& entry : bucket.entries) {
          if (entry.free()) continue;
          const std::vector<std::byte> body = body_at(table, entry.offset());
          REQUIRE(layout::certify_body(body, GlobalAddress(0, entry.offset())));
          REQUIRE(values.emplace(column(body, 0), column(body, 1)).second);
        }
        at = bucket.next_offset;
      }
    }
  }
  return rows;
}

std::vector<std::string> DurableLife::tables() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : cluster_->server->catalog()->tables()) names.push_back(name);
  return names;
}

}  // namespace namdb::memory::testing

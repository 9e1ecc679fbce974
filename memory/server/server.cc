#include "memory/server/server.h"

#include "common/fabric/facts.h"
#include "common/layout/timestamp_vector.h"

namespace namdb::memory {
namespace {

constexpr std::uint32_t kProtocolVersion = 1;
constexpr std::size_t kMaxPeerName_bytes = 128;

std::uint64_t random_epoch(Random& random) {
  std::uint64_t epoch = 0;
  while (epoch == 0) epoch = random.next();
  return epoch;
}

}  // namespace

Result<std::unique_ptr<MemoryServer>> MemoryServer::create(reactor::Executor& executor,
                                                           std::span<std::byte> region, Options options,
                                                           RegionGrowth growth) {
  auto framed = Region::create(region, options, random_epoch(executor.random()), growth.limit_bytes);
  if (!framed.ok()) return framed.status();
  return std::unique_ptr<MemoryServer>(
      new MemoryServer(executor, std::move(*framed), std::move(options), std::move(growth)));
}

MemoryServer::MemoryServer(reactor::Executor& executor, std::unique_ptr<Region> region, Options options,
                           RegionGrowth region_growth)
    : executor_(executor),
      options_(std::move(options)),
      region_(std::move(region)),
      region_growth_(std::move(region_growth)),
      started_ns_(executor.now_ns()),
      fenced_(executor),
      closed_(executor),
      shut_down_(executor),
      identity_(options_.server_id, options_.server_count, region_->map().epoch),
      lock_waiters_(executor),
      slots_(options_.server_id == 0 ? std::make_unique<Slots>(*region_, options_, copies_) : nullptr),
      catalog_(options_.server_id == 0 ? std::make_unique<Catalog>(*region_, options_) : nullptr),
      tables_(executor, *region_, options_),
      indexes_(executor, *region_, options_, tables_, version_epoch_),
      growth_(executor, *region_, options_, tables_, locks_, reuse_),
      departures_(peers_),
      reservations_(*region_, tables_),
      overflow_(*region_),
      old_versions_(executor, *region_, options_, tables_, overflow_,
                    slots_ ? static_cast<const Visibility&>(*slots_) : copies_, version_epoch_),
      mover_(executor, *region_, options_, tables_, overflow_, old_versions_),
      tombstones_(executor, *region_, options_, tables_, locks_,
                  slots_ ? static_cast<const Visibility&>(*slots_) : copies_, version_epoch_, reuse_),
      rings_(executor, *region_, options_, tables_),
      collector_(executor, options_,
                 Collector::Duties{old_versions_, tombstones_, reuse_, tables_, indexes_, peers_, departures_,
                                   reservations_, slots_.get(), [this](const std::string& compute_id) {
                                     notice("a worker is silent: its compute server is fenced");
                                     start_fence(compute_id);
                                   }}) {
  if (region_->limit_bytes() == region_->bytes()) return;
  region_->set_lengthen([this](std::uint64_t length_bytes) { return lengthen_region(length_bytes); });
}

MemoryServer::~MemoryServer() = default;

void MemoryServer::start(fabric::ServerFabric& fabric) {
  NAMDB_CHECK(fabric_ == nullptr);
  fabric_ = &fabric;
  executor_.spawn(gate_, collector_.run(fabric.loopback()));
  executor_.spawn(gate_, growth_.run(fabric.loopback()));
}

reactor::Task<void> MemoryServer::stop() {
  stopping_ = true;
  collector_.stop();
  growth_.stop();
  fenced_.notify_all();
  closed_.notify_all();
  shut_down_.notify_all();
  co_await gate_.close();
}

reactor::Task<void> MemoryServer::shutdown_requested() {
  while (!shutdown_ && !stopping_) co_await shut_down_.wait();
}

void MemoryServer::request_shutdown() {
  shutdown_ = true;
  shut_down_.notify_all();
}

void MemoryServer::notice(const std::string& line) const {
  if (options_.notice) options_.notice(line);
}

Result<std::string> MemoryServer::on_connect(fabric::PeerId id, std::string_view bytes) {
  control::Hello hello;
  if (!hello.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      hello.compute_id().size() != Peers::kComputeId_bytes || hello.name().size() > kMaxPeerName_bytes) {
    return Status(ErrorCode::protocol_violation, "the greeting is not one of namdb's");
  }
  if (hello.protocol_version() != kProtocolVersion) {
    return Status(ErrorCode::protocol_violation,
                  "protocol version " + std::to_string(hello.protocol_version()) +
                      " is not spoken here, only " + std::to_string(kProtocolVersion),
                  "run the same namdb version everywhere");
  }
  if (stopping_) return Status(ErrorCode::cannot_connect_now, "the memory server is shutting down");
  if (peers_.fenced(hello.compute_id())) {
    return Status(ErrorCode::fenced, "this compute server was declared dead", "start it again");
  }
  if (Status status = identity_.check(hello.cluster_epoch()); !status.ok()) return status;
  if (peers_.all().size() >= options_.max_peers) {
    return Status(ErrorCode::too_many_connections, "the memory server has its greatest number of peers");
  }
  Peer peer;
  peer.compute_id = hello.compute_id();
  peer.name = hello.name();
  peer.worker = hello.worker();
  peer.tool = hello.tool();
  peer.last_heard_ns = executor_.now_ns();
  peers_.add(id, std::move(peer));
  collector_.wake();

  control::Welcome welcome;
  welcome.set_protocol_version(kProtocolVersion);
  welcome.set_server_id(options_.server_id);
  welcome.set_server_count(options_.server_count);
  welcome.set_epoch(epoch());
  welcome.set_region_bytes(region_->bytes());
  welcome.set_region_map(&region_->map(), sizeof(layout::RegionMap));
  welcome.set_max_transaction_ns(options_.max_transaction_ns);
  welcome.set_ring_slots(options_.ring_slots);
  welcome.set_clock_ns(executor_.fresh_now_ns());
  welcome.set_memory_only(true);
  welcome.set_protocol(options_.protocol);
  welcome.set_stages(options_.stages.text());
  welcome.set_preset(options_.preset);
  welcome.set_timestamp_vector(std::string(layout::name_of(options_.timestamp_vector)));
  welcome.set_shared_read_locks(options_.shared_read_locks);
  return welcome.SerializeAsString();
}

void MemoryServer::on_disconnect(fabric::PeerId id) {
  const Peer* peer = peers_.find(id);
  if (peer == nullptr) return;
  const std::string name = peer->name;
  if (!peer->tool) ++peers_gone_;
  if (!peer->tool && !(peer->leaving && !reservations_.holds(peer->compute_id))) {
    departures_.add(peer->compute_id);
  }
  peers_.remove(id);
  if (slots_) {
    const std::uint64_t before = slots_->dead_count();
    slots_->disconnected(id);
    if (slots_->dead_count() != before) notice(name + " is gone and left a slot to repair");
  }
  if (catalog_) {
    for (const std::uint32_t undone : catalog_->disconnected(id)) discard(undone);
  }
  // Wherever it was building one: its catalog entry goes with the peer, too.
  for (const std::uint32_t index : indexes_.built_by(id)) discard(index);
  fenced_.notify_all();
  collector_.wake();  // one acknowledgement less to wait for
}

void MemoryServer::discard(std::uint32_t id) {
  for (const std::uint32_t index : indexes_.of_table(id)) discard(index);
  for (const std::uint32_t index : tables_.hash_indexes_of(id)) discard(index);
  if (!tables_.discard(id) && !indexes_.discard(id)) return;
  reuse_.defer({id, 0});
  collector_.wake();
}

void MemoryServer::start_fence(const std::string& compute_id) {
  peers_.remember_fenced(compute_id);
  fenced_.notify_all();  // a fence that this compute server waits for must not hold up its own
  if (!peers_.of(compute_id).empty()) executor_.spawn(gate_, fence_peers(compute_id));
}

reactor::Task<void> MemoryServer::fence_peers(std::string compute_id) {
  for (const fabric::PeerId peer : peers_.of(compute_id)) co_await fabric_->fence(peer);
  fenced_.notify_all();
}

reactor::Task<Status> MemoryServer::fence(fabric::PeerId caller, std::string compute_id) {
  if (compute_id.size() != Peers::kComputeId_bytes) {
    co_return Status(ErrorCode::protocol_violation, "a compute server's id has 16 bytes");
  }
  const Peer* own = peers_.find(caller);
  const std::string own_id = own != nullptr ? own->compute_id : std::string();
  if (own_id == compute_id) {
    co_return Status(ErrorCode::protocol_violation, "a compute server cannot fence itself");
  }
  if (!peers_.fenced(compute_id)) notice("a compute server is fenced on request");
  start_fence(compute_id);
  // Two that fence each other: the transport waits for the calls of the one that it fences, so this call ends
  // when its caller is fenced too.
  while (!peers_.of(compute_id).empty()) {
    if (stopping_) co_return Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
    if (peers_.fenced(own_id)) {
      co_return Status(ErrorCode::fenced, "this compute server was itself declared dead");
    }
    co_await fenced_.wait();
  }
  co_return Status();
}

RegionUse MemoryServer::use() const {
  RegionUse use;
  use.fixed_bytes = region_->fixed_bytes();
  use.free_bytes = region_->blocks().free_bytes();
  use.journal_bytes = slots_ ? slots_->journal_bytes() : 0;
  for (const auto& [id, table] : tables_.all()) {
    use.table_bytes +=
        table->main_block_bytes() + table->indirect.block_bytes() + table->records.block_bytes();
  }
  for (const auto& [id, index] : indexes_.all()) use.index_bytes += index->tree->pages().block_bytes();
  use.overflow_bytes = overflow_.block_bytes();
  return use;
}

control::StatusReply MemoryServer::status() const {
  control::StatusReply reply;
  reply.set_server_id(options_.server_id);
  reply.set_epoch(epoch());
  if (fabric_ != nullptr) reply.set_fabric(std::string(fabric_->name()));
  reply.set_region_bytes(region_->bytes());
  reply.set_limit_bytes(region_->limit_bytes());
  reply.set_free_bytes(region_->blocks().free_bytes());
  reply.set_huge_pages(options_.huge_pages);
  reply.set_uptime_ns(executor_.now_ns() - started_ns_);
  reply.set_overflow_bytes(overflow_.used_bytes());
  reply.set_versions_moved(mover_.moved());
  reply.set_versions_collected(old_versions_.collected());
  reply.set_records_reclaimed(tombstones_.reclaimed());
  if (catalog_) reply.set_catalog_version(catalog_->version());
  for (const auto& [id, table] : tables_.all()) {
    if (table->discarded) continue;
    if (table->shape.indexed_table != 0) {
      control::IndexUse& use = *reply.add_indexes();
      use.set_id(id);
      use.set_name(table->shape.name);
      use.set_table(table->shape.indexed_table);
      use.set_hash(true);
      use.set_entries(table->records.used_count());
      use.set_page_bytes(table->main_bytes() + table->indirect.used_bytes() + table->records.used_bytes());
      continue;
    }
    control::TableUse& use = *reply.add_tables();
    use.set_id(id);
    use.set_name(table->shape.name);
    use.set_bucket_bytes(table->main_bytes() + table->indirect.used_bytes());
    use.set_record_bytes(table->records.used_bytes());
    use.set_free_record_bytes(table->records.free_bytes());
    use.set_bucket_count(table->main.array.bucket_count);
    use.set_doublings(table->doublings());
    use.set_other_array_bytes(table->main_bytes() - table->main.array.bytes());
    const layout::Schema& schema = table->shape.schema;
    for (const std::uint32_t column : schema.partition()) {
      use.add_partition_columns(schema.columns()[column].name);
    }
  }
  for (const auto& [id, index] : indexes_.all()) {
    if (index->discarded) continue;
    control::IndexUse& use = *reply.add_indexes();
    use.set_id(id);
    use.set_name(index->name);
    use.set_table(index->table);
    use.set_entries(index->tree->entries());
    use.set_height(index->tree->height());
    use.set_page_bytes(index->tree->pages().used_bytes());
    use.set_doubts(indexes_.doubts().count(id));
  }
  for (const auto& [id, peer] : peers_.all()) {
    control::PeerStatus& added = *reply.add_peers();
    added.set_peer(id);
    added.set_name(peer.name);
    added.set_compute_id(peer.compute_id);
    added.set_worker(peer.worker);
  }
  reply.set_version(options_.version);
  reply.set_max_transaction_ns(options_.max_transaction_ns);
  reply.set_protocol(options_.protocol);
  reply.set_stages(options_.stages.text());
  reply.set_preset(options_.preset);
  reply.set_timestamp_vector(std::string(layout::name_of(options_.timestamp_vector)));
  reply.set_shared_read_locks(options_.shared_read_locks);
  return reply;
}

control::FabricReply MemoryServer::fabric_facts() const {
  control::FabricReply reply;
  reply.set_server_id(options_.server_id);
  if (fabric_ == nullptr) return reply;
  reply.set_fabric(std::string(fabric_->name()));
  fabric::Facts facts;
  fabric_->describe(facts);
  for (const fabric::Fact& fact : facts.all()) {
    control::FabricFact& added = *reply.add_facts();
    added.set_name(fact.name);
    added.set_text(fact.text);
    added.set_amount(fact.amount);
  }
  return reply;
}

}  // namespace namdb::memory

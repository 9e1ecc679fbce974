#include "memory/calls/status.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "memory/calls/methods.h"

namespace namdb::memory {
namespace {

// Records whose rings one request may have sampled.
constexpr std::uint64_t kMaxSample = 1U << 16;
// Tables and indexes that a reply lists, each, and their bytes there: so it fits into a call.
constexpr std::size_t kMaxListed = 4096;
constexpr std::size_t kMaxListed_bytes = fabric::kMaxCall_bytes / 3;

// The objects of one kind, the largest of which are listed.
struct Listed {
  struct Object {
    std::uint64_t bytes;
    std::uint32_t id;
  };
  std::vector<Object> objects;
  std::uint64_t others = 0;
  std::uint64_t other_bytes = 0;

  void leave_out(const Object& object) {
    ++others;
    other_bytes += object.bytes;
  }
  // Leaves the largest, by their ids.
  void choose() {
    if (objects.size() > kMaxListed) {
      const auto end = objects.begin() + kMaxListed;
      std::ranges::nth_element(objects, end, std::greater(), &Object::bytes);
      for (auto object = end; object != objects.end(); ++object) leave_out(*object);
      objects.erase(end, objects.end());
    }
    std::ranges::sort(objects, {}, &Object::id);
  }
  // Adds a message for each to the list.
  template <typename Use, typename Fill>
  void add_to(google::protobuf::RepeatedPtrField<Use>& list, Fill fill) {
    choose();
    std::size_t list_bytes = 0;
    for (const Object& object : objects) {
      Use use;
      use.set_id(object.id);
      fill(object.id, use);
      list_bytes += use.ByteSizeLong() + 8;
      if (list_bytes > kMaxListed_bytes) {
        leave_out(object);
      } else {
        *list.Add() = std::move(use);
      }
    }
  }
};

std::uint64_t bytes_of(const Table& table) {
  return table.main_bytes() + table.indirect.used_bytes() + table.records.used_bytes();
}

void describe_table(const Table& table, control::TableUse& use) {
  use.set_name(table.shape.name);
  use.set_bucket_bytes(table.main_bytes() + table.indirect.used_bytes());
  use.set_record_bytes(table.records.used_bytes());
  use.set_free_record_bytes(table.records.free_bytes());
  use.set_bucket_count(table.main.array.bucket_count);
  use.set_doublings(table.doublings());
  use.set_other_array_bytes(table.main_bytes() - table.main.array.bytes());
  const layout::Schema& schema = table.shape.schema;
  for (const std::uint32_t column : schema.partition()) {
    use.add_partition_columns(schema.columns()[column].name);
  }
}

void describe_hash_index(const Table& table, control::IndexUse& use) {
  use.set_name(table.shape.name);
  use.set_table(table.shape.indexed_table);
  use.set_hash(true);
  use.set_entries(table.records.used_count());
  use.set_page_bytes(bytes_of(table));
}

void describe_objects(const ServerState& server, control::StatusReply& reply) {
  Listed tables;
  Listed indexes;
  for (const auto& [id, table] : server.tables.all()) {
    if (table->discarded) continue;
    Listed& list = table->shape.indexed_table != 0 ? indexes : tables;
    list.objects.push_back({bytes_of(*table), id});
  }
  for (const auto& [id, index] : server.indexes.all()) {
    if (!index->discarded) indexes.objects.push_back({index->tree->pages().used_bytes(), id});
  }
  tables.add_to(*reply.mutable_tables(), [&server](std::uint32_t id, control::TableUse& use) {
    describe_table(*server.tables.all().at(id), use);
  });
  indexes.add_to(*reply.mutable_indexes(), [&server](std::uint32_t id, control::IndexUse& use) {
    const auto found = server.indexes.all().find(id);
    if (found == server.indexes.all().end()) return describe_hash_index(*server.tables.all().at(id), use);
    const Index& index = *found->second;
    use.set_name(index.name);
    use.set_table(index.table);
    use.set_entries(index.tree->entries());
    use.set_height(index.tree->height());
    use.set_page_bytes(index.tree->pages().used_bytes());
    use.set_doubts(server.indexes.doubts().count(id));
  });
  reply.set_other_tables(tables.others);
  reply.set_other_table_bytes(tables.other_bytes);
  reply.set_other_indexes(indexes.others);
  reply.set_other_index_bytes(indexes.other_bytes);
}

}  // namespace

control::StatusReply status_of(const ServerState& server) {
  control::StatusReply reply;
  reply.set_server_id(server.options.server_id);
  reply.set_epoch(server.region->map().epoch);
  if (server.server_fabric != nullptr) reply.set_fabric(std::string(server.server_fabric->name()));
  reply.set_region_bytes(server.region->bytes());
  reply.set_limit_bytes(server.region->limit_bytes());
  reply.set_free_bytes(server.region->blocks().free_bytes());
  reply.set_huge_pages(server.options.huge_pages);
  reply.set_uptime_ns(server.executor.now_ns() - server.started_ns);
  reply.set_overflow_bytes(server.overflow.used_bytes());
  reply.set_versions_moved(server.mover.moved());
  reply.set_versions_collected(server.old_versions.collected());
  reply.set_records_reclaimed(server.tombstones.reclaimed());
  if (server.catalog) reply.set_catalog_version(server.catalog->version());
  if (server.slots) {
    reply.set_slots_dead(server.slots->dead_count());
    reply.set_slots_decided(server.slots->decided_count());
  }
  describe_objects(server, reply);
  for (const auto& [id, peer] : server.peers.all()) {
    control::PeerStatus& added = *reply.add_peers();
    added.set_peer(id);
    added.set_name(peer.name);
    added.set_compute_id(peer.compute_id);
    added.set_worker(peer.worker);
  }
  reply.set_version(server.options.version);
  reply.set_max_transaction_ns(server.options.max_transaction_ns);
  reply.set_protocol(server.options.protocol);
  reply.set_stages(server.options.stages.text());
  reply.set_preset(server.options.preset);
  reply.set_timestamp_vector(std::string(layout::name_of(server.options.timestamp_vector)));
  if (server.opened) *reply.mutable_opening() = *server.opened;
  reply.set_shared_read_locks(server.options.shared_read_locks);
  reply.set_entries_refused(server.journals.refused());
  reply.set_durability(server.journals.logged() ? "flushed" : "memory");
  if (server.checkpoints != nullptr) server.checkpoints->describe(*reply.mutable_disk());
  return reply;
}

void describe_backlog(const ServerState& server, control::Backlog& backlog) {
  const std::uint64_t now_ns = server.executor.now_ns();
  backlog.set_live_versions(server.old_versions.live().versions);
  backlog.set_aging_versions(server.old_versions.aging().versions);
  backlog.set_aging_ns(now_ns - server.old_versions.aging_since_ns(now_ns));
  backlog.set_tombstones(server.tombstones.pending());
  backlog.set_reuse_pieces(server.reclaimer.pending_count());
  backlog.set_oldest_snapshot_ns(server.peers.oldest_snapshot_ns(now_ns));
}

namespace handlers {

reactor::Task<Status> status(Caller caller, const control::StatusRequest& request,
                             control::StatusReply& reply) {
  ServerState& server = caller.server;
  const RingSample rings =
      co_await server.rings.look(std::min<std::uint64_t>(request.sample_records(), kMaxSample));
  reply = status_of(server);
  control::Backlog& backlog = *reply.mutable_backlog();
  backlog.set_sampled_records(rings.records);
  backlog.set_sampled_ring_slots(rings.slots);
  backlog.set_unmoved_ring_slots(rings.unmoved);
  describe_backlog(server, backlog);
  co_return Status();
}

}  // namespace handlers
}  // namespace namdb::memory

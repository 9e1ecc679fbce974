#include "memory/coordinator/catalog.h"

#include <algorithm>

#include "common/protocols/protocol.h"
#include "memory/coordinator/bucket_count.h"
#include "memory/region/descriptor.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kDefaultSizeHint_rows = 512;
constexpr std::size_t kServer_bytes = 11;  // a bucket base and a number of doublings, each a varint

}  // namespace

Catalog::Catalog(Region& region, const Options& options) : region_(region), options_(options) {
  changed();
}

void Catalog::changed() {
  ++version_;
  if (!draft_) show_version();
}

void Catalog::show_version() const {
  region_.store(region_.catalog_version_offset(), version_);
}

Status Catalog::check_room(std::size_t entry_bytes, std::size_t before_bytes, const char* hint) const {
  if (entry_bytes > kMaxEntry_bytes)
    return Status(ErrorCode::limit_exceeded,
                  "an entry of the catalog would have " + std::to_string(entry_bytes) + " bytes",
                  "give it shorter texts, or fewer columns");
  if (encoded_bytes_ - before_bytes + entry_bytes <= options_.max_catalog_bytes) return {};
  return Status(ErrorCode::limit_exceeded, "the catalog is full", hint);
}

std::size_t Catalog::encoded_bytes(const control::TableDescriptor& table) const {
  control::TableDescriptor fixed = table;
  fixed.clear_bucket_base();
  fixed.clear_doublings();
  fixed.set_frozen(true);
  fixed.set_ready_version(~std::uint64_t{0});
  fixed.set_altered_version(~std::uint64_t{0});
  if (fixed.has_hash_index()) {
    fixed.mutable_hash_index()->set_state(control::INDEX_READY);
    fixed.mutable_hash_index()->set_ready_version(~std::uint64_t{0});
  }
  return fixed.ByteSizeLong() + kFrame_bytes + kServer_bytes * options_.server_count;
}

bool Catalog::name_taken(const std::string& name) const {
  const auto begun = [&](const auto& creation) { return creation.second.table.name() == name; };
  const auto index_begun = [&](const auto& creation) { return creation.second.index.name() == name; };
  return tables_.contains(name) || indexes_.contains(name) || routines_.contains(view_key(name)) ||
         std::any_of(creations_.begin(), creations_.end(), begun) ||
         std::any_of(index_creations_.begin(), index_creations_.end(), index_begun);
}

Result<control::TableDescriptor> Catalog::begin(fabric::PeerId peer, control::TableDescriptor table,
                                                std::uint32_t owner) {
  if (table.name().empty() || table.name().size() > kMaxName_bytes) {
    return Status(ErrorCode::invalid_table_definition, "a table's name has 1 to 255 bytes");
  }
  if (table.replaces() != 0) {
    if (Status status = check_replacement(table); !status.ok()) return status;
    table.set_name(hidden_name(table.name(), next_id_));
  } else if (table.has_hash_index()) {
    if (Status status = check_index_name(table.name(), table.hash_index().table()); !status.ok())
      return status;
    if (Status status = make_hash_index(table); !status.ok()) return status;
  } else if (name_taken(table.name())) {
    return Status(ErrorCode::duplicate_table, "relation \"" + table.name() + "\" already exists");
  }
  if (Status status = check_foreign_keys(table.foreign_keys(), {}); !status.ok()) return status;
  table.clear_frozen();
  table.clear_ready_version();
  table.clear_altered_version();
  const protocol::ProtocolTraits& protocol = *protocol::find_protocol(options_.protocol);
  table.set_single_version(protocol.single_version);
  table.set_timestamps(protocol.timestamps);
  table.set_reader_words(options_.shared_read_locks ? layout::kReaderWords : 0);
  if (table.ring_slots() == 0) table.set_ring_slots(options_.ring_slots);
  if (table.size_hint_rows() == 0) table.set_size_hint_rows(kDefaultSizeHint_rows);
  if (table.buckets_per_server() == 0)
    table.set_buckets_per_server(initial_buckets(table.size_hint_rows(), options_.server_count));
  table.set_generation(1);
  table.clear_bucket_base();
  table.clear_doublings();
  table.set_id(next_id_);
  auto checked = TableShape::create(table);
  if (!checked.ok()) return checked.status();
  Status room = check_room(encoded_bytes(table), 0, "drop tables that are not needed");
  if (!room.ok()) return room;
  ++next_id_;
  creations_[table.id()] = Creation{peer, table, owner};
  return table;
}

Result<std::uint64_t> Catalog::finish(fabric::PeerId peer, const control::FinishCreateTableRequest& request) {
  const control::TableDescriptor& table = request.table();
  const auto found = creations_.find(table.id());
  if (found == creations_.end() || found->second.peer != peer) {
    return Status(ErrorCode::undefined_table,
                  "this channel is not creating table " + std::to_string(table.id()));
  }
  if (table.bucket_base_size() != options_.server_count) {
    return Status(ErrorCode::protocol_violation, "a bucket base is needed for each memory server");
  }
  control::TableDescriptor expected = found->second.table;
  *expected.mutable_bucket_base() = table.bucket_base();
  if (expected.SerializeAsString() != table.SerializeAsString()) {
    return Status(ErrorCode::protocol_violation, "the table is not the one that was begun");
  }
  auto indexes = indexes_to_finish(peer, request);
  if (!indexes.ok()) return indexes.status();
  if (Status status = check_foreign_keys(expected.foreign_keys(), {}); !status.ok()) return status;
  if (expected.has_hash_index()) hash_builders_[table.id()] = peer;
  const std::uint32_t owner = found->second.owner;
  creations_.erase(found);
  if (expected.replaces() != 0) {
    change_table(expected.replaces(), [](control::TableDescriptor& old) { old.set_frozen(true); });
    copiers_[expected.id()] = peer;
  }
  touch_referenced(expected.foreign_keys(), {});
  put_table(std::move(expected));
  for (control::IndexDescriptor& index : *indexes) {
    index.set_state(control::INDEX_READY);
    index.set_ready_version(version_ + 1);
    index_creations_.erase(index.id());
    put_index(std::move(index));
  }
  if (table.replaces() == 0) own(rights_of_table(table.id()), owner);
  changed();
  return version_;
}

Status Catalog::abandon(fabric::PeerId peer, std::uint32_t table) {
  if (const auto copier = copiers_.find(table); copier != copiers_.end() && copier->second == peer) {
    undo_replacement(table);
    return Status();
  }
  const auto found = creations_.find(table);
  if (found == creations_.end() || found->second.peer != peer) {
    return Status(ErrorCode::undefined_table, "this channel is not creating table " + std::to_string(table));
  }
  creations_.erase(found);
  drop_indexes_of(table);
  return Status();
}

Result<std::uint32_t> Catalog::drop(const std::string& name) {
  const auto found = tables_.find(name);
  if (found == tables_.end() || found->second.has_hash_index()) {
    return Status(ErrorCode::undefined_table, "table \"" + name + "\" does not exist");
  }
  const std::uint32_t id = found->second.id();
  if (Status status = check_unaltered(id); !status.ok()) return status;
  if (Status status = check_unreferenced(id); !status.ok()) return status;
  erase_table(id);
  drop_indexes_of(id);
  disown(rights_of_table(id));
  changed();
  return id;
}

Status Catalog::grow(const control::GrowTableRequest& request) {
  const control::GrownTable& grown = request.table();
  const control::TableDescriptor* const found = find_table(grown.table());
  if (found == nullptr) {
    return Status(ErrorCode::undefined_table, "there is no table " + std::to_string(grown.table()));
  }
  control::TableDescriptor table = *found;
  if (request.server() >= options_.server_count || grown.bucket_base() % 8 != 0 ||
      grown.bucket_base() > layout::GlobalAddress::kOffsetMask ||
      !TableShape::valid_buckets(table.buckets_per_server(), grown.doublings())) {
    return Status(ErrorCode::protocol_violation, "a table's buckets cannot have grown like that");
  }
  while (static_cast<std::uint32_t>(table.doublings_size()) < options_.server_count) table.add_doublings(0);
  const int server = static_cast<int>(request.server());
  if (grown.doublings() <= table.doublings(server)) return Status();
  table.set_bucket_base(server, grown.bucket_base());
  table.set_doublings(server, grown.doublings());
  put_table(std::move(table));
  changed();
  return Status();
}

Status Catalog::reopen(std::uint32_t server, std::uint32_t id, std::uint64_t bucket_base,
                       std::uint32_t doublings) {
  const control::TableDescriptor* const found = find_table(id);
  if (found == nullptr) return Status(ErrorCode::undefined_table, "there is no table " + std::to_string(id));
  control::TableDescriptor table = *found;
  while (static_cast<std::uint32_t>(table.doublings_size()) < options_.server_count) table.add_doublings(0);
  table.set_bucket_base(static_cast<int>(server), bucket_base);
  table.set_doublings(static_cast<int>(server), doublings);
  put_table(std::move(table));
  changed();
  return Status();
}

std::vector<std::uint32_t> Catalog::creating() const {
  std::vector<std::uint32_t> ids;
  for (const auto& [id, creation] : creations_) ids.push_back(id);
  for (const auto& [id, creation] : index_creations_) ids.push_back(id);
  return ids;
}

std::vector<std::uint32_t> Catalog::disconnected(fabric::PeerId peer) {
  std::vector<std::uint32_t> undone = undo_index_creations(peer);
  for (auto entry = copiers_.begin(); entry != copiers_.end();) {
    const auto [table, copier] = *entry++;
    if (copier != peer) continue;
    undone.push_back(table);
    undo_replacement(table);
  }
  for (auto entry = creations_.begin(); entry != creations_.end();) {
    if (entry->second.peer == peer) {
      undone.push_back(entry->first);
      entry = creations_.erase(entry);
    } else {
      ++entry;
    }
  }
  return undone;
}

}  // namespace namdb::memory

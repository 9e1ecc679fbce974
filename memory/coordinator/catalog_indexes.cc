// The catalog's part about secondary indexes.
#include <algorithm>
#include <cstddef>
#include <span>

#include "common/layout/hash_entry.h"
#include "common/layout/index_key.h"
#include "memory/coordinator/bucket_count.h"
#include "memory/coordinator/catalog.h"
#include "memory/coordinator/control_state.h"
#include "memory/region/descriptor.h"

namespace namdb::memory {
namespace {

Status not_creating(std::uint32_t index) {
  return Status(ErrorCode::undefined_object, "this channel is not creating index " + std::to_string(index));
}

}  // namespace

Status Catalog::make_hash_index(control::TableDescriptor& table) const {
  control::HashIndex& index = *table.mutable_hash_index();
  const control::TableDescriptor* const indexed = find_table(index.table());
  if (indexed == nullptr || indexed->has_hash_index())
    return Status(ErrorCode::undefined_table, "there is no table " + std::to_string(index.table()));
  const auto base = TableShape::create(*indexed);
  if (!base.ok()) return base.status();
  if (indexed->replaces() != 0) table.set_name(hidden_name(table.name(), indexed->id()));
  std::vector<layout::IndexColumn> columns;
  for (const std::uint32_t column : index.columns()) columns.push_back({column, false});
  const auto shape = layout::IndexShape::create(base->schema, std::move(columns));
  if (!shape.ok()) return shape.status();
  const auto schema = layout::hash_entry_schema(*shape, index.unique());
  if (!schema.ok()) return schema.status();
  index.set_state(control::INDEX_BUILDING);
  index.set_ready_version(0);
  // As many entries as the table has rows.
  if (table.size_hint_rows() == 0) table.set_size_hint_rows(indexed->size_hint_rows());
  if (table.buckets_per_server() == 0) {
    const std::span doublings(indexed->doublings().data(),
                              static_cast<std::size_t>(indexed->doublings_size()));
    table.set_buckets_per_server(buckets_by_now(indexed->buckets_per_server(), doublings));
  }
  table.clear_columns();
  for (const layout::Column& column : schema->columns()) {
    control::Column& added = *table.add_columns();
    added.set_name(column.name);
    added.set_type(static_cast<std::uint32_t>(column.type));
    added.set_length_bytes(column.length_bytes);
    added.set_not_null(column.not_null);
  }
  table.mutable_key()->Assign(schema->key().begin(), schema->key().end());
  table.mutable_partition()->Assign(schema->partition().begin(), schema->partition().end());
  return {};
}

Result<std::uint64_t> Catalog::advance_hash_index(fabric::PeerId peer,
                                                  const control::AdvanceIndexRequest& request) {
  const std::uint32_t id = request.index().id();
  const auto builder = hash_builders_.find(id);
  if (builder->second != peer) return not_creating(id);
  if (request.abandon()) {
    erase_hash_index(id);
    return version_;
  }
  if (request.state() != control::INDEX_READY)
    return Status(ErrorCode::protocol_violation, "an index cannot go on to that state");
  change_table(id, [this](control::TableDescriptor& entries) {
    entries.mutable_hash_index()->set_state(control::INDEX_READY);
    entries.mutable_hash_index()->set_ready_version(version_ + 1);
  });
  hash_builders_.erase(builder);
  changed();
  return version_;
}

void Catalog::erase_hash_index(std::uint32_t id) {
  hash_builders_.erase(id);
  erase_table(id);
  changed();
}

Result<control::IndexDescriptor> Catalog::begin_index(fabric::PeerId peer, control::IndexDescriptor index) {
  if (index.replaces() != 0) return begin_replacement(peer, index);
  if (index.name().empty() || index.name().size() > kMaxName_bytes) {
    return Status(ErrorCode::invalid_table_definition, "an index's name has 1 to 255 bytes");
  }
  if (Status status = check_index_name(index.name(), index.table()); !status.ok()) return status;
  const control::TableDescriptor* const table = find_table(index.table());
  const auto creation = creations_.find(index.table());
  const bool created_by_peer = creation != creations_.end() && creation->second.peer == peer;
  const bool is_rows = table != nullptr && !table->has_hash_index();
  if (!is_rows && (!created_by_peer || creation->second.table.has_hash_index())) {
    return Status(ErrorCode::undefined_table, "there is no table " + std::to_string(index.table()));
  }
  const control::TableDescriptor& indexed = created_by_peer ? creation->second.table : *table;
  if (indexed.replaces() != 0) index.set_name(hidden_name(index.name(), indexed.id()));
  const auto shape = TableShape::create(indexed);
  if (!shape.ok()) return shape.status();
  std::vector<layout::IndexColumn> columns;
  for (const control::IndexColumn& column : index.columns()) {
    columns.push_back({column.column(), column.descending()});
  }
  const auto checked = layout::IndexShape::create(shape->schema, std::move(columns));
  if (!checked.ok()) return checked.status();
  index.set_page_bytes(options_.index_page_bytes);
  index.set_state(control::INDEX_UNKNOWN);
  index.set_ready_version(0);
  index.clear_replaced_version();
  index.clear_parts();
  Status room = check_room(index.ByteSizeLong() + kFrame_bytes, 0, "drop what is not needed");
  if (!room.ok()) return room;
  index.set_id(next_id_++);
  index_creations_[index.id()] = IndexCreation{peer, index};
  return index;
}

Result<control::IndexDescriptor> Catalog::begin_replacement(fabric::PeerId peer,
                                                            const control::IndexDescriptor& wanted) {
  const std::uint32_t replaced = wanted.replaces();
  const control::IndexDescriptor* const found = find_index(replaced);
  if (found == nullptr || is_beside(*found)) {
    return Status(ErrorCode::undefined_object, "there is no index " + std::to_string(replaced));
  }
  const std::uint32_t table = found->table();
  if (final_table(table) != table)
    return Status(ErrorCode::table_is_altered,
                  "the table of index \"" + found->name() + "\" is being filled");
  if (Status status = check_unaltered(table); !status.ok()) return status;
  const bool begun = std::ranges::any_of(
      index_creations_, [&](const auto& entry) { return entry.second.index.replaces() == replaced; });
  if (begun || found->state() != control::INDEX_READY) {
    return Status(ErrorCode::portal_not_ready, "index \"" + found->name() + "\" is being built already",
                  "wait until that has ended");
  }
  control::IndexDescriptor index = *found;
  index.set_page_bytes(options_.index_page_bytes);
  index.set_state(control::INDEX_UNKNOWN);
  index.set_ready_version(0);
  index.clear_parts();
  index.set_replaces(replaced);
  index.set_balanced_bytes(wanted.balanced_bytes());
  Status room = check_room(index.ByteSizeLong() + kFrame_bytes, 0, "drop what is not needed");
  if (!room.ok()) return room;
  index.set_id(next_id_++);
  index_creations_[index.id()] = IndexCreation{peer, index};
  return index;
}

Status Catalog::replace(const control::IndexDescriptor& index) {
  const control::IndexDescriptor* const current = indexes_.get(index.name());
  if (current == nullptr || current->id() != index.replaces()) {
    return Status(ErrorCode::undefined_object, "index \"" + index.name() + "\" was dropped meanwhile");
  }
  control::IndexDescriptor former = *current;
  former.set_replaced_version(version_ + 1);
  control::IndexDescriptor next = indexes_beside_.at(index.id());
  next.set_state(control::INDEX_READY);
  next.set_ready_version(version_ + 1);
  next.clear_replaces();
  put_index(std::move(former));
  put_index(std::move(next));
  changed();
  return {};
}

bool Catalog::has_replaced(std::uint64_t version) const {
  return std::ranges::any_of(indexes_beside_, [version](const auto& entry) {
    const std::uint64_t replaced = entry.second.replaced_version();
    return replaced != 0 && replaced <= version;
  });
}

void Catalog::acknowledged(std::uint64_t version) {
  std::vector<std::uint32_t> unneeded;
  for (const auto& [id, index] : indexes_beside_) {
    if (index.replaced_version() != 0 && index.replaced_version() <= version) unneeded.push_back(id);
  }
  for (const std::uint32_t id : unneeded) erase_index(id);
  if (!unneeded.empty()) changed();
}

Result<std::uint64_t> Catalog::advance_index(fabric::PeerId peer,
                                             const control::AdvanceIndexRequest& request) {
  if (hash_builders_.contains(request.index().id())) return advance_hash_index(peer, request);
  const auto creation = index_creations_.find(request.index().id());
  if (creation == index_creations_.end() || creation->second.peer != peer) {
    return not_creating(request.index().id());
  }
  control::IndexDescriptor& index = creation->second.index;
  const bool replaces = index.replaces() != 0;
  const bool visible = replaces ? indexes_beside_.contains(index.id()) : indexes_.contains(index.name());
  if (request.abandon()) {
    const std::uint32_t id = index.id();
    index_creations_.erase(creation);
    if (visible) erase_index(id);
    if (visible) changed();
    return version_;
  }
  if (!visible && request.state() == control::INDEX_BUILDING && !creations_.contains(index.table())) {
    auto given = with_parts(index, request.index());
    if (!given || !check_room(given->ByteSizeLong() + kFrame_bytes, 0, "").ok()) {
      return Status(ErrorCode::protocol_violation, "the index is not the one that was begun");
    }
    index = std::move(*given);
    index.set_state(control::INDEX_BUILDING);
    put_index(index);
    changed();
    return version_;
  }
  if (visible && replaces && request.state() == control::INDEX_READY) {
    if (Status status = replace(index); !status.ok()) return status;
    index_creations_.erase(creation);
    return version_;
  }
  if (visible && request.state() == control::INDEX_READY) {
    control::IndexDescriptor shown = indexes_.at(index.name());
    shown.set_state(control::INDEX_READY);
    shown.set_ready_version(version_ + 1);
    put_index(std::move(shown));
    index_creations_.erase(creation);
    changed();
    return version_;
  }
  return Status(ErrorCode::protocol_violation, "an index cannot go on to that state");
}

std::optional<control::IndexDescriptor> Catalog::with_parts(const control::IndexDescriptor& begun,
                                                            const control::IndexDescriptor& given) const {
  control::IndexDescriptor expected = begun;
  *expected.mutable_parts() = given.parts();
  if (expected.SerializeAsString() != given.SerializeAsString()) return std::nullopt;
  if (!check_index_parts(expected, options_.server_count).empty()) return std::nullopt;
  return expected;
}

Result<std::vector<control::IndexDescriptor>> Catalog::indexes_to_finish(
    fabric::PeerId peer, const control::FinishCreateTableRequest& request) const {
  const auto refused = [] {
    return Status(ErrorCode::protocol_violation, "the table's indexes are not those that were begun");
  };
  const auto begun = std::count_if(index_creations_.begin(), index_creations_.end(), [&](const auto& entry) {
    return entry.second.index.table() == request.table().id();
  });
  if (begun != request.indexes_size()) return refused();
  std::vector<control::IndexDescriptor> indexes;
  std::size_t bytes = encoded_bytes(request.table());
  for (const control::IndexDescriptor& given : request.indexes()) {
    const auto creation = index_creations_.find(given.id());
    const bool twice =
        std::ranges::any_of(indexes, [&](const auto& other) { return other.id() == given.id(); });
    if (creation == index_creations_.end() || creation->second.peer != peer || twice) return refused();
    auto index = with_parts(creation->second.index, given);
    if (!index || index->table() != request.table().id()) return refused();
    bytes += index->ByteSizeLong() + 2 * kFrame_bytes;
    indexes.push_back(std::move(*index));
  }
  Status room = check_room(bytes, 0, "drop tables that are not needed");
  if (!room.ok()) return room;
  return indexes;
}

Result<std::uint32_t> Catalog::drop_index(const std::string& name, bool of_constraint) {
  if (const auto* const hash = tables_.get(name); hash != nullptr && hash->has_hash_index()) {
    const std::uint32_t id = hash->id();
    Status status = check_unaltered(hash->hash_index().table());
    if (!status.ok()) return status;
    erase_hash_index(id);
    return id;
  }
  const control::IndexDescriptor* const found = indexes_.get(name);
  if (found == nullptr) {
    return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
  }
  if (found->constraint() && (!of_constraint || found->primary())) {
    return Status(ErrorCode::dependent_objects_still_exist,
                  "cannot drop index \"" + name + "\" because a constraint of its table requires it");
  }
  if (Status status = check_unaltered(found->table()); !status.ok()) return status;
  const std::uint32_t id = found->id();
  index_creations_.erase(id);
  const auto replacement = std::ranges::find_if(
      index_creations_, [&](const auto& entry) { return entry.second.index.replaces() == id; });
  if (replacement != index_creations_.end()) {
    if (indexes_beside_.contains(replacement->first)) erase_index(replacement->first);
    index_creations_.erase(replacement);
  }
  erase_index(id);
  changed();
  return id;
}

void Catalog::drop_indexes_of(std::uint32_t table) {
  std::erase_if(index_creations_, [&](const auto& entry) { return entry.second.index.table() == table; });
  std::erase_if(creations_, [&](const auto& entry) {
    return entry.second.table.has_hash_index() && entry.second.table.hash_index().table() == table;
  });
  const std::vector<std::uint32_t> indexes = indexes_of(table);
  for (const std::uint32_t id : indexes) {
    if (find_table(id) != nullptr) {
      erase_hash_index(id);
    } else {
      erase_index(id);
    }
  }
  if (!indexes.empty()) changed();
}

std::vector<std::uint32_t> Catalog::undo_index_creations(fabric::PeerId peer) {
  std::vector<std::uint32_t> undone;
  for (auto entry = index_creations_.begin(); entry != index_creations_.end();) {
    if (entry->second.peer != peer) {
      ++entry;
      continue;
    }
    undone.push_back(entry->first);
    const std::uint32_t id = entry->first;
    entry = index_creations_.erase(entry);
    if (find_index(id) == nullptr) continue;
    erase_index(id);
    changed();
  }
  for (auto entry = hash_builders_.begin(); entry != hash_builders_.end();) {
    const auto [id, builder] = *entry++;
    if (builder != peer) continue;
    undone.push_back(id);
    erase_hash_index(id);
  }
  return undone;
}

}  // namespace namdb::memory

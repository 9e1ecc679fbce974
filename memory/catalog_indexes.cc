// The catalog's part about secondary indexes.
#include <algorithm>

#include "common/layout/index_key.h"
#include "memory/catalog.h"
#include "memory/descriptor.h"

namespace namdb::memory {
namespace {

Status not_creating(std::uint32_t index) {
  return Status(ErrorCode::undefined_object, "this channel is not creating index " + std::to_string(index));
}

// One or more parts, each on a memory server, whose ranges follow each other.
bool valid_parts(const control::IndexDescriptor& index, std::uint32_t server_count) {
  if (index.parts_size() == 0 || !index.parts(0).low().empty()) return false;
  for (int i = 0; i < index.parts_size(); ++i) {
    if (index.parts(i).server() >= server_count) return false;
    if (i > 0 && index.parts(i).low() <= index.parts(i - 1).low()) return false;
  }
  return true;
}

}  // namespace

Result<control::IndexDescriptor> Catalog::begin_index(fabric::PeerId peer, control::IndexDescriptor index) {
  if (index.name().empty() || index.name().size() > kMaxName_bytes) {
    return Status(ErrorCode::invalid_table_definition, "an index's name has 1 to 255 bytes");
  }
  if (name_taken(index.name())) {
    return Status(ErrorCode::duplicate_table, "relation \"" + index.name() + "\" already exists");
  }
  const auto table = std::find_if(tables_.begin(), tables_.end(),
                                  [&](const auto& entry) { return entry.second.id() == index.table(); });
  const auto creation = creations_.find(index.table());
  const bool created_by_peer = creation != creations_.end() && creation->second.peer == peer;
  if (table == tables_.end() && !created_by_peer) {
    return Status(ErrorCode::undefined_table, "there is no table " + std::to_string(index.table()));
  }
  const auto shape = TableShape::create(created_by_peer ? creation->second.table : table->second);
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
  index.clear_parts();
  if (encoded_bytes_ + index.ByteSizeLong() + kFrame_bytes > kMaxCatalog_bytes) {
    return Status(ErrorCode::limit_exceeded, "the catalog is full", "drop what is not needed");
  }
  index.set_id(next_id_++);
  index_creations_[index.id()] = IndexCreation{peer, index};
  return index;
}

Result<std::uint64_t> Catalog::advance_index(fabric::PeerId peer,
                                             const control::AdvanceIndexRequest& request) {
  const auto creation = index_creations_.find(request.index().id());
  if (creation == index_creations_.end() || creation->second.peer != peer) {
    return not_creating(request.index().id());
  }
  control::IndexDescriptor& index = creation->second.index;
  const bool visible = indexes_.contains(index.name());
  if (request.abandon()) {
    const std::string name = index.name();
    index_creations_.erase(creation);
    if (visible) erase_index(name);
    return version_;
  }
  if (!visible && request.state() == control::INDEX_BUILDING && !creations_.contains(index.table())) {
    auto given = with_parts(index, request.index());
    if (!given || encoded_bytes_ + given->ByteSizeLong() + kFrame_bytes > kMaxCatalog_bytes) {
      return Status(ErrorCode::protocol_violation, "the index is not the one that was begun");
    }
    index = std::move(*given);
    index.set_state(control::INDEX_BUILDING);
    encoded_bytes_ += index.ByteSizeLong() + kFrame_bytes;
    indexes_[index.name()] = index;
    changed();
    return version_;
  }
  if (visible && request.state() == control::INDEX_READY) {
    control::IndexDescriptor& shown = indexes_[index.name()];
    encoded_bytes_ -= shown.ByteSizeLong();
    shown.set_state(control::INDEX_READY);
    shown.set_ready_version(version_ + 1);
    encoded_bytes_ += shown.ByteSizeLong();
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
  if (!valid_parts(expected, options_.server_count)) return std::nullopt;
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
  std::size_t bytes = encoded_bytes_ + encoded_bytes(request.table());
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
  if (bytes > kMaxCatalog_bytes) {
    return Status(ErrorCode::limit_exceeded, "the catalog is full", "drop tables that are not needed");
  }
  return indexes;
}

void Catalog::erase_index(const std::string& name) {
  const auto found = indexes_.find(name);
  encoded_bytes_ -= found->second.ByteSizeLong() + kFrame_bytes;
  indexes_.erase(found);
  changed();
}

Result<std::uint32_t> Catalog::drop_index(const std::string& name) {
  const auto found = indexes_.find(name);
  if (found == indexes_.end()) {
    return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
  }
  if (found->second.constraint()) {
    return Status(ErrorCode::feature_not_supported,
                  "cannot drop index \"" + name + "\" because a constraint of its table requires it");
  }
  const std::uint32_t id = found->second.id();
  index_creations_.erase(id);
  erase_index(name);
  return id;
}

void Catalog::drop_indexes_of(std::uint32_t table) {
  std::erase_if(index_creations_, [&](const auto& entry) { return entry.second.index.table() == table; });
  for (auto entry = indexes_.begin(); entry != indexes_.end();) {
    const auto index = entry++;
    if (index->second.table() == table) erase_index(std::string(index->first));
  }
}

std::vector<std::uint32_t> Catalog::undo_index_creations(fabric::PeerId peer) {
  std::vector<std::uint32_t> undone;
  for (auto entry = index_creations_.begin(); entry != index_creations_.end();) {
    if (entry->second.peer != peer) {
      ++entry;
      continue;
    }
    undone.push_back(entry->first);
    const std::string name = entry->second.index.name();
    entry = index_creations_.erase(entry);
    if (indexes_.contains(name)) erase_index(name);
  }
  return undone;
}

}  // namespace namdb::memory

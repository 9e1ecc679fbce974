// The catalog's part about tables whose definition changes.
#include <algorithm>
#include <set>

#include "memory/coordinator/catalog.h"

namespace namdb::memory {
namespace {

// SQL text cannot hold it.
constexpr char kHidden = '\0';

Status duplicate(const std::string& name) {
  return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
}

// The part of a descriptor that ALTER_TABLE leaves as it is.
std::string unalterable_part(control::TableDescriptor table) {
  table.clear_name();
  table.clear_checks();
  table.clear_foreign_keys();
  table.clear_bucket_base();  // news of growth may have come meanwhile
  table.clear_doublings();
  for (control::Column& column : *table.mutable_columns()) {
    column.clear_name();
    column.clear_not_null();
    column.clear_default_text();
  }
  return table.SerializeAsString();
}

}  // namespace

std::string Catalog::hidden_name(const std::string& name, std::uint32_t table) {
  return name + kHidden + std::to_string(table);
}

std::string Catalog::final_name(const std::string& hidden) {
  return hidden.substr(0, hidden.find(kHidden));
}

Status Catalog::check_unaltered(std::uint32_t table) const {
  const bool begun = std::ranges::any_of(
      creations_, [table](const auto& entry) { return entry.second.table.replaces() == table; });
  const bool finished = std::ranges::any_of(
      copiers_, [&](const auto& entry) { return find_table(entry.first)->replaces() == table; });
  if (!begun && !finished) return {};
  const control::TableDescriptor* const altered = find_table(table);
  return Status(ErrorCode::table_is_altered,
                "table \"" + (altered == nullptr ? std::string() : altered->name()) + "\" is being altered",
                "try again when ALTER TABLE has ended");
}

Status Catalog::check_replacement(const control::TableDescriptor& table) const {
  const std::uint32_t replaced = table.replaces();
  const control::TableDescriptor* const old = find_table(replaced);
  if (old == nullptr || old->has_hash_index() || old->name() != table.name() || old->replaces() != 0)
    return Status(ErrorCode::undefined_table,
                  "table \"" + table.name() + "\" was dropped or changed meanwhile");
  if (table.has_hash_index())
    return Status(ErrorCode::protocol_violation, "a table of a hash index replaces no table");
  if (Status status = check_unaltered(replaced); !status.ok()) return status;
  const bool is_built =
      std::ranges::any_of(index_creations_,
                          [replaced](const auto& entry) { return entry.second.index.table() == replaced; }) ||
      std::ranges::any_of(
          creations_,
          [replaced](const auto& entry) { return entry.second.table.hash_index().table() == replaced; }) ||
      std::ranges::any_of(hash_builders_, [&](const auto& entry) {
        return find_table(entry.first)->hash_index().table() == replaced;
      });
  if (!is_built) return {};
  return Status(ErrorCode::table_is_altered, "an index of table \"" + table.name() + "\" is being built",
                "try again when that has ended");
}

std::uint32_t Catalog::final_table(std::uint32_t table) const {
  const control::TableDescriptor* found = find_table(table);
  if (const auto creation = creations_.find(table); creation != creations_.end())
    found = &creation->second.table;
  return found != nullptr && found->replaces() != 0 ? found->replaces() : table;
}

bool Catalog::name_taken_beside(const std::string& name, std::uint32_t replaced) const {
  if (const control::TableDescriptor* const table = tables_.get(name))
    return table->id() != replaced && table->hash_index().table() != replaced;
  if (const control::IndexDescriptor* const index = indexes_.get(name)) return index->table() != replaced;
  return name_taken(name);
}

Status Catalog::check_index_name(const std::string& name, std::uint32_t table) const {
  const std::uint32_t final = final_table(table);
  if (final == table) {
    if (name_taken(name)) return duplicate(name);
    return check_unaltered(table);
  }
  if (name_taken_beside(name, final) || name_taken(hidden_name(name, table))) return duplicate(name);
  return {};
}

void Catalog::undo_replacement(std::uint32_t table) {
  copiers_.erase(table);
  change_table(find_table(table)->replaces(), [](control::TableDescriptor& old) { old.clear_frozen(); });
  erase_table(table);
  drop_indexes_of(table);
  changed();
}

Result<std::uint32_t> Catalog::replace_table(fabric::PeerId peer, std::uint32_t table) {
  const auto copier = copiers_.find(table);
  if (copier == copiers_.end() || copier->second != peer)
    return Status(ErrorCode::undefined_table, "this channel is not copying table " + std::to_string(table));
  const std::uint32_t old = find_table(table)->replaces();
  std::set<std::string> names;
  for (const std::uint32_t id : indexes_of(table)) {
    const control::TableDescriptor* const entries = find_table(id);
    if (entries != nullptr) names.insert(final_name(entries->name()));
    if (entries != nullptr) continue;
    const control::IndexDescriptor& index = *find_index(id);
    if (is_beside(index)) continue;
    names.insert(final_name(index.name()));
    if (index.state() != control::INDEX_READY)
      return Status(ErrorCode::protocol_violation, "an index of the new table is not ready");
  }
  for (const std::string& name : names) {
    if (name_taken_beside(name, old)) return duplicate(name);
  }
  copiers_.erase(copier);
  erase_table(old);
  drop_indexes_of(old);
  show_replacement(table);
  move_rights(old, table);
  change_references(old, [table](control::ForeignKey& key) { key.set_references(table); });
  changed();
  return old;
}

void Catalog::show_replacement(std::uint32_t table) {
  const std::uint64_t version = version_ + 1;
  const auto show_table = [version](control::TableDescriptor& shown) {
    shown.set_name(final_name(shown.name()));
    shown.clear_replaces();
    if (shown.has_hash_index()) {
      shown.mutable_hash_index()->set_ready_version(version);
    } else {
      shown.set_ready_version(version);
    }
    shown.set_altered_version(version);
  };
  change_table(table, show_table);
  for (const std::uint32_t id : indexes_of(table)) {
    if (find_table(id) != nullptr) {
      change_table(id, show_table);
      continue;
    }
    control::IndexDescriptor shown = *find_index(id);
    if (is_beside(shown)) continue;
    shown.set_name(final_name(shown.name()));
    shown.set_ready_version(version);
    put_index(std::move(shown));
  }
}

Result<std::uint64_t> Catalog::alter(const control::AlterTableRequest& request) {
  const control::TableDescriptor& wanted = request.table();
  const control::TableDescriptor* const current = find_table(wanted.id());
  if (current == nullptr || current->has_hash_index() || current->replaces() != 0)
    return Status(ErrorCode::undefined_table, "there is no table " + std::to_string(wanted.id()));
  if (Status status = check_unaltered(wanted.id()); !status.ok()) return status;
  if (wanted.altered_version() != current->altered_version())
    return Status(ErrorCode::table_is_altered, "table \"" + current->name() + "\" was altered meanwhile");
  if (unalterable_part(wanted) != unalterable_part(*current))
    return Status(ErrorCode::protocol_violation, "ALTER_TABLE would change more than it can");
  if (wanted.name().empty() || wanted.name().size() > kMaxName_bytes)
    return Status(ErrorCode::invalid_table_definition, "a table's name has 1 to 255 bytes");
  if (wanted.name() != current->name() && name_taken(wanted.name())) return duplicate(wanted.name());
  std::set<std::string> names = {wanted.name()};
  for (const control::IndexDescriptor& renamed : request.indexes()) {
    const control::IndexDescriptor* const index = find_index(renamed.id());
    const control::TableDescriptor* const entries = find_table(renamed.id());
    const bool is_hash = entries != nullptr && entries->hash_index().table() == wanted.id();
    if (!is_hash && (index == nullptr || is_beside(*index) || index->table() != wanted.id()))
      return Status(ErrorCode::undefined_object, "there is no index " + std::to_string(renamed.id()));
    const bool is_building =
        is_hash ? hash_builders_.contains(renamed.id()) : index->state() != control::INDEX_READY;
    const bool is_rebuilt = std::ranges::any_of(
        index_creations_, [&](const auto& entry) { return entry.second.index.replaces() == renamed.id(); });
    if (is_building || is_rebuilt)
      return Status(ErrorCode::table_is_altered, "the index is being built", "try again when that has ended");
    if (renamed.name().empty() || renamed.name().size() > kMaxName_bytes || name_taken(renamed.name()) ||
        !names.insert(renamed.name()).second)
      return duplicate(renamed.name());
  }
  if (Status status = check_foreign_keys(wanted.foreign_keys(), current->foreign_keys()); !status.ok())
    return status;
  const control::TableDescriptor before = *current;
  control::TableDescriptor altered = *current;
  altered.set_name(wanted.name());
  *altered.mutable_columns() = wanted.columns();
  *altered.mutable_checks() = wanted.checks();
  *altered.mutable_foreign_keys() = wanted.foreign_keys();
  altered.set_altered_version(version_ + 1);
  Status room = check_room(encoded_bytes(altered), 0, "drop tables that are not needed");
  if (!room.ok()) return room;
  put_table(std::move(altered));
  touch_referenced(wanted.foreign_keys(), before.foreign_keys());
  std::map<std::string, std::string> renamed_columns;
  for (int i = 0; i < wanted.columns_size(); ++i) {
    if (wanted.columns(i).name() != before.columns(i).name())
      renamed_columns[before.columns(i).name()] = wanted.columns(i).name();
  }
  if (!renamed_columns.empty()) {
    change_references(before.id(), [&](control::ForeignKey& key) {
      for (std::string& column : *key.mutable_referenced()) {
        const auto renamed = renamed_columns.find(column);
        if (renamed != renamed_columns.end()) column = renamed->second;
      }
    });
  }
  for (const control::IndexDescriptor& renamed : request.indexes()) rename_index(renamed);
  changed();
  return version_;
}

void Catalog::rename_index(const control::IndexDescriptor& renamed) {
  if (find_table(renamed.id()) != nullptr) {
    change_table(renamed.id(),
                 [&renamed](control::TableDescriptor& shown) { shown.set_name(renamed.name()); });
    return;
  }
  control::IndexDescriptor shown = *find_index(renamed.id());
  shown.set_name(renamed.name());
  put_index(std::move(shown));
}

}  // namespace namdb::memory

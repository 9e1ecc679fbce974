#include "compute/sql/session/temporary_tables.h"

#include <algorithm>

#include "compute/sql/catalog/temporary_name.h"

namespace namdb::sql {
namespace {

bool has_index_named(const storage::Table& table, std::string_view name) {
  return std::ranges::any_of(table.indexes, [name](const storage::IndexRef& index) {
    return without_prefix(index->name) == name && !index->replaced();
  });
}

}  // namespace

bool TemporaryTables::has_table(std::string_view name) const {
  const std::string stored = prefix_ + std::string(name);
  if (block_.dropped.contains(stored)) return false;
  const auto own = tables_.find(name);
  if (own != tables_.end() && !own->second.dropped_in_block) return true;
  return engine_.cached_table(stored) != nullptr;
}

bool TemporaryTables::has_index(std::string_view name) const {
  if (block_.dropped.contains(prefix_ + std::string(name))) return false;
  for (const storage::TableRef& table : engine_.cached_tables()) {
    if (!table->name.starts_with(prefix_) || block_.dropped.contains(table->name)) continue;
    if (has_index_named(*table, name)) return true;
  }
  return std::ranges::any_of(tables_, [&](const auto& entry) {
    const TemporaryTable& table = entry.second;
    return is_gone(table) && !table.dropped_in_block && !block_.dropped.contains(table.stored_name) &&
           table.seen != nullptr && has_index_named(*table.seen, name);
  });
}

void TemporaryTables::begin(std::string prefix, std::shared_ptr<const txn::SlotLease> lease) {
  ++changes_;
  prefix_ = std::move(prefix);
  lease_ = std::move(lease);
  sweep_is_due_ = true;
}

void TemporaryTables::look() {
  for (auto& [name, table] : tables_) {
    if (storage::TableRef there = engine_.cached_table(table.stored_name)) table.seen = std::move(there);
  }
}

bool TemporaryTables::is_gone(const TemporaryTable& table) const {
  return !table.stored_name.starts_with(prefix_) || engine_.cached_table(table.stored_name) == nullptr;
}

void TemporaryTables::note(const std::string& stored_name, bool is_emptied) {
  if (prefix_.empty() || !stored_name.starts_with(prefix_)) return;
  ++changes_;
  tables_.insert_or_assign(std::string(without_prefix(stored_name)),
                           TemporaryTable{stored_name, engine_.cached_table(stored_name), false, is_emptied});
}

void TemporaryTables::forget(const std::string& stored_name) {
  std::erase(of_block_, stored_name);
  const auto own = tables_.find(without_prefix(stored_name));
  if (own == tables_.end()) return;
  ++changes_;
  // The statement that drops a table that is gone names it by the prefix of now.
  const bool is_named = stored_name.starts_with(prefix_) && is_gone(own->second);
  if (own->second.stored_name == stored_name || is_named) tables_.erase(own);
}

std::vector<std::string> TemporaryTables::stored_names() const {
  std::vector<std::string> names;
  if (prefix_.empty()) return names;
  for (const storage::TableRef& table : engine_.cached_tables()) {
    if (table->name.starts_with(prefix_) && table->replaces == 0) names.push_back(table->name);
  }
  return names;
}

std::shared_ptr<const TemporaryTable> TemporaryTables::replaced_by(const std::string& stored_name) const {
  if (prefix_.empty() || !stored_name.starts_with(prefix_)) return nullptr;
  const auto own = tables_.find(without_prefix(stored_name));
  if (own == tables_.end() || !is_gone(own->second)) return nullptr;
  return std::make_shared<const TemporaryTable>(own->second);
}

void TemporaryTables::put_back(const TemporaryTable* replaced) {
  if (replaced == nullptr) return;
  ++changes_;
  tables_.insert_or_assign(std::string(without_prefix(replaced->stored_name)), *replaced);
}

std::vector<storage::TableRef> TemporaryTables::emptied() const {
  std::vector<storage::TableRef> found;
  for (const auto& [name, table] : tables_) {
    storage::TableRef there = table.is_emptied ? engine_.cached_table(table.stored_name) : nullptr;
    if (there != nullptr) found.push_back(std::move(there));
  }
  return found;
}

void TemporaryTables::note_writes(std::span<const std::uint32_t> tables) {
  if (has_writes_ || tables_.empty()) return;
  has_writes_ = std::ranges::any_of(emptied(), [tables](const storage::TableRef& table) {
    return std::ranges::find(tables, table->id) != tables.end();
  });
}

std::vector<storage::TableRef> TemporaryTables::take_emptied() {
  return std::exchange(has_writes_, false) ? emptied() : std::vector<storage::TableRef>();
}

Status TemporaryTables::check_references(std::string_view table, const std::vector<storage::ForeignKey>& keys,
                                         bool is_emptied, std::string& detail) const {
  if (is_emptied || keys.empty()) return {};
  for (const storage::TableRef& parent : emptied()) {
    if (std::ranges::find(keys, parent->id, &storage::ForeignKey::references) == keys.end()) continue;
    detail = "Table \"" + std::string(without_prefix(table)) + "\" references \"" +
             std::string(without_prefix(parent->name)) +
             "\", but they do not have the same ON COMMIT setting.";
    return Status(ErrorCode::feature_not_supported, "unsupported ON COMMIT and foreign key combination");
  }
  return {};
}

void TemporaryTables::drop_gone(const std::string& stored_name) {
  const auto own = tables_.find(without_prefix(stored_name));
  if (own == tables_.end() || !is_temporary(stored_name)) return;
  ++changes_;
  own->second.dropped_in_block = true;
}

void TemporaryTables::forget_dropped_gone() {
  std::erase_if(tables_, [](const auto& entry) { return entry.second.dropped_in_block; });
}

std::set<std::string> TemporaryTables::dropped_gone() const {
  std::set<std::string> names;
  for (const auto& [name, table] : tables_) {
    if (table.dropped_in_block) names.insert(name);
  }
  return names;
}

void TemporaryTables::restore_gone(const std::set<std::string>& dropped) {
  for (auto& [name, table] : tables_) {
    const bool is_restored = table.dropped_in_block && !dropped.contains(name);
    if (!is_restored) continue;
    ++changes_;
    table.dropped_in_block = false;
  }
}

}  // namespace namdb::sql

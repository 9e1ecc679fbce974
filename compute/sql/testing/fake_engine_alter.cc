// Changes of tables in the fake engine.
#include <algorithm>
#include <optional>
#include <utility>

#include "compute/api/table_change.h"
#include "compute/api/transaction_facts.h"
#include "compute/sql/testing/fake_engine.h"

namespace namdb::sql::testing {

using reactor::Task;
using storage::TableRef;

Task<Status> FakeEngine::alter_table(txn::TableAlteration alteration) {
  const auto found = tables_.find(alteration.table->name);
  if (found == tables_.end() || found->second->id != alteration.table->id)
    co_return Status(ErrorCode::table_is_altered, "the table was dropped meanwhile");
  if (alteration.name != alteration.table->name && taken(alteration.name))
    co_return Status(ErrorCode::duplicate_table, "relation \"" + alteration.name + "\" already exists");
  for (const auto& [id, name] : alteration.index_names) {
    if (taken(name)) co_return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
  }
  auto schema = layout::Schema::create(std::move(alteration.columns), found->second->schema.key(),
                                       found->second->schema.partition());
  if (!schema.ok()) co_return schema.status();
  auto table = std::make_shared<storage::Table>(*found->second);
  table->name = alteration.name;
  table->schema = std::move(*schema);
  table->checks = std::move(alteration.checks);
  table->foreign_keys = std::move(alteration.foreign_keys);
  for (storage::IndexRef& index : table->indexes) {
    const auto renamed = alteration.index_names.find(index->id);
    if (renamed == alteration.index_names.end()) continue;
    auto copy = std::make_shared<storage::Index>(*index);
    copy->name = renamed->second;
    index = std::move(copy);
  }
  former_tables_.push_back(found->second);
  const TableRef before = found->second;
  tables_.erase(found);
  tables_.emplace(table->name, table);
  change_references(table->id, [&](storage::ForeignKey& key) {
    for (std::string& column : key.referenced) {
      const std::optional<std::uint32_t> position = before->schema.find(column);
      if (position) column = table->schema.columns()[*position].name;
    }
  });
  ++catalog_version_;
  co_return Status();
}

Task<Status> FakeEngine::replace_table(txn::TableReplacement replacement) {
  const std::string name = replacement.definition.name;
  const auto found = tables_.find(name);
  if (found == tables_.end() || found->second->id != replacement.table->id)
    co_return Status(ErrorCode::table_is_altered, "the table was dropped meanwhile");
  const TableRef old = found->second;
  std::vector<layout::Row> rows;
  for (const auto& [key, bytes] : latest(old->id)) rows.emplace_back(old->schema, bytes);
  std::vector<std::vector<std::byte>> changed;
  if (replacement.rows != nullptr) {
    Status status = co_await replacement.rows->change(&rows, &changed);
    if (!status.ok()) co_return status;
  }
  tables_.erase(found);
  former_tables_.push_back(old);
  Status status = fill_table(replacement, changed);
  if (!status.ok()) {
    tables_.erase(name);
    tables_.emplace(name, old);
    co_return status;
  }
  data_.erase(old->id);
  std::vector<storage::ObjectRights> rights = roles_->rights();
  for (storage::ObjectRights& each : rights) {
    if (each.object.table == old->id) each.object.table = tables_.find(name)->second->id;
  }
  set_roles(roles_->all(), std::move(rights));
  const std::uint32_t id = tables_.find(name)->second->id;
  change_references(old->id, [id](storage::ForeignKey& key) { key.references = id; });
  co_return Status();
}

void FakeEngine::change_references(std::uint32_t table,
                                   const std::function<void(storage::ForeignKey&)>& change) {
  for (auto& [name, other] : tables_) {
    if (std::ranges::count(other->foreign_keys, table, &storage::ForeignKey::references) == 0) continue;
    auto changed = std::make_shared<storage::Table>(*other);
    for (storage::ForeignKey& key : changed->foreign_keys) {
      if (key.references == table) change(key);
    }
    former_tables_.push_back(other);
    other = std::move(changed);
  }
}

Status FakeEngine::fill_table(const txn::TableReplacement& replacement,
                              const std::vector<std::vector<std::byte>>& rows) {
  const std::string& name = replacement.definition.name;
  if (Status status = add_table(replacement.definition); !status.ok()) return status;
  const TableRef table = tables_.find(name)->second;
  Rows& data = data_[table->id];
  ++clock_;
  for (const std::vector<std::byte>& row : rows) {
    const std::span<const std::byte> key = layout::RowView(table->schema, row).key();
    std::vector<Version>& versions = data[{key.begin(), key.end()}];
    if (!versions.empty() && replacement.violation != nullptr) {
      const std::span<const std::uint32_t> columns = table->schema.key();
      *replacement.violation = {table, table->primary_key_name(), {columns.begin(), columns.end()}, row};
    }
    if (!versions.empty())
      return Status(ErrorCode::duplicate_key,
                    "could not create unique index \"" + table->primary_key_name() + "\"");
    versions.push_back({clock_, false, row});
  }
  if (Status status = add_constraints(replacement.definition, replacement.violation); !status.ok())
    return status;
  for (const txn::IndexDefinition& index : replacement.indexes) {
    txn::IndexDefinition definition = index;
    definition.table = name;
    definition.violation = replacement.violation;
    if (Status status = add_index(definition, Constraint::none); !status.ok()) return status;
  }
  return {};
}

}  // namespace namdb::sql::testing

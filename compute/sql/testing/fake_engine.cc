#include "compute/sql/testing/fake_engine.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compute/api/transaction_facts.h"

namespace namdb::sql::testing {

using reactor::Task;
using storage::TableRef;

class FakeLease final : public txn::SlotLease {
 public:
  explicit FakeLease(const FakeEngine& engine) : engine_(engine), slot_(engine.slot_) {}
  std::uint32_t slot() const override { return slot_; }
  bool ended() const override { return slot_ != engine_.slot_; }

 private:
  const FakeEngine& engine_;
  std::uint32_t slot_;
};

Task<Result<std::shared_ptr<const txn::SlotLease>>> FakeEngine::lease_slot() {
  ++leases_;
  co_return std::shared_ptr<const txn::SlotLease>(std::make_shared<FakeLease>(*this));
}

const FakeEngine::Version* FakeEngine::visible(std::uint32_t table, const std::vector<std::byte>& key,
                                               std::uint64_t snapshot) const {
  const auto rows = data_.find(table);
  if (rows == data_.end()) return nullptr;
  const auto versions = rows->second.find(key);
  if (versions == rows->second.end()) return nullptr;
  for (auto version = versions->second.rbegin(); version != versions->second.rend(); ++version) {
    if (version->committed <= snapshot) return version->deleted ? nullptr : &*version;
  }
  return nullptr;
}

std::map<std::vector<std::byte>, std::vector<std::byte>> FakeEngine::latest(std::uint32_t table) const {
  std::map<std::vector<std::byte>, std::vector<std::byte>> rows;
  const auto found = data_.find(table);
  if (found == data_.end()) return rows;
  for (const auto& [key, versions] : found->second) {
    if (!versions.empty() && !versions.back().deleted) rows[key] = versions.back().row;
  }
  return rows;
}

bool FakeEngine::taken(std::string_view name) const {
  return routines_.contains(storage::view_key(name)) || std::ranges::any_of(tables_, [&](const auto& entry) {
           return entry.first == name || std::ranges::any_of(entry.second->indexes, [&](const auto& index) {
                    return index->name == name;
                  });
         });
}

TableRef FakeEngine::cached_table(std::string_view name) {
  const auto table = tables_.find(name);
  return table == tables_.end() ? nullptr : table->second;
}

Task<Result<TableRef>> FakeEngine::table(std::string name) {
  TableRef table = cached_table(name);
  if (table == nullptr)
    co_return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
  co_return table;
}

std::vector<TableRef> FakeEngine::cached_tables() const {
  std::vector<TableRef> all;
  for (const auto& [name, table] : tables_) all.push_back(table);
  return all;
}

Task<Result<std::vector<TableRef>>> FakeEngine::tables() {
  co_return cached_tables();
}

Task<Status> FakeEngine::create_table(txn::TableDefinition definition) {
  Status status = add_table(definition);
  if (!status.ok()) co_return status;
  status = add_constraints(definition, nullptr);
  if (!status.ok()) tables_.erase(definition.name);
  co_return status;
}

Status FakeEngine::add_table(const txn::TableDefinition& definition) {
  const std::string& name = definition.name;
  if (taken(name)) return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
  auto table = std::make_shared<storage::Table>();
  table->id = next_table_++;
  table->name = name;
  table->schema = definition.schema;
  table->size_hint_rows = definition.size_hint_rows;
  table->checks = definition.checks;
  const std::uint32_t id = table->id;
  table->foreign_keys = definition.foreign_keys;
  tables_.emplace(name, std::move(table));
  ++catalog_version_;
  own({storage::ObjectKind::table, id, {}}, definition.owner);
  return {};
}

Status FakeEngine::add_constraints(const txn::TableDefinition& definition, txn::Violation* violation) {
  const std::string& name = definition.name;
  if (!definition.ordered_key.empty()) {
    txn::IndexDefinition index{definition.ordered_key, name, {}};
    for (const std::uint32_t column : tables_.find(name)->second->schema.key())
      index.columns.push_back({column, false});
    Status status = add_index(index, Constraint::primary_key);
    if (!status.ok()) return status;
  }
  for (const txn::UniqueConstraint& constraint : definition.unique) {
    txn::IndexDefinition index{constraint.name, name, {}, true};
    index.violation = violation;
    for (const std::uint32_t column : constraint.columns) index.columns.push_back({column, false});
    Status status = add_index(index, Constraint::unique);
    if (!status.ok()) return status;
  }
  return {};
}

Task<Status> FakeEngine::drop_table(std::string name) {
  const auto table = tables_.find(name);
  if (table == tables_.end())
    co_return Status(ErrorCode::undefined_table, "table \"" + name + "\" does not exist");
  const std::uint32_t id = table->second->id;
  for (const auto& [other_name, other] : tables_) {
    const bool references =
        other->id != id && std::ranges::count(other->foreign_keys, id, &storage::ForeignKey::references) != 0;
    if (references)
      co_return Status(ErrorCode::dependent_objects_still_exist, "another table references \"" + name + "\"");
  }
  data_.erase(id);
  disown({storage::ObjectKind::table, id, {}});
  tables_.erase(table);
  ++catalog_version_;
  co_return Status();
}

Task<Status> FakeEngine::create_index(txn::IndexDefinition definition) {
  co_return add_index(definition, definition.constraint ? Constraint::unique : Constraint::none);
}

Status FakeEngine::add_index(const txn::IndexDefinition& definition, Constraint constraint) {
  const auto found = tables_.find(definition.table);
  if (found == tables_.end())
    return Status(ErrorCode::undefined_table, "relation \"" + definition.table + "\" does not exist");
  if (taken(definition.name))
    return Status(ErrorCode::duplicate_table, "relation \"" + definition.name + "\" already exists");
  auto table = std::make_shared<storage::Table>(*found->second);
  auto index = std::make_shared<storage::Index>();
  auto shape = layout::IndexShape::create(table->schema, definition.columns);
  if (!shape.ok()) return shape.status();
  if (definition.unique) {
    std::set<std::string> seen;
    for (const auto& [primary, bytes] : latest(table->id)) {
      const layout::RowView row(table->schema, bytes);
      const layout::IndexKey key = layout::index_key(*shape, row);
      if (!key.has_null && !seen.insert(std::string(key.declared())).second) {
        index->name = definition.name;
        index->shape = *shape;
        if (definition.violation != nullptr)
          *definition.violation = txn::violation_of(found->second, *index, row);
        return Status(ErrorCode::duplicate_key, "could not create unique index \"" + definition.name + "\"");
      }
    }
  }
  index->id = next_table_++;
  index->name = definition.name;
  index->unique = definition.unique;
  index->hash = definition.hash;
  index->constraint = constraint != Constraint::none;
  index->primary = constraint == Constraint::primary_key;
  index->ready_version = ++catalog_version_;
  index->shape = std::move(*shape);
  index->parts.push_back({});
  // The others' shapes borrow the former object's schema.
  former_tables_.push_back(found->second);
  table->indexes.push_back(std::move(index));
  found->second = std::move(table);
  return {};
}

void FakeEngine::clear_indexes(std::string_view table) {
  std::const_pointer_cast<storage::Table>(tables_.find(table)->second)->indexes.clear();
  ++catalog_version_;
}

Task<Status> FakeEngine::rebuild_index(std::string name) {
  for (auto& [table_name, known] : tables_) {
    const auto found = std::ranges::find(known->indexes, name, [](const auto& index) { return index->name; });
    if (found == known->indexes.end()) continue;
    auto table = std::make_shared<storage::Table>(*known);
    auto index = std::make_shared<storage::Index>(**found);
    std::erase_if(table->indexes, [&](const auto& other) { return other->name == name; });
    index->id = next_table_++;
    index->ready_version = ++catalog_version_;
    table->indexes.push_back(std::move(index));
    former_tables_.push_back(known);
    known = std::move(table);
    co_return Status();
  }
  co_return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
}

Task<Status> FakeEngine::drop_index(std::string name, bool /*constraint*/) {
  for (auto& [table_name, known] : tables_) {
    auto table = std::make_shared<storage::Table>(*known);
    if (std::erase_if(table->indexes, [&](const auto& index) { return index->name == name; }) == 0) continue;
    former_tables_.push_back(known);
    known = std::move(table);
    ++catalog_version_;
    co_return Status();
  }
  co_return Status(ErrorCode::undefined_object, "index \"" + name + "\" does not exist");
}

Task<void> FakeEngine::backoff(std::uint32_t) {
  ++backoffs_;
  most_open_at_backoff_ = std::max(most_open_at_backoff_, open_transactions_);
  co_await executor_.sleep_for(retry_.first_backoff_ns);
}

}  // namespace namdb::sql::testing

#include "compute/cluster/catalog_cache.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/layout/hash_entry.h"
#include "common/layout/index_page.h"
#include "compute/cluster/role_descriptors.h"
#include "proto/control.pb.h"

namespace namdb::txn {

using storage::TableRef;

namespace {

// Outside input; nullopt when it makes no sense.
std::optional<storage::ForeignKey> foreign_key_from_descriptor(const control::ForeignKey& descriptor,
                                                               const layout::Schema& schema) {
  if (descriptor.columns_size() == 0 || descriptor.columns_size() != descriptor.referenced_size() ||
      descriptor.on_delete() >= storage::kForeignKeyActions ||
      descriptor.on_update() >= storage::kForeignKeyActions) {
    return std::nullopt;
  }
  for (const std::string& column : descriptor.columns()) {
    if (!schema.find(column)) return std::nullopt;
  }
  storage::ForeignKey key;
  key.name = descriptor.name();
  key.columns.assign(descriptor.columns().begin(), descriptor.columns().end());
  key.references = descriptor.references();
  key.referenced.assign(descriptor.referenced().begin(), descriptor.referenced().end());
  key.on_delete = static_cast<storage::ForeignKeyAction>(descriptor.on_delete());
  key.on_update = static_cast<storage::ForeignKeyAction>(descriptor.on_update());
  key.match_full = descriptor.match_full();
  key.deferrable = descriptor.deferrable();
  key.initially_deferred = descriptor.initially_deferred();
  key.not_valid = descriptor.not_valid();
  key.unsettled = descriptor.unsettled();
  return key;
}

}  // namespace

Result<std::shared_ptr<storage::Table>> table_from_descriptor(const control::TableDescriptor& descriptor,
                                                              std::size_t server_count) {
  constexpr std::uint64_t kMaxBuckets = layout::GlobalAddress::kOffsetMask / layout::kBucket_bytes;
  const auto unsound = [&descriptor] {
    return Status(ErrorCode::corrupt_data,
                  "the catalog's entry of table \"" + descriptor.name() + "\" makes no sense");
  };
  std::vector<layout::Column> columns;
  for (const control::Column& source : descriptor.columns()) {
    const auto type = layout::column_type_from_code(source.type());
    // An array of strings keeps the length of its elements there.
    const std::uint32_t most_digits = type == layout::ColumnType::decimal         ? 38
                                      : type == layout::ColumnType::varchar_array ? 255
                                                                                  : 18;
    if (!type || source.precision() > most_digits || source.scale() > most_digits) return unsound();
    layout::Column column;
    column.name = source.name();
    column.type = *type;
    column.length_bytes = source.length_bytes();
    column.precision = static_cast<std::uint8_t>(source.precision());
    column.scale = static_cast<std::uint8_t>(source.scale());
    column.not_null = source.not_null();
    if (source.has_default_text()) column.default_text = source.default_text();
    columns.push_back(std::move(column));
  }
  auto schema = layout::Schema::create(std::move(columns), {descriptor.key().begin(), descriptor.key().end()},
                                       {descriptor.partition().begin(), descriptor.partition().end()});
  if (!schema.ok() || descriptor.id() == 0 || descriptor.ring_slots() == 0 ||
      descriptor.ring_slots() > layout::kMaxRingSlots || descriptor.buckets_per_server() == 0 ||
      descriptor.reader_words() > layout::kReaderWords ||
      (descriptor.reader_words() != 0 && !descriptor.single_version()) ||
      static_cast<std::size_t>(descriptor.bucket_base_size()) != server_count ||
      (descriptor.doublings_size() != 0 && descriptor.doublings_size() != descriptor.bucket_base_size())) {
    return unsound();
  }
  if (descriptor.has_hash_index()) {
    if (schema->partition().empty()) return unsound();
    schema->chain_by_partition();
  }
  auto table = std::make_shared<storage::Table>();
  table->id = descriptor.id();
  table->name = descriptor.name();
  table->schema = std::move(schema).value();
  table->record = {.payload_bytes = table->schema.row_bytes(),
                   .ring_slots = descriptor.single_version() ? 0 : descriptor.ring_slots(),
                   .timestamps = descriptor.timestamps(),
                   .reader_words = descriptor.reader_words()};
  table->size_hint_rows = descriptor.size_hint_rows();
  table->generation = descriptor.generation();
  for (const control::Check& check : descriptor.checks())
    table->checks.push_back({check.name(), check.expression()});
  for (const control::ForeignKey& described : descriptor.foreign_keys()) {
    std::optional<storage::ForeignKey> key = foreign_key_from_descriptor(described, table->schema);
    if (!key) return unsound();
    table->foreign_keys.push_back(*std::move(key));
  }
  table->replaces = descriptor.replaces();
  table->frozen = descriptor.frozen();
  table->ready_version = descriptor.ready_version();
  table->altered_version = descriptor.altered_version();
  for (int server = 0; server < descriptor.bucket_base_size(); ++server) {
    const std::uint32_t doublings = descriptor.doublings_size() == 0 ? 0 : descriptor.doublings(server);
    const std::uint64_t base = descriptor.bucket_base(server);
    if (doublings >= 48 || descriptor.buckets_per_server() > kMaxBuckets >> doublings || base % 8 != 0 ||
        base > layout::GlobalAddress::kOffsetMask) {
      return unsound();
    }
    table->arrays.push_back(
        {base, descriptor.buckets_per_server() << doublings, descriptor.generation() + doublings});
  }
  return table;
}

Result<storage::IndexRef> index_from_descriptor(const control::IndexDescriptor& descriptor,
                                                const storage::Table& table, std::size_t server_count) {
  const auto unsound = [&descriptor] {
    return Status(ErrorCode::corrupt_data,
                  "the catalog's entry of index \"" + descriptor.name() + "\" makes no sense");
  };
  std::vector<layout::IndexColumn> columns;
  for (const control::IndexColumn& column : descriptor.columns()) {
    columns.push_back({column.column(), column.descending()});
  }
  auto shape = layout::IndexShape::create(table.schema, std::move(columns));
  if (!shape.ok() || descriptor.id() == 0 || descriptor.parts_size() == 0 ||
      descriptor.page_bytes() < layout::kMinIndexPage_bytes ||
      descriptor.page_bytes() > layout::kMaxIndexPage_bytes || descriptor.page_bytes() % 8 != 0) {
    return unsound();
  }
  auto index = std::make_shared<storage::Index>();
  index->id = descriptor.id();
  index->table = table.id;
  index->name = descriptor.name();
  index->unique = descriptor.unique();
  index->constraint = descriptor.constraint();
  index->primary = descriptor.primary();
  if (descriptor.state() == control::INDEX_READY) index->ready_version = descriptor.ready_version();
  index->replaced_version = descriptor.replaced_version();
  index->shape = std::move(*shape);
  index->page_bytes = descriptor.page_bytes();
  for (const control::IndexPart& part : descriptor.parts()) {
    if (part.server() >= server_count || (index->parts.empty() && !part.low().empty()) ||
        (!index->parts.empty() && part.low() <= index->parts.back().low)) {
      return unsound();
    }
    index->parts.push_back({static_cast<layout::ServerId>(part.server()), part.low()});
  }
  return storage::IndexRef(std::move(index));
}

Result<storage::IndexRef> hash_index_from_descriptor(const control::TableDescriptor& descriptor,
                                                     const storage::Table& table, TableRef entries) {
  const control::HashIndex& source = descriptor.hash_index();
  std::vector<layout::IndexColumn> columns;
  for (const std::uint32_t column : source.columns()) columns.push_back({column, false});
  auto shape = layout::IndexShape::create(table.schema, std::move(columns));
  if (!shape.ok()) return shape.status();
  const auto schema = layout::hash_entry_schema(*shape, source.unique());
  if (!schema.ok() || schema->key_bytes() != entries->schema.key_bytes() ||
      schema->row_bytes() != entries->schema.row_bytes() ||
      schema->columns().size() != entries->schema.columns().size()) {
    return Status(ErrorCode::corrupt_data,
                  "the catalog's entry of index \"" + descriptor.name() + "\" makes no sense");
  }
  auto index = std::make_shared<storage::Index>();
  index->id = descriptor.id();
  index->table = table.id;
  index->name = descriptor.name();
  index->unique = source.unique();
  index->hash = true;
  index->entries = std::move(entries);
  if (source.state() == control::INDEX_READY) index->ready_version = source.ready_version();
  index->shape = std::move(*shape);
  return storage::IndexRef(std::move(index));
}

control::Column descriptor_of(const layout::Column& column) {
  control::Column descriptor;
  descriptor.set_name(column.name);
  descriptor.set_type(static_cast<std::uint32_t>(column.type));
  descriptor.set_length_bytes(column.length_bytes);
  descriptor.set_precision(column.precision);
  descriptor.set_scale(column.scale);
  descriptor.set_not_null(column.not_null);
  if (column.default_text) descriptor.set_default_text(*column.default_text);
  return descriptor;
}

control::TableDescriptor descriptor_of(const std::string& name, const layout::Schema& schema) {
  control::TableDescriptor descriptor;
  descriptor.set_name(name);
  for (const layout::Column& column : schema.columns()) *descriptor.add_columns() = descriptor_of(column);
  for (const std::uint32_t column : schema.key()) descriptor.add_key(column);
  for (const std::uint32_t column : schema.partition()) descriptor.add_partition(column);
  return descriptor;
}

bool CatalogCache::current(const storage::Table& table) const {
  const auto found = by_id_.find(table.id);
  // Another object with older arrays, of a former connection, may lead to memory that is something else now.
  if (found == by_id_.end()) return false;
  return found->second.get() == &table ||
         (found->second->arrays == table.arrays && found->second->altered_version == table.altered_version);
}

TableRef CatalogCache::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

TableRef CatalogCache::find_id(std::uint32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

bool CatalogCache::frozen(std::uint32_t table) const {
  const auto found = by_id_.find(table);
  return found != by_id_.end() && found->second->frozen;
}

TableRef CatalogCache::table_of_index(std::string_view name) const {
  for (const auto& [id, table] : by_id_) {
    for (const storage::IndexRef& index : table->indexes) {
      if (index->name == name && !index->replaced()) return table;
    }
  }
  return nullptr;
}

std::vector<TableRef> CatalogCache::all() const {
  std::vector<TableRef> tables;
  for (const auto& [name, table] : by_name_) tables.push_back(table);
  return tables;
}

storage::RoutineRef CatalogCache::find_routine(std::string_view name) const {
  const auto found = routines_.find(name);
  return found == routines_.end() ? nullptr : found->second;
}

std::vector<storage::RoutineRef> CatalogCache::routines() const {
  std::vector<storage::RoutineRef> routines;
  for (const auto& [name, routine] : routines_) routines.push_back(routine);
  return routines;
}

Result<CatalogCache::Routines> CatalogCache::routines_of(const control::GetCatalogReply& reply) const {
  Routines routines;
  for (const control::RoutineDescriptor& descriptor : reply.routines()) {
    storage::RoutineRef routine = find_routine(descriptor.name());
    if (routine == nullptr || routine->id != descriptor.id() || routine->version != descriptor.version()) {
      routine = std::make_shared<const storage::Routine>(storage::Routine{
          descriptor.id(), descriptor.name(), descriptor.definition(), descriptor.version()});
    }
    const bool sound = descriptor.id() != 0 && !descriptor.name().empty() && descriptor.version() != 0 &&
                       descriptor.version() <= reply.version();
    if (!sound || !routines.emplace(descriptor.name(), std::move(routine)).second)
      return Status(ErrorCode::corrupt_data,
                    "the catalog's entry of procedure \"" + descriptor.name() + "\" makes no sense");
  }
  return routines;
}

reactor::Task<Status> CatalogCache::refresh() {
  control::GetCatalogRequest request;
  request.set_known_version(version_);
  control::GetCatalogReply reply;
  Status status = co_await cluster_.call(0, control::GET_CATALOG, request, &reply);
  if (!status.ok()) co_return status;
  if (reply.unchanged() || reply.version() <= version_) co_return Status();
  std::map<std::string, TableRef, std::less<>> by_name;
  std::map<std::uint32_t, std::shared_ptr<storage::Table>> by_id;
  for (const control::TableDescriptor& descriptor : reply.tables()) {
    auto made = table_from_descriptor(descriptor, cluster_.server_count());
    if (!made.ok()) co_return made.status();
    std::shared_ptr<storage::Table> table = std::move(made).value();
    // Its indexes come below; nothing suspends in between.
    if (const auto known = by_id_.find(descriptor.id());
        known != by_id_.end() && known->second->generation == descriptor.generation() &&
        known->second->altered_version == descriptor.altered_version()) {
      known->second->arrays = std::move(table->arrays);
      known->second->frozen = table->frozen;
      table = known->second;
    }
    if (!descriptor.has_hash_index()) by_name.emplace(table->name, table);
    by_id.emplace(table->id, table);
  }
  std::map<std::uint32_t, std::vector<storage::IndexRef>> indexes;  // by table
  for (const control::IndexDescriptor& descriptor : reply.indexes()) {
    const auto table = by_id.find(descriptor.table());
    if (table == by_id.end()) {
      co_return Status(ErrorCode::corrupt_data, "index \"" + descriptor.name() + "\" has no table");
    }
    auto made = index_from_descriptor(descriptor, *table->second, cluster_.server_count());
    if (!made.ok()) co_return made.status();
    indexes[descriptor.table()].push_back(std::move(*made));
  }
  for (const control::TableDescriptor& descriptor : reply.tables()) {
    if (!descriptor.has_hash_index()) continue;
    const auto table = by_id.find(descriptor.hash_index().table());
    if (table == by_id.end() || table->second->schema.chained())
      co_return Status(ErrorCode::corrupt_data, "index \"" + descriptor.name() + "\" has no table");
    auto made = hash_index_from_descriptor(descriptor, *table->second, by_id[descriptor.id()]);
    if (!made.ok()) co_return made.status();
    indexes[table->first].push_back(std::move(*made));
  }
  auto routines = routines_of(reply);
  if (!routines.ok()) co_return routines.status();
  storage::RolesRef roles = roles_;
  if (version_ == 0 || roles->version() != reply.roles_version()) {
    auto read = roles_from_reply(reply);
    if (!read.ok()) co_return read.status();
    roles = *std::move(read);
  }
  for (auto& [id, table] : by_id) {
    auto& sorted = indexes[id];
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a->id < b->id; });
    table->indexes = std::move(sorted);
  }
  version_ = reply.version();
  has_foreign_keys_ =
      std::ranges::any_of(by_id, [](const auto& entry) { return !entry.second->foreign_keys.empty(); });
  has_frozen_ = std::ranges::any_of(by_id, [](const auto& entry) { return entry.second->frozen; });
  by_name_ = std::move(by_name);
  by_id_ = std::move(by_id);
  routines_ = std::move(*routines);
  roles_ = std::move(roles);
  co_return Status();
}

}  // namespace namdb::txn

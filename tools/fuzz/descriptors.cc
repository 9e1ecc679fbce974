// The target `descriptors`: messages of the catalog. The first byte of the input says which:
//   0   the reply with the catalog, as a compute server takes it: tables, indexes, roles
//   1   an entry of the control log, as a memory server reads it, applied to an empty database
//   2   a checkpoint's control state
//   3   the record of a table in a checkpoint
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/cluster/role_descriptors.h"
#include "memory/coordinator/control_state.h"
#include "proto/control.pb.h"
#include "proto/control_state.pb.h"
#include "tools/fuzz/targets.h"

namespace namdb::fuzz {
namespace {

constexpr std::size_t kServers = 2;

void read_catalog(std::string_view bytes) {
  control::GetCatalogReply reply;
  if (!reply.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  txn::RoleEntries roles;
  for (const control::RoleDescriptor& role : reply.roles()) (void)txn::add_role(role, &roles);
  for (const control::ObjectRights& rights : reply.rights()) (void)txn::add_rights(rights, &roles);
  (void)txn::roles_of(roles, reply.roles_version());
  std::map<std::uint32_t, std::shared_ptr<storage::Table>> tables;
  for (const control::TableDescriptor& descriptor : reply.tables()) {
    auto table = txn::table_from_descriptor(descriptor, kServers);
    if (table.ok()) tables[descriptor.id()] = *table;
  }
  for (const control::IndexDescriptor& descriptor : reply.indexes()) {
    const auto table = tables.find(descriptor.table());
    if (table != tables.end()) (void)txn::index_from_descriptor(descriptor, *table->second, kServers);
  }
  for (const control::TableDescriptor& descriptor : reply.tables()) {
    const auto table = tables.find(descriptor.hash_index().table());
    const auto entries = tables.find(descriptor.id());
    if (descriptor.has_hash_index() && table != tables.end() && entries != tables.end() &&
        !table->second->schema.chained())
      (void)txn::hash_index_from_descriptor(descriptor, *table->second, entries->second);
  }
}

void apply_entry(std::span<const std::byte> bytes) {
  const Result<control::ControlEntry> entry = memory::read_control_entry(bytes);
  if (!entry.ok()) return;
  control::ControlState state;
  NAMDB_CHECK(memory::apply_control_entry(state, memory::first_control_entry(memory::Options(), 5)).ok());
  if (memory::apply_control_entry(state, *entry).ok()) (void)memory::check_control_state(state);
}

template <typename Message>
std::string kind_of_message(char kind, const Message& message) {
  return kind + message.SerializeAsString();
}

}  // namespace

void run_descriptors(Bytes input) {
  if (input.empty()) return;
  const std::string_view text = as_text(input.subspan(1));
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  switch (input[0] % 4) {
    case 0:
      return read_catalog(text);
    case 1:
      return apply_entry(bytes);
    case 2:
      (void)memory::read_control_state(bytes);
      return;
    default:
      (void)memory::read_table_record(bytes);
  }
}

std::vector<std::string> descriptor_inputs() {
  std::vector<layout::Column> columns(3);
  columns[0].name = "a";
  columns[1].name = "b";
  columns[1].type = layout::ColumnType::text;
  columns[1].length_bytes = layout::kDefaultText_bytes;
  columns[1].default_text = "x";
  columns[2].name = "c";
  columns[2].type = layout::ColumnType::numeric;
  columns[2].precision = 10;
  columns[2].scale = 2;
  const layout::Schema schema = layout::Schema::create(columns, {0}).value();
  control::GetCatalogReply reply;
  reply.set_version(3);
  *reply.add_tables() = txn::descriptor_of("t", schema);
  reply.mutable_tables(0)->set_id(1);
  reply.mutable_tables(0)->set_generation(1);
  storage::Role role;
  role.id = 1;
  role.name = "visitor";
  txn::describe_role(role, reply.add_roles());
  control::ControlState state;
  const control::ControlEntry first = memory::first_control_entry(memory::Options(), 5);
  NAMDB_CHECK(memory::apply_control_entry(state, first).ok());
  return {kind_of_message(0, reply), kind_of_message(1, first), kind_of_message(2, state),
          kind_of_message(3, first)};
}

}  // namespace namdb::fuzz

#include "memory/coordinator/control_state.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/layout/bucket.h"
#include "memory/region/descriptor.h"

namespace namdb::memory {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::RepeatedPtrField;

// The first field that this program does not know, "closed.field 7" for instance; empty if there is none.
std::string unknown_field_of(const Message& message) {
  const auto& reflection = *message.GetReflection();
  const auto& unknown = reflection.GetUnknownFields(message);
  if (unknown.field_count() != 0) return "field " + std::to_string(unknown.field(0).number());
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* const field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const Message& part = field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                 : reflection.GetMessage(message, field);
      const std::string found = unknown_field_of(part);
      const std::string index = field->is_repeated() ? "[" + std::to_string(i) + "]" : std::string();
      if (!found.empty()) return field->name() + index + "." + found;
    }
  }
  return {};
}

std::string written_by(const std::string& version) {
  return "namdb " + (version.empty() ? std::string("of an unknown version") : version) + " wrote it";
}

// `what`: "control entry", for instance.
template <typename ControlMessage>
Result<ControlMessage> read_control_message(std::span<const std::byte> bytes, const std::string& what) {
  ControlMessage message;
  if (bytes.size() > INT32_MAX || !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Status(ErrorCode::corrupt_data,
                  "a " + what + " of " + std::to_string(bytes.size()) + " bytes cannot be read");
  if (message.format() == 0) return Status(ErrorCode::corrupt_data, "a " + what + " has no field format");
  const std::string hint = "use that version or a later one";
  if (message.format() > kControlFormat)
    return Status(ErrorCode::configuration,
                  "field format of a " + what + " is " + std::to_string(message.format()) +
                      ", and this program knows " + std::to_string(kControlFormat) + "; " +
                      written_by(message.written_by()),
                  hint);
  if (const std::string field = unknown_field_of(message); !field.empty())
    return Status(
        ErrorCode::configuration,
        field + " of a " + what + " is not known to this program; " + written_by(message.written_by()), hint);
  return message;
}

Status corrupt_entry(const control::ControlEntry& entry, const std::string& why) {
  return Status(ErrorCode::corrupt_data, "control entry " + std::to_string(entry.version()) +
                                             " cannot be applied: " + why + "; " +
                                             written_by(entry.written_by()));
}

Status corrupt_state(const control::ControlState& state, const std::string& field, const std::string& why) {
  return Status(ErrorCode::corrupt_data, "control state " + std::to_string(state.version()) + ", field " +
                                             field + ": " + why + "; " + written_by(state.written_by()));
}

template <typename Descriptor>
int position_of(const RepeatedPtrField<Descriptor>& sorted, std::uint32_t id) {
  const auto found =
      std::lower_bound(sorted.begin(), sorted.end(), id,
                       [](const Descriptor& other, std::uint32_t key) { return other.id() < key; });
  return static_cast<int>(found - sorted.begin());
}

template <typename Descriptor>
bool holds(const RepeatedPtrField<Descriptor>& sorted, std::uint32_t id) {
  const int position = position_of(sorted, id);
  return position < sorted.size() && sorted[position].id() == id;
}

template <typename Descriptor>
void place(RepeatedPtrField<Descriptor>& sorted, const Descriptor& added) {
  const int position = position_of(sorted, added.id());
  if (position < sorted.size() && sorted[position].id() == added.id()) {
    sorted[position] = added;
    return;
  }
  *sorted.Add() = added;
  for (int i = sorted.size() - 1; i > position; --i) sorted.SwapElements(i, i - 1);
}

template <typename Descriptor>
bool take_out(RepeatedPtrField<Descriptor>& sorted, std::uint32_t id) {
  if (!holds(sorted, id)) return false;
  sorted.DeleteSubrange(position_of(sorted, id), 1);
  return true;
}

void place_closed(control::ClosedSlots& closed, std::uint32_t slot, std::uint32_t final_counter) {
  auto& slots = *closed.mutable_slots();
  auto& counters = *closed.mutable_final_counters();
  const auto found = std::lower_bound(slots.begin(), slots.end(), slot);
  int position = static_cast<int>(found - slots.begin());
  if (found != slots.end() && *found == slot) {
    counters[position] = final_counter;
    return;
  }
  slots.Add(slot);
  counters.Add(final_counter);
  for (int i = slots.size() - 1; i > position; --i) {
    slots.SwapElements(i, i - 1);
    counters.SwapElements(i, i - 1);
  }
}

std::string check_table(const control::TableDescriptor& table, std::uint32_t server_count) {
  const auto shape = TableShape::create(table);
  if (!shape.ok()) return shape.status().message();
  if (table.name().empty()) return "it has no name";
  if (table.generation() == 0) return "it has no generation";
  if (static_cast<std::uint32_t>(table.bucket_base_size()) != server_count)
    return "bucket_base is not one for each memory server";
  if (table.doublings_size() != 0 && static_cast<std::uint32_t>(table.doublings_size()) != server_count)
    return "doublings is not one for each memory server";
  for (const std::uint32_t doublings : table.doublings()) {
    if (!TableShape::valid_buckets(table.buckets_per_server(), doublings)) return "doublings is too large";
  }
  for (const std::uint64_t base : table.bucket_base()) {
    if (base % 8 != 0 || base > layout::GlobalAddress::kOffsetMask) return "bucket_base is no offset";
  }
  const control::IndexState state = table.hash_index().state();
  if (table.has_hash_index() && state != control::INDEX_BUILDING && state != control::INDEX_READY)
    return "hash_index.state is " + std::to_string(static_cast<int>(state));
  return {};
}

std::string check_index(const control::IndexDescriptor& index, std::uint32_t server_count) {
  if (index.name().empty()) return "it has no name";
  if (index.state() != control::INDEX_BUILDING && index.state() != control::INDEX_READY)
    return "state is " + std::to_string(static_cast<int>(index.state()));
  return check_index_parts(index, server_count);
}

template <typename Descriptor>
std::string check_ids(const RepeatedPtrField<Descriptor>& sorted, std::uint32_t next_id) {
  std::uint32_t previous = 0;
  for (const Descriptor& descriptor : sorted) {
    if (descriptor.id() <= previous) return "ids do not ascend at " + std::to_string(descriptor.id());
    if (descriptor.id() >= next_id) return "id " + std::to_string(descriptor.id()) + " is not below its mark";
    previous = descriptor.id();
  }
  return {};
}

// A name that two visible relations have; indexes that are built anew or replaced share another one's.
std::string name_twice(const control::ControlState& state) {
  std::set<std::string> names;
  for (const control::TableDescriptor& table : state.tables()) {
    if (!names.insert(table.name()).second) return table.name();
  }
  for (const control::IndexDescriptor& index : state.indexes()) {
    if (index.replaces() != 0 || index.replaced_version() != 0) continue;
    if (!names.insert(index.name()).second) return index.name();
  }
  return {};
}

Status check_settings_field(const control::ControlState& state) {
  const control::DatabaseSettings& settings = state.settings();
  if (settings.database_id() == 0) return corrupt_state(state, "settings.database_id", "it is 0");
  if (settings.server_count() == 0 || settings.server_count() > UINT16_MAX)
    return corrupt_state(state, "settings.server_count", "it is " + std::to_string(settings.server_count()));
  if (protocol::find_protocol(settings.protocol()) == nullptr)
    return corrupt_state(state, "settings.protocol", "there is no protocol \"" + settings.protocol() + "\"");
  if (!protocol::StageCode::parse(settings.stages()))
    return corrupt_state(state, "settings.stages", "\"" + settings.stages() + "\" is no stage code");
  if (!layout::find_vector_spread(settings.timestamp_vector()))
    return corrupt_state(state, "settings.timestamp_vector", "it is \"" + settings.timestamp_vector() + "\"");
  return Status();
}

Status check_routines(const control::ControlState& state) {
  if (const std::string why = check_ids(state.routines(), state.marks().next_table()); !why.empty())
    return corrupt_state(state, "routines", why);
  std::set<std::string> names;
  for (const control::RoutineDescriptor& routine : state.routines()) {
    const std::string field = "routines, \"" + routine.name() + "\"";
    if (routine.name().empty()) return corrupt_state(state, field, "it has no name");
    if (!names.insert(routine.name()).second) return corrupt_state(state, field, "the name comes twice");
    if (routine.version() == 0 || routine.version() > state.catalog_version())
      return corrupt_state(state, field, "version is " + std::to_string(routine.version()));
    if (holds(state.tables(), routine.id())) return corrupt_state(state, field, "id is a table's");
    if (holds(state.indexes(), routine.id())) return corrupt_state(state, field, "id is an index's");
  }
  return Status();
}

template <typename Field>
Status corrupt_names(const control::ControlState& state, const std::string& field, const Field& ids) {
  for (const std::uint32_t id : ids) {
    if (id != 0 && !holds(state.roles(), id))
      return corrupt_state(state, field, "it names role " + std::to_string(id) + ", which is not there");
  }
  return Status();
}

Status check_roles(const control::ControlState& state) {
  if (const std::string why = check_ids(state.roles(), state.marks().next_table()); !why.empty())
    return corrupt_state(state, "roles", why);
  if (const std::string why = check_ids(state.rights(), state.marks().next_table()); !why.empty())
    return corrupt_state(state, "rights", why);
  std::set<std::string> names;
  for (const control::RoleDescriptor& role : state.roles()) {
    const std::string field = "roles, \"" + role.name() + "\"";
    if (role.name().empty()) return corrupt_state(state, field, "it has no name");
    if (!names.insert(role.name()).second) return corrupt_state(state, field, "the name comes twice");
    std::vector<std::uint32_t> named;
    for (const control::RoleMembership& membership : role.member_of()) {
      named.push_back(membership.role());
      named.push_back(membership.grantor());
    }
    if (Status status = corrupt_names(state, field, named); !status.ok()) return status;
  }
  std::set<std::pair<std::uint64_t, std::string>> objects;
  for (const control::ObjectRights& rights : state.rights()) {
    const std::string field = "rights, " + std::to_string(rights.id());
    const bool is_table = rights.kind() == control::OBJECT_TABLE;
    if (is_table ? !holds(state.tables(), rights.table()) : rights.name().empty() || rights.kind() == 0)
      return corrupt_state(state, field, "the object is not there");
    const std::uint64_t object =
        std::uint64_t{rights.table()} << 32 | static_cast<std::uint32_t>(rights.kind());
    if (!objects.emplace(object, rights.name()).second)
      return corrupt_state(state, field, "the object comes twice");
    std::vector<std::uint32_t> named = {rights.owner()};
    for (const control::Grant& grant : rights.grants()) {
      named.push_back(grant.grantee());
      named.push_back(grant.grantor());
    }
    if (Status status = corrupt_names(state, field, named); !status.ok()) return status;
  }
  return Status();
}

Status differs(const std::string& flag, const std::string& database, const std::string& server) {
  return Status(ErrorCode::configuration,
                "the database was created with " + flag + " " + database + ", not " + server,
                "start the memory server with " + flag + " " + database);
}

}  // namespace

std::string check_index_parts(const control::IndexDescriptor& index, std::uint32_t server_count) {
  if (index.parts_size() == 0 || !index.parts(0).low().empty())
    return "parts do not begin with the first key";
  for (int i = 0; i < index.parts_size(); ++i) {
    if (index.parts(i).server() >= server_count) return "parts name a memory server that there is not";
    if (i > 0 && index.parts(i).low() <= index.parts(i - 1).low()) return "parts are not in order";
  }
  return {};
}

control::ControlEntry first_control_entry(const Options& options, std::uint64_t database_id) {
  control::ControlEntry entry;
  entry.set_format(kControlFormat);
  entry.set_written_by(options.version);
  entry.set_version(1);
  control::DatabaseSettings& settings = *entry.mutable_settings();
  settings.set_database_id(database_id);
  settings.set_server_count(options.server_count);
  settings.set_protocol(options.protocol);
  settings.set_stages(options.stages.text());
  settings.set_preset(options.preset);
  settings.set_timestamp_vector(std::string(layout::name_of(options.timestamp_vector)));
  settings.set_shared_read_locks(options.shared_read_locks);
  settings.set_extent_bytes(options.extent_bytes);
  entry.set_catalog_version(1);
  entry.mutable_marks()->set_next_table(1 + kIdsAhead);
  entry.mutable_marks()->set_next_slot(options.first_slot);
  return entry;
}

Result<control::ControlEntry> read_control_entry(std::span<const std::byte> bytes) {
  return read_control_message<control::ControlEntry>(bytes, "control entry");
}

Result<control::TableRecord> read_table_record(std::span<const std::byte> bytes) {
  auto record = read_control_message<control::TableRecord>(bytes, "table record");
  if (!record.ok()) return record;
  const auto shape = TableShape::create(record->table());
  if (shape.ok() && shape->id != 0) return record;
  const std::string why = shape.ok() ? "it has no id" : shape.status().message();
  return Status(ErrorCode::corrupt_data,
                "field table of a table record: " + why + "; " + written_by(record->written_by()));
}

Result<control::ControlState> read_control_state(std::span<const std::byte> bytes) {
  auto state = read_control_message<control::ControlState>(bytes, "control state");
  if (!state.ok()) return state;
  if (Status status = check_control_state(*state); !status.ok()) return status;
  return state;
}

Status apply_control_entry(control::ControlState& state, const control::ControlEntry& entry) {
  if (entry.version() == 0) return corrupt_entry(entry, "field version is 0");
  if (entry.version() <= state.version()) return Status();
  if (entry.version() != state.version() + 1)
    return corrupt_entry(
        entry, "the one before it is missing, the state is of version " + std::to_string(state.version()));
  if (entry.has_settings() != (entry.version() == 1))
    return corrupt_entry(entry, "field settings belongs to entry 1");
  state.set_format(kControlFormat);
  state.set_written_by(entry.written_by());
  state.set_version(entry.version());
  if (entry.has_settings()) *state.mutable_settings() = entry.settings();
  if (entry.catalog_version() != 0) {
    if (entry.catalog_version() < state.catalog_version())
      return corrupt_entry(entry, "field catalog_version goes back");
    state.set_catalog_version(entry.catalog_version());
  }
  for (const std::uint32_t id : entry.dropped_tables()) {
    if (!take_out(*state.mutable_tables(), id))
      return corrupt_entry(entry,
                           "field dropped_tables names " + std::to_string(id) + ", which is not there");
  }
  for (const std::uint32_t id : entry.dropped_indexes()) {
    if (!take_out(*state.mutable_indexes(), id))
      return corrupt_entry(entry,
                           "field dropped_indexes names " + std::to_string(id) + ", which is not there");
  }
  for (const std::uint32_t id : entry.dropped_routines()) {
    if (!take_out(*state.mutable_routines(), id))
      return corrupt_entry(entry,
                           "field dropped_routines names " + std::to_string(id) + ", which is not there");
  }
  for (const std::uint32_t id : entry.dropped_roles()) {
    if (!take_out(*state.mutable_roles(), id))
      return corrupt_entry(entry, "field dropped_roles names " + std::to_string(id) + ", which is not there");
  }
  for (const std::uint32_t id : entry.dropped_rights()) {
    if (!take_out(*state.mutable_rights(), id))
      return corrupt_entry(entry,
                           "field dropped_rights names " + std::to_string(id) + ", which is not there");
  }
  for (const control::TableDescriptor& table : entry.tables()) place(*state.mutable_tables(), table);
  for (const control::IndexDescriptor& index : entry.indexes()) place(*state.mutable_indexes(), index);
  for (const control::RoutineDescriptor& routine : entry.routines())
    place(*state.mutable_routines(), routine);
  for (const control::RoleDescriptor& role : entry.roles()) place(*state.mutable_roles(), role);
  for (const control::ObjectRights& rights : entry.rights()) place(*state.mutable_rights(), rights);
  const control::ClosedSlots& closed = entry.closed();
  if (closed.slots_size() != closed.final_counters_size())
    return corrupt_entry(entry, "field closed has lists of different lengths");
  for (int i = 0; i < closed.slots_size(); ++i)
    place_closed(*state.mutable_closed(), closed.slots(i), closed.final_counters(i));
  if (entry.has_marks()) {
    if (entry.marks().next_table() < state.marks().next_table() ||
        entry.marks().next_slot() < state.marks().next_slot())
      return corrupt_entry(entry, "field marks goes back");
    // A checkpoint may say more of it than the entries behind.
    const std::uint32_t first_slot = std::max(entry.marks().first_slot(), state.marks().first_slot());
    *state.mutable_marks() = entry.marks();
    state.mutable_marks()->set_first_slot(first_slot);
  }
  return Status();
}

Status check_control_state(const control::ControlState& state) {
  if (state.version() == 0) return Status();
  if (Status status = check_settings_field(state); !status.ok()) return status;
  const std::uint32_t servers = state.settings().server_count();
  if (const std::string why = check_ids(state.tables(), state.marks().next_table()); !why.empty())
    return corrupt_state(state, "tables", why);
  if (const std::string why = check_ids(state.indexes(), state.marks().next_table()); !why.empty())
    return corrupt_state(state, "indexes", why);
  for (const control::TableDescriptor& table : state.tables()) {
    const std::string field = "tables, \"" + table.name() + "\"";
    if (const std::string why = check_table(table, servers); !why.empty())
      return corrupt_state(state, field, why);
    if (table.replaces() != 0 && !holds(state.tables(), table.replaces()))
      return corrupt_state(state, field, "replaces is not there");
    if (table.has_hash_index() && !holds(state.tables(), table.hash_index().table()))
      return corrupt_state(state, field, "hash_index.table is not there");
  }
  for (const control::IndexDescriptor& index : state.indexes()) {
    const std::string field = "indexes, \"" + index.name() + "\"";
    if (const std::string why = check_index(index, servers); !why.empty())
      return corrupt_state(state, field, why);
    if (!holds(state.tables(), index.table())) return corrupt_state(state, field, "table is not there");
    if (holds(state.tables(), index.id())) return corrupt_state(state, field, "id is a table's");
  }
  if (const std::string name = name_twice(state); !name.empty())
    return corrupt_state(state, "tables or indexes", "the name \"" + name + "\" comes twice");
  if (Status status = check_routines(state); !status.ok()) return status;
  if (Status status = check_roles(state); !status.ok()) return status;
  if (state.marks().first_slot() > state.marks().next_slot())
    return corrupt_state(state, "marks", "first_slot is behind next_slot");
  const control::ClosedSlots& closed = state.closed();
  if (closed.slots_size() != closed.final_counters_size())
    return corrupt_state(state, "closed", "its lists have different lengths");
  for (int i = 0; i < closed.slots_size(); ++i) {
    if (closed.slots(i) < layout::kFirstLeasedSlot || closed.slots(i) >= state.marks().next_slot() ||
        (i > 0 && closed.slots(i) <= closed.slots(i - 1)))
      return corrupt_state(state, "closed", "slot " + std::to_string(closed.slots(i)) + " cannot be there");
  }
  return Status();
}

Status check_database_settings(const control::DatabaseSettings& settings, const Options& options) {
  if (settings.server_count() != options.server_count)
    return differs("--server-count", std::to_string(settings.server_count()),
                   std::to_string(options.server_count));
  if (settings.protocol() != options.protocol)
    return differs("--protocol", settings.protocol(), options.protocol);
  if (settings.stages() != options.stages.text())
    return differs("--stages", settings.stages(), options.stages.text());
  if (settings.preset() != options.preset)
    return differs("--preset", settings.preset().empty() ? "\"\"" : settings.preset(),
                   options.preset.empty() ? "\"\"" : options.preset);
  const std::string vector(layout::name_of(options.timestamp_vector));
  if (settings.timestamp_vector() != vector)
    return differs("--timestamp-vector", settings.timestamp_vector(), vector);
  if (settings.shared_read_locks() != options.shared_read_locks)
    return differs("--read-locks", settings.shared_read_locks() ? "shared" : "none",
                   options.shared_read_locks ? "shared" : "none");
  if (settings.extent_bytes() != options.extent_bytes)
    return differs("--extent-size", std::to_string(settings.extent_bytes()),
                   std::to_string(options.extent_bytes));
  return Status();
}

}  // namespace namdb::memory

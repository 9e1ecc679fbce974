// Control state as bytes and as a value: foreign bytes are refused with the name of the field and of their
// writer, and entries are applied in order.
#include "memory/coordinator/control_state.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>

#include "common/base/random.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace control_state_test {

Options database_options() {
  Options options = testing::small_options();
  options.server_count = 2;
  options.version = "1.2";
  return options;
}

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// A small sound state: a table with an index and a hash index, two routines, two roles with rights, and two
// closed slots.
control::ControlState some_state() {
  control::ControlEntry entry = first_control_entry(database_options(), 1);
  control::TableDescriptor table = testing::accounts("accounts");
  table.set_id(1);
  table.set_generation(1);
  for (const std::uint64_t base : {64, 128}) table.add_bucket_base(base);
  *entry.add_tables() = table;
  table.set_id(3);
  table.set_name("hashed");
  table.add_partition(0);
  table.mutable_hash_index()->set_table(1);
  table.mutable_hash_index()->set_state(control::INDEX_READY);
  *entry.add_tables() = table;
  control::IndexDescriptor& index = *entry.add_indexes();
  index.set_id(2);
  index.set_name("by_value");
  index.set_table(1);
  index.add_columns()->set_column(1);
  index.set_state(control::INDEX_READY);
  index.add_parts();
  entry.set_catalog_version(9);
  for (const std::uint32_t id : {5, 4}) {
    control::RoutineDescriptor& routine = *entry.add_routines();
    routine.set_id(id);
    routine.set_name("r" + std::to_string(id));
    routine.set_definition("create procedure");
    routine.set_version(id);
  }
  for (const std::uint32_t id : {7, 6}) {
    control::RoleDescriptor& role = *entry.add_roles();
    role.set_id(id);
    role.set_name("role" + std::to_string(id));
  }
  entry.mutable_roles(0)->add_member_of()->set_role(6);
  control::ObjectRights& rights = *entry.add_rights();
  rights.set_id(8);
  rights.set_kind(control::OBJECT_TABLE);
  rights.set_table(1);
  rights.set_owner(6);
  rights.set_has_grants(true);
  rights.add_grants()->set_grantee(7);
  entry.mutable_marks()->set_next_slot(100);
  for (const std::uint32_t slot : {20, 18}) {
    entry.mutable_closed()->add_slots(slot);
    entry.mutable_closed()->add_final_counters(7);
  }
  control::ControlState state;
  REQUIRE(apply_control_entry(state, entry).ok());
  return state;
}

TEST_CASE("a database is served with its own options only", "[control]") {
  const Options options = database_options();
  const control::DatabaseSettings settings = first_control_entry(options, 1).settings();
  CHECK(check_database_settings(settings, options).ok());
  const auto refusal = [&](const std::function<void(Options&)>& edit) {
    Options other = options;
    edit(other);
    const Status status = check_database_settings(settings, other);
    REQUIRE(status.code() == ErrorCode::configuration);
    return status.message();
  };
  CHECK(refusal([](Options& other) { other.protocol = "occ"; }) ==
        "the database was created with --protocol si, not occ");
  CHECK(refusal([](Options& other) { other.server_count = 3; }).find("--server-count 2") !=
        std::string::npos);
  CHECK(refusal([](Options& other) { other.stages = protocol::StageCode::two_sided(); }).find("--stages") !=
        std::string::npos);
  CHECK(refusal([](Options& other) { other.preset = "farm"; }).find("--preset") != std::string::npos);
  CHECK(refusal([](Options& other) {
          other.timestamp_vector = layout::VectorSpread::partitioned;
        }).find("--timestamp-vector whole") != std::string::npos);
  CHECK(refusal([](Options& other) { other.extent_bytes *= 2; }).find("--extent-size") != std::string::npos);
  CHECK(refusal([](Options& other) { other.shared_read_locks = true; }).find("--read-locks none") !=
        std::string::npos);
}

TEST_CASE("bytes of a newer program are refused with the field's name and the writer's version",
          "[control]") {
  control::ControlEntry entry = first_control_entry(database_options(), 1);
  entry.set_written_by("7.7");
  // As a program with more fields would write it.
  auto& marks = *entry.mutable_marks();
  marks.GetReflection()->MutableUnknownFields(&marks)->AddVarint(9, 1);
  const Status unknown = read_control_entry(bytes_in(entry.SerializeAsString())).status();
  CHECK(unknown.code() == ErrorCode::configuration);
  CHECK(unknown.message() ==
        "marks.field 9 of a control entry is not known to this program; namdb 7.7 wrote it");
  entry = first_control_entry(database_options(), 1);
  entry.set_written_by("7.7");
  entry.set_format(2);
  const Status newer = read_control_entry(bytes_in(entry.SerializeAsString())).status();
  CHECK(newer.code() == ErrorCode::configuration);
  CHECK(newer.message() ==
        "field format of a control entry is 2, and this program knows 1; namdb 7.7 wrote it");
}

TEST_CASE("states that no history gives are refused with the field's name", "[control]") {
  const control::ControlState sound = some_state();
  REQUIRE(check_control_state(sound).ok());
  const auto refusal = [&](const std::function<void(control::ControlState&)>& edit) {
    control::ControlState state = sound;
    edit(state);
    const Status status = read_control_state(bytes_in(state.SerializeAsString())).status();
    REQUIRE_FALSE(status.ok());
    REQUIRE(status.code() == ErrorCode::corrupt_data);
    return status.message();
  };
  const auto names = [&](const std::string& field, const std::function<void(control::ControlState&)>& edit) {
    const std::string message = refusal(edit);
    INFO(message);
    CHECK(message.find(field) != std::string::npos);
    CHECK(message.find("namdb 1.2 wrote it") != std::string::npos);
  };
  names("settings.database_id", [](auto& state) { state.mutable_settings()->set_database_id(0); });
  names("settings.protocol", [](auto& state) { state.mutable_settings()->set_protocol("magic"); });
  names("settings.stages", [](auto& state) { state.mutable_settings()->set_stages("nothing"); });
  names("field tables", [](auto& state) { state.mutable_tables(0)->clear_columns(); });
  names("field tables", [](auto& state) { state.mutable_tables(0)->set_id(state.marks().next_table()); });
  names("bucket_base", [](auto& state) { state.mutable_tables(0)->clear_bucket_base(); });
  names("comes twice", [](auto& state) {
    *state.add_tables() = state.tables(0);
    state.mutable_tables(state.tables_size() - 1)->set_id(state.marks().next_table() - 1);
  });
  names("field routines", [](auto& state) { state.mutable_routines(0)->clear_name(); });
  names("field routines", [](auto& state) { state.mutable_routines()->SwapElements(0, 1); });
  names("field routines", [](auto& state) { state.mutable_routines(1)->set_id(state.marks().next_table()); });
  names("comes twice", [](auto& state) { state.mutable_routines(0)->set_name("r5"); });
  names("version is 10", [](auto& state) { state.mutable_routines(0)->set_version(10); });
  names("version is 0", [](auto& state) { state.mutable_routines(0)->clear_version(); });
  names("id is a table's", [](auto& state) { state.mutable_routines(0)->set_id(3); });
  names("id is an index's", [](auto& state) { state.mutable_routines(0)->set_id(2); });
  names("field roles", [](auto& state) { state.mutable_roles(0)->clear_name(); });
  names("field roles", [](auto& state) { state.mutable_roles()->SwapElements(0, 1); });
  names("comes twice", [](auto& state) { state.mutable_roles(0)->set_name("role7"); });
  names("names role 9", [](auto& state) { state.mutable_roles(1)->mutable_member_of(0)->set_role(9); });
  names("names role 9", [](auto& state) { state.mutable_rights(0)->set_owner(9); });
  names("names role 9", [](auto& state) { state.mutable_rights(0)->mutable_grants(0)->set_grantor(9); });
  names("field rights", [](auto& state) { state.mutable_rights(0)->set_table(9); });
  names("object comes twice", [](auto& state) {
    *state.add_rights() = state.rights(0);
    state.mutable_rights(1)->set_id(9);
  });
  names("field closed", [](auto& state) { state.mutable_closed()->add_slots(1); });
  names("field closed", [](auto& state) { state.mutable_closed()->set_slots(0, 1U << 30); });
}

TEST_CASE("a state of before there were roles is sound", "[control]") {
  control::ControlState state = some_state();
  state.clear_roles();
  state.clear_rights();
  CHECK(check_control_state(state).ok());
  const auto read = read_control_state(bytes_in(state.SerializeAsString()));
  REQUIRE(read.ok());
  CHECK(read->roles().empty());
}

TEST_CASE("random bytes and damaged messages are errors, and never crash", "[control]") {
  const std::string sound = some_state().SerializeAsString();
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = sound;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips)
      damaged[random.below(damaged.size())] ^= static_cast<char>(1U << random.below(8));
    if (random.chance(0.2)) damaged.resize(random.below(damaged.size()));
    const auto state = read_control_state(bytes_in(damaged));
    if (state.ok()) CHECK(check_control_state(*state).ok());
    (void)read_control_entry(bytes_in(damaged));
    (void)read_table_record(bytes_in(damaged));
  }
}

TEST_CASE("an entry whose predecessor is missing is refused, and one that was applied changes nothing",
          "[control]") {
  control::ControlState state;
  control::ControlEntry entry = first_control_entry(database_options(), 1);
  REQUIRE(apply_control_entry(state, entry).ok());
  const std::string once = state.SerializeAsString();
  REQUIRE(apply_control_entry(state, entry).ok());
  CHECK(state.SerializeAsString() == once);
  entry.clear_settings();
  entry.set_version(3);
  CHECK(apply_control_entry(state, entry).message().find("the one before it is missing") !=
        std::string::npos);
  entry.set_version(2);
  entry.add_dropped_tables(5);
  CHECK(apply_control_entry(state, entry).message().find("dropped_tables names 5") != std::string::npos);
  entry.set_version(state.version() + 1);
  entry.clear_dropped_tables();
  entry.add_dropped_routines(6);
  CHECK(apply_control_entry(state, entry).message().find("dropped_routines names 6") != std::string::npos);
  entry.set_version(state.version() + 1);
  entry.clear_dropped_routines();
  entry.add_dropped_roles(7);
  CHECK(apply_control_entry(state, entry).message().find("dropped_roles names 7") != std::string::npos);
  entry.set_version(state.version() + 1);
  entry.clear_dropped_roles();
  entry.add_dropped_rights(8);
  CHECK(apply_control_entry(state, entry).message().find("dropped_rights names 8") != std::string::npos);
}

TEST_CASE("a checkpoint may know of a later start than the entries behind it", "[control]") {
  control::ControlState state = some_state();
  state.mutable_marks()->set_first_slot(90);
  control::ControlEntry entry;
  entry.set_version(state.version() + 1);
  *entry.mutable_marks() = state.marks();
  entry.mutable_marks()->set_first_slot(80);
  entry.mutable_marks()->set_next_slot(200);
  REQUIRE(apply_control_entry(state, entry).ok());
  CHECK(state.marks().first_slot() == 90);
  CHECK(state.marks().next_slot() == 200);
}

}  // namespace control_state_test
}  // namespace namdb::memory

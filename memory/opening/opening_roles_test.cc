// Roles and rights in the lives of a memory server that follow each other on one disk; and databases of
// before there were any.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "memory/coordinator/control_state.h"
#include "memory/opening/testing/disk_lives.h"

namespace namdb::memory {
namespace opening_roles_test {

using testing::DurableLife;
using testing::FaultDisk;
using testing::Machine;
using End = FaultDisk::End;

Status put_role(DurableLife& life, const std::string& name) {
  control::ChangeRolesRequest request;
  request.set_roles_version(life.server().catalog()->roles_version());
  control::RoleDescriptor& role = *request.add_roles();
  role.set_name(name);
  role.set_password("verifier of " + name);
  return life.client().call<control::ChangeRolesReply>(control::CHANGE_ROLES, request).status();
}

Status own_table(DurableLife& life, std::uint32_t owner, std::uint32_t table) {
  control::ChangeRolesRequest request;
  request.set_roles_version(life.server().catalog()->roles_version());
  control::ObjectRights& rights = *request.add_rights();
  rights.set_kind(control::OBJECT_TABLE);
  rights.set_table(table);
  rights.set_owner(owner);
  return life.client().call<control::ChangeRolesReply>(control::CHANGE_ROLES, request).status();
}

Status drop_role(DurableLife& life, std::uint32_t id) {
  control::ChangeRolesRequest request;
  request.set_roles_version(life.server().catalog()->roles_version());
  request.add_dropped_roles(id);
  return life.client().call<control::ChangeRolesReply>(control::CHANGE_ROLES, request).status();
}

TEST_CASE("roles and rights are there in the next life, by the log and by a checkpoint", "[opening]") {
  const bool by_checkpoint = GENERATE(false, true);
  const End end = GENERATE(End::killed, End::power_lost);
  Machine machine;
  std::string kept;
  std::string rights;
  std::uint32_t dropped_id = 0;
  {
    DurableLife life(machine.disk, End::killed);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    // The database opens without any, as one of before there were roles.
    CHECK(life.server().catalog()->roles().empty());
    REQUIRE(life.create_table("t").ok());
    REQUIRE(put_role(life, "kept").ok());
    REQUIRE(put_role(life, "dropped").ok());
    const Catalog& catalog = *life.server().catalog();
    const std::uint32_t kept_id = catalog.roles().begin()->first;
    dropped_id = catalog.roles().rbegin()->first;
    REQUIRE(own_table(life, kept_id, catalog.tables().at("t").id()).ok());
    REQUIRE(drop_role(life, dropped_id).ok());
    kept = catalog.roles().at(kept_id).SerializeAsString();
    REQUIRE(catalog.rights().size() == 1);
    rights = catalog.rights().begin()->second.SerializeAsString();
    if (by_checkpoint) REQUIRE(life.checkpoint().ok());
  }
  DurableLife life(machine.disk, end);
  INFO(life.status().to_string());
  REQUIRE(life.status().ok());
  const Catalog& catalog = *life.server().catalog();
  REQUIRE(catalog.roles().size() == 1);
  CHECK(catalog.roles().begin()->second.SerializeAsString() == kept);
  REQUIRE(catalog.rights().size() == 1);
  CHECK(catalog.rights().begin()->second.SerializeAsString() == rights);
  REQUIRE(life.connect().ok());
  REQUIRE(put_role(life, "dropped").ok());
  CHECK(catalog.roles().rbegin()->first > dropped_id);
}

TEST_CASE("a life may end at any step, and the next one has all roles that were acknowledged", "[opening]") {
  bool done = false;
  for (std::uint64_t step = 0; !done; ++step) {
    INFO("step " << step);
    Machine machine;
    std::size_t acknowledged = 0;
    {
      testing::LifeOptions options;
      options.stop_at = step;
      DurableLife life(machine.disk, End::killed, options);
      if (life.status().ok() && life.connect().ok()) {
        while (acknowledged < 3 && put_role(life, "r" + std::to_string(acknowledged)).ok()) ++acknowledged;
        done = acknowledged == 3;
      }
    }
    DurableLife life(machine.disk, End::power_lost);
    REQUIRE(life.status().ok());
    const std::size_t found = life.server().catalog()->roles().size();
    CHECK(found >= acknowledged);
    CHECK(found <= acknowledged + 1);
  }
}

TEST_CASE("forced, a view whose owner is lost is for superusers only", "[opening]") {
  Machine machine;
  testing::LifeOptions options;
  options.durable.log.segment_bytes = 256U << 10;
  std::vector<std::uint64_t> blocks;  // offsets of the lost role's
  {
    DurableLife life(machine.disk, End::killed, options);
    REQUIRE(life.status().ok());
    REQUIRE(life.connect().ok());
    const auto next_block = [&life] {
      const std::uint64_t until_ns = life.cluster().node.now_ns() + kSecond_ns;
      const auto pause = life.cluster().world.run(life.cluster().node, life.database().log().pause(until_ns));
      REQUIRE(pause.ok());
      REQUIRE(pause->segment == 0);
      life.database().log().resume();
      return pause->offset;
    };
    REQUIRE(put_role(life, "reader").ok());
    const Catalog& catalog = *life.server().catalog();
    const std::uint32_t reader = catalog.roles().begin()->first;
    std::uint64_t begin = next_block();
    REQUIRE(put_role(life, "lost").ok());
    for (const std::uint64_t end = next_block(); begin < end; begin += kDiskPage_bytes)
      blocks.push_back(begin);
    control::CreateRoutineRequest view;
    view.set_name(Catalog::view_key("v"));
    view.set_definition("text");
    REQUIRE(life.client().call<control::CreateRoutineReply>(control::CREATE_ROUTINE, view).ok());
    control::ChangeRolesRequest request;
    request.set_roles_version(catalog.roles_version());
    control::ObjectRights& rights = *request.add_rights();
    rights.set_kind(control::OBJECT_VIEW);
    rights.set_name("v");
    rights.set_owner(catalog.roles().rbegin()->first);
    rights.set_has_grants(true);
    control::Grant& grant = *rights.add_grants();
    grant.set_grantee(reader);
    grant.set_grantor(reader);
    grant.set_privileges(2);
    REQUIRE(life.client().call<control::ChangeRolesReply>(control::CHANGE_ROLES, request).ok());
  }
  REQUIRE_FALSE(blocks.empty());
  for (const std::uint64_t block : blocks)
    machine.disk.flip_bit(testing::kDatabaseFolder + "/log/" + segment_name(0),
                          8 * (block + kBlockHeader_bytes));
  options.durable.force_lost_log = true;
  DurableLife life(machine.disk, End::killed, options);
  INFO(life.status().to_string());
  REQUIRE(life.status().ok());
  const Catalog& catalog = *life.server().catalog();
  CHECK(catalog.roles().size() == 1);
  CHECK(catalog.routines().size() == 1);
  REQUIRE(catalog.rights().size() == 1);
  const control::ObjectRights& rights = catalog.rights().begin()->second;
  CHECK(rights.owner() == 0);
  CHECK(rights.has_grants());
  CHECK(rights.grants().empty());
}

}  // namespace opening_roles_test
}  // namespace namdb::memory

// Roles and rights in the catalog, by the calls of compute servers: sound ones and others.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>

#include "memory/coordinator/catalog.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace catalog_roles_test {

constexpr std::uint32_t kNewRole = 0xc000'0000;

struct Scene {
  Scene() : client(cluster.client("c")) { REQUIRE(client->connect(testing::hello('a')).ok()); }
  control::GetCatalogReply read() {
    auto reply = client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
    REQUIRE(reply.ok());
    return std::move(*reply);
  }
  Status change(const std::function<void(control::ChangeRolesRequest&)>& fill) {
    control::ChangeRolesRequest request;
    request.set_roles_version(read().roles_version());
    fill(request);
    return client->call<control::ChangeRolesReply>(control::CHANGE_ROLES, request).status();
  }
  Status create(const std::string& name) {
    return change([&](auto& request) { request.add_roles()->set_name(name); });
  }
  std::uint32_t role(const std::string& name) {
    const control::GetCatalogReply catalog = read();
    for (const control::RoleDescriptor& role : catalog.roles()) {
      if (role.name() == name) return role.id();
    }
    return 0;
  }
  // As BEGIN_CREATE_TABLE and FINISH_CREATE_TABLE make it.
  Result<std::uint32_t> create_table(const std::string& name, std::uint32_t owner,
                                     std::uint32_t replaces = 0) {
    control::BeginCreateTableRequest begin;
    *begin.mutable_table() = testing::accounts(name);
    begin.mutable_table()->set_replaces(replaces);
    begin.set_owner(owner);
    const auto begun = client->call<control::BeginCreateTableReply>(control::BEGIN_CREATE_TABLE, begin);
    if (!begun.ok()) return begun.status();
    control::PrepareTableRequest prepare;
    *prepare.mutable_table() = begun->table();
    const auto prepared = client->call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare);
    if (!prepared.ok()) return prepared.status();
    control::FinishCreateTableRequest finish;
    *finish.mutable_table() = begun->table();
    finish.mutable_table()->add_bucket_base(prepared->bucket_base());
    const auto finished = client->call<control::FinishCreateTableReply>(control::FINISH_CREATE_TABLE, finish);
    if (!finished.ok()) return finished.status();
    return begun->table().id();
  }

  testing::TestCluster cluster;
  std::unique_ptr<testing::TestClient> client;
};

TEST_CASE("roles are created, changed and dropped in one step of the catalog each", "[catalog]") {
  Scene scene;
  CHECK(scene.read().roles_size() == 0);
  const std::uint64_t version = scene.read().version();
  REQUIRE(scene
              .change([](auto& request) {
                control::RoleDescriptor& boss = *request.add_roles();
                boss.set_name("boss");
                boss.set_superuser(true);
                control::RoleDescriptor& member = *request.add_roles();
                member.set_name("member");
                member.add_member_of()->set_role(kNewRole);
              })
              .ok());
  control::GetCatalogReply catalog = scene.read();
  CHECK(catalog.version() > version);
  CHECK(catalog.roles_version() == catalog.version());
  REQUIRE(catalog.roles_size() == 2);
  CHECK(catalog.roles(1).member_of(0).role() == catalog.roles(0).id());
  const std::uint32_t boss = scene.role("boss");
  const std::uint32_t member = scene.role("member");

  // Each refusal leaves all as it is.
  CHECK(scene.create("boss").code() == ErrorCode::duplicate_object);
  CHECK(scene.create("").code() == ErrorCode::invalid_name);
  CHECK(scene.create(std::string(64, 'x')).code() == ErrorCode::invalid_name);
  CHECK(scene
            .change([](auto& request) {
              request.add_roles()->set_name("other");
              request.add_roles()->set_name("boss");
            })
            .code() == ErrorCode::duplicate_object);
  CHECK(scene
            .change([](auto& request) {
              request.add_roles()->set_name("other");
              request.set_roles_version(request.roles_version() - 1);
            })
            .code() == ErrorCode::catalog_changed);
  CHECK(scene.change([&](auto& request) { request.add_dropped_roles(boss); }).code() ==
        ErrorCode::undefined_object);
  CHECK(scene.change([](auto& request) { request.add_dropped_roles(77); }).code() ==
        ErrorCode::undefined_object);
  CHECK(scene
            .change([](auto& request) {
              request.add_roles()->set_name("other");
              request.mutable_roles(0)->add_member_of()->set_role(77);
            })
            .code() == ErrorCode::undefined_object);
  CHECK(scene.read().SerializeAsString() == catalog.SerializeAsString());

  REQUIRE(scene
              .change([&](auto& request) {
                control::RoleDescriptor& changed = *request.add_roles();
                changed.set_id(member);
                changed.set_name("renamed");
                changed.set_password("SCRAM-SHA-256$...");
              })
              .ok());
  CHECK(scene.role("renamed") == member);
  CHECK(scene.role("member") == 0);
  REQUIRE(scene.change([&](auto& request) { request.add_dropped_roles(boss); }).ok());
  CHECK(scene.read().roles_size() == 1);
  REQUIRE(scene.create("boss").ok());
  CHECK(scene.role("boss") > member);
}

TEST_CASE("a table's rights come and go with it, and stay when another table takes its place", "[catalog]") {
  Scene scene;
  REQUIRE(scene.create("owner").ok());
  REQUIRE(scene.create("reader").ok());
  const std::uint32_t owner = scene.role("owner");
  const std::uint32_t reader = scene.role("reader");
  const auto table = scene.create_table("t", owner);
  REQUIRE(table.ok());
  REQUIRE(scene.create_table("nobodys", 0).ok());
  REQUIRE(scene.create_table("orphan", 1000).ok());
  control::GetCatalogReply catalog = scene.read();
  REQUIRE(catalog.rights_size() == 1);
  CHECK(catalog.rights(0).kind() == control::OBJECT_TABLE);
  CHECK(catalog.rights(0).table() == *table);
  CHECK(catalog.rights(0).owner() == owner);
  CHECK_FALSE(catalog.rights(0).has_grants());

  const auto grant = [&](std::uint32_t of_table, std::uint32_t to) {
    return scene.change([&](auto& request) {
      control::ObjectRights& rights = *request.add_rights();
      rights.set_kind(control::OBJECT_TABLE);
      rights.set_table(of_table);
      rights.set_owner(owner);
      rights.set_has_grants(true);
      control::Grant& one = *rights.add_grants();
      one.set_grantee(to);
      one.set_grantor(owner);
      one.set_privileges(2);
    });
  };
  CHECK(grant(*table, 1000).code() == ErrorCode::undefined_object);
  CHECK(grant(1000, reader).code() == ErrorCode::undefined_table);
  CHECK(scene.change([](auto& request) { request.add_rights()->set_owner(0); }).code() ==
        ErrorCode::protocol_violation);
  REQUIRE(grant(*table, reader).ok());
  CHECK(scene.read().rights_size() == 1);
  CHECK(scene.change([&](auto& request) { request.add_dropped_roles(reader); }).code() ==
        ErrorCode::undefined_object);

  const auto other = scene.create_table("t", 0, *table);
  REQUIRE(other.ok());
  CHECK(scene.read().rights(0).table() == *table);
  control::ReplaceTableRequest replace;
  replace.set_table(*other);
  REQUIRE(scene.client->call<control::ReplaceTableReply>(control::REPLACE_TABLE, replace).ok());
  catalog = scene.read();
  REQUIRE(catalog.rights_size() == 1);
  CHECK(catalog.rights(0).table() == *other);
  CHECK(catalog.rights(0).grants(0).grantee() == reader);
  CHECK(catalog.roles_version() == catalog.version());

  control::DropTableRequest drop;
  drop.set_name("t");
  REQUIRE(scene.client->call<control::DropTableReply>(control::DROP_TABLE, drop).ok());
  CHECK(scene.read().rights_size() == 0);
  REQUIRE(scene.change([&](auto& request) { request.add_dropped_roles(owner); }).ok());
}

TEST_CASE("a routine has the owner that made it first, until it is dropped", "[catalog]") {
  Scene scene;
  REQUIRE(scene.create("owner").ok());
  REQUIRE(scene.create("other").ok());
  const auto put = [&](std::uint64_t replaces, const std::string& owner) {
    control::CreateRoutineRequest request;
    request.set_name("r");
    request.set_definition("text");
    request.set_replaces_version(replaces);
    request.set_owner(scene.role(owner));
    const auto reply = scene.client->call<control::CreateRoutineReply>(control::CREATE_ROUTINE, request);
    REQUIRE(reply.ok());
    return reply->catalog_version();
  };
  std::uint64_t version = put(0, "owner");
  REQUIRE(scene.read().rights_size() == 1);
  CHECK(scene.read().rights(0).name() == "r");
  version = put(version, "other");
  CHECK(scene.read().rights(0).owner() == scene.role("owner"));
  control::DropRoutineRequest drop;
  drop.set_name("r");
  drop.set_version(version);
  REQUIRE(scene.client->call<control::DropRoutineReply>(control::DROP_ROUTINE, drop).ok());
  CHECK(scene.read().rights_size() == 0);
}

TEST_CASE("a routine does not take over the rights of a library's", "[catalog]") {
  Scene scene;
  REQUIRE(scene.create("owner").ok());
  const auto put = [&](const std::string& name) {
    control::CreateRoutineRequest request;
    request.set_name(name);
    request.set_definition("text");
    request.set_owner(scene.role("owner"));
    return scene.client->call<control::CreateRoutineReply>(control::CREATE_ROUTINE, request);
  };
  const auto revoke = [&](const std::string& name) {
    return scene.change([&](auto& request) {
      control::ObjectRights& rights = *request.add_rights();
      rights.set_kind(control::OBJECT_ROUTINE);
      rights.set_name(name);
      rights.set_has_grants(true);
    });
  };
  REQUIRE(revoke("p").ok());
  CHECK(put("p").status().code() == ErrorCode::duplicate_function);
  CHECK(scene.read().routines_size() == 0);
  CHECK(scene.read().rights(0).owner() == 0);
  // Those of a routine of the catalog go with it.
  const auto made = put("q");
  REQUIRE(made.ok());
  REQUIRE(revoke("q").ok());
  control::DropRoutineRequest drop;
  drop.set_name("q");
  drop.set_version(made->catalog_version());
  REQUIRE(scene.client->call<control::DropRoutineReply>(control::DROP_ROUTINE, drop).ok());
  CHECK(put("q").ok());
}

TEST_CASE("only views that are there have rights, and a new one takes over none", "[catalog]") {
  Scene scene;
  REQUIRE(scene.create("reader").ok());
  const std::uint32_t reader = scene.role("reader");
  const auto grant = [&](const std::string& view) {
    return scene.change([&](auto& request) {
      control::ObjectRights& rights = *request.add_rights();
      rights.set_kind(control::OBJECT_VIEW);
      rights.set_name(view);
      rights.set_has_grants(true);
      control::Grant& one = *rights.add_grants();
      one.set_grantee(reader);
      one.set_privileges(2);
    });
  };
  const auto put = [&](const std::string& name) {
    control::CreateRoutineRequest request;
    request.set_name(name);
    request.set_definition("text");
    return scene.client->call<control::CreateRoutineReply>(control::CREATE_ROUTINE, request);
  };
  CHECK(grant("v").code() == ErrorCode::undefined_table);
  const auto made = put("\x01v");
  REQUIRE(made.ok());
  REQUIRE(grant("v").ok());
  CHECK(scene.read().rights_size() == 1);
  control::DropRoutineRequest drop;
  drop.set_name("\x01v");
  drop.set_version(made->catalog_version());
  REQUIRE(scene.client->call<control::DropRoutineReply>(control::DROP_ROUTINE, drop).ok());
  CHECK(scene.read().rights_size() == 0);
  CHECK(grant("v").code() == ErrorCode::undefined_table);
}

}  // namespace catalog_roles_test
}  // namespace namdb::memory

// Roles of the catalog as several compute servers know them, across restarts of the memory server.
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "tools/namsim/testing/two_computes.h"

namespace namdb::sim {
namespace roles_test {

struct Subject : TwoComputes {
  explicit Subject(std::uint64_t seed) : TwoComputes(seed, true) {}
  // Of the roles as that worker knows them.
  txn::RoleChange change(std::size_t compute, const std::string& name) {
    txn::RoleChange made;
    made.version = worker(compute).cached_roles()->version();
    storage::Role role;
    role.name = name;
    role.password = "verifier of " + name;
    made.roles.push_back(role);
    return made;
  }
  Status create(std::size_t compute, const std::string& name) {
    REQUIRE(run(compute, worker(compute).roles()).ok());
    return run(compute, worker(compute).change_roles(change(compute, name)));
  }
  bool knows(std::size_t compute, const std::string& name) {
    return worker(compute).cached_roles()->find(name) != nullptr;
  }
};

TEST_CASE("a change of roles is known at once where it was made, and to others with their next transaction",
          "[roles]") {
  Subject test(1);
  REQUIRE(test.create(0, "alice").ok());
  CHECK(test.knows(0, "alice"));
  CHECK_FALSE(test.knows(1, "alice"));
  const std::uint64_t version = test.worker(1).catalog_version();
  REQUIRE(test.read(1).ok());
  CHECK(test.knows(1, "alice"));
  CHECK(test.worker(1).catalog_version() != version);
  // While nothing of it changes, the roles are one object.
  const storage::RolesRef known = test.worker(1).cached_roles();
  CHECK(known->find("alice")->password == "verifier of alice");
  REQUIRE(test.run(0, create_table(test.worker(0), "other", bigints({"id"}), 50, 0)).ok());
  REQUIRE(test.read(1).ok());
  CHECK(test.worker(1).cached_roles() == known);

  // The owner of a table, and what becomes of it.
  const std::uint32_t alice = known->find("alice")->id;
  txn::TableDefinition definition;
  definition.name = "owned";
  definition.schema = test.worker(0).cached_table(TwoComputes::kTable)->schema;
  definition.owner = alice;
  REQUIRE(test.run(0, test.worker(0).create_table(std::move(definition))).ok());
  const std::uint32_t table = test.worker(0).cached_table("owned")->id;
  const storage::SecuredObject object{storage::ObjectKind::table, table, {}};
  CHECK(test.worker(0).cached_roles()->owner_of(object) == alice);
  CHECK(test.worker(0).cached_roles()->privileges(alice, object) ==
        storage::all_privileges(storage::ObjectKind::table));
  REQUIRE(test.run(0, test.worker(0).drop_table("owned")).ok());
  CHECK(test.worker(0).cached_roles()->rights().empty());
}

TEST_CASE("of two compute servers that change roles at the same time, one has to look again", "[roles]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    Subject test(seed);
    std::vector<Status> ended(2);
    reactor::Gate gate;
    for (std::size_t compute = 0; compute < 2; ++compute) {
      const std::string name = "by" + std::to_string(compute);
      test.cluster->node(compute).spawn(
          gate, note_end(test.worker(compute).change_roles(test.change(compute, name)), &ended[compute]));
    }
    REQUIRE(test.world.run_until([&gate] { return gate.count() == 0; }, kSecond_ns));
    const std::size_t winner = ended[0].ok() ? 0 : 1;
    REQUIRE(ended[winner].ok());
    REQUIRE(ended[1 - winner].code() == ErrorCode::catalog_changed);
    REQUIRE(test.create(1 - winner, "later").ok());
    REQUIRE(test.knows(1 - winner, "by" + std::to_string(winner)));
  }
}

TEST_CASE("without a memory server the roles that were known last count, and they are there again behind it",
          "[roles]") {
  for (const DiskAfter disk : {DiskAfter::killed, DiskAfter::power_lost}) {
    Subject test(3);
    REQUIRE(test.create(0, "alice").ok());
    test.cluster->kill_memory(0);
    REQUIRE(test.world.run_until([&] { return !test.worker(0).ready(); }, kPatience_ns));
    CHECK(test.knows(0, "alice"));
    CHECK(test.run(0, test.worker(0).roles()).status().code() == ErrorCode::connection_failure);
    test.cluster->restart_memory(0, disk);
    test.world.run_for(kPatience_ns);
    for (std::size_t compute = 0; compute < 2; ++compute) {
      REQUIRE(test.worker(compute).ready());
      CHECK(test.knows(compute, "alice"));
    }
    REQUIRE(test.create(1, "bob").ok());
  }
}

}  // namespace roles_test
}  // namespace namdb::sim

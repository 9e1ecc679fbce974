// Foreign keys in the catalog: they follow what they reference, and keep it there.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "memory/coordinator/catalog.h"
#include "memory/testing/control_subject.h"

namespace namdb::memory {
namespace catalog_foreign_keys_test {

constexpr fabric::PeerId kPeer = 1;

struct Scene {
  Scene() : subject(world, "m0"), catalog(*subject.catalog) { REQUIRE(subject.open().ok()); }

  static control::TableDescriptor referencing(const std::string& name, std::uint32_t table) {
    control::TableDescriptor described = testing::accounts(name);
    control::ForeignKey& key = *described.add_foreign_keys();
    key.set_name(name + "_value_fkey");
    key.add_columns("value");
    key.set_references(table);
    key.add_referenced("id");
    return described;
  }
  Result<std::uint32_t> create(const control::TableDescriptor& wanted) {
    auto begun = catalog.begin(kPeer, wanted);
    if (!begun.ok()) return begun.status();
    control::FinishCreateTableRequest request;
    *request.mutable_table() = *begun;
    for (int server = 0; server < 2; ++server) request.mutable_table()->add_bucket_base(64);
    const auto finished = catalog.finish(kPeer, request);
    if (!finished.ok()) return finished.status();
    return begun->id();
  }
  const control::TableDescriptor& table(const std::string& name) const { return catalog.tables().at(name); }

  fabric::sim::SimWorld world{1};
  testing::ControlSubject subject;
  Catalog& catalog;
};

TEST_CASE("a table that another one references stays, and is changed by a new foreign key", "[catalog]") {
  Scene scene;
  const auto parent = scene.create(testing::accounts("p"));
  REQUIRE(parent.ok());
  CHECK(scene.create(Scene::referencing("bad", 999)).status().code() == ErrorCode::undefined_table);
  const auto child = scene.create(Scene::referencing("c", *parent));
  REQUIRE(child.ok());
  CHECK(scene.table("p").altered_version() == scene.catalog.version());
  CHECK(scene.catalog.drop("p").status().code() == ErrorCode::dependent_objects_still_exist);
  CHECK(scene.catalog.drop("c").ok());
  CHECK(scene.catalog.drop("p").ok());
  // A table that references itself can still be dropped.
  CHECK(scene.create(Scene::referencing("self", 0)).ok());
  CHECK(scene.catalog.drop("self").ok());
}

TEST_CASE("a foreign key follows the table that it references, and its columns", "[catalog]") {
  Scene scene;
  const auto parent = scene.create(testing::accounts("p"));
  REQUIRE(parent.ok());
  REQUIRE(scene.create(Scene::referencing("c", *parent)).ok());
  control::AlterTableRequest renamed;
  *renamed.mutable_table() = scene.table("p");
  renamed.mutable_table()->set_name("q");
  renamed.mutable_table()->mutable_columns(0)->set_name("number");
  REQUIRE(scene.catalog.alter(renamed).ok());
  CHECK(scene.table("c").foreign_keys(0).referenced(0) == "number");
  CHECK(scene.table("c").altered_version() == scene.catalog.version());

  control::TableDescriptor wanted = testing::accounts("q");
  wanted.set_replaces(*parent);
  const auto other = scene.create(wanted);
  REQUIRE(other.ok());
  // No table can begin to reference a table while that is copied, since it may lose the column.
  CHECK(scene.create(Scene::referencing("d", *parent)).status().code() == ErrorCode::table_is_altered);
  REQUIRE(scene.catalog.replace_table(kPeer, *other).ok());
  CHECK(scene.table("c").foreign_keys(0).references() == *other);
  CHECK(scene.table("c").altered_version() == scene.catalog.version());
  CHECK(scene.catalog.drop("q").status().code() == ErrorCode::dependent_objects_still_exist);

  // The same after a restart.
  const control::ControlState state = scene.subject.exported();
  testing::ControlSubject again(scene.world, "m1");
  again.catalog->import_state(state);
  CHECK(again.catalog->tables().at("c").foreign_keys(0).references() == *other);
}

TEST_CASE("a view has the name of no table, and no table has its name", "[catalog]") {
  Scene scene;
  REQUIRE(scene.create(testing::accounts("t")).ok());
  control::CreateRoutineRequest view;
  view.set_name(std::string("\x01") + "t");
  view.set_definition("text");
  CHECK(scene.catalog.create_routine(view).status().code() == ErrorCode::duplicate_table);
  view.set_name(std::string("\x01") + "v");
  REQUIRE(scene.catalog.create_routine(view).ok());
  CHECK(scene.create(testing::accounts("v")).status().code() == ErrorCode::duplicate_table);
}

}  // namespace catalog_foreign_keys_test
}  // namespace namdb::memory

// Routines as a worker asks for them and knows them, by the calls that memory servers get.
#include "compute/schema/routines.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "compute/testing/test_worker.h"

namespace namdb::schema {
namespace routines_test {

using protocol::testing::TestWorker;
using storage::RoutineRef;

control::RoutineDescriptor descriptor(std::uint32_t id, const std::string& name, std::uint64_t version,
                                      const std::string& definition = "text") {
  control::RoutineDescriptor made;
  made.set_id(id);
  made.set_name(name);
  made.set_definition(definition);
  made.set_version(version);
  return made;
}

struct Scene {
  // The catalog from now on.
  void show(std::uint64_t version, const std::vector<control::RoutineDescriptor>& shown) {
    control::GetCatalogReply reply;
    reply.set_version(version);
    for (const control::RoutineDescriptor& routine : shown) *reply.add_routines() = routine;
    worker.answer(control::GET_CATALOG, reply);
  }
  Status refresh() { return worker.run(worker.catalog.refresh()); }

  TestWorker worker;
  Routines routines{worker.state};
};

TEST_CASE("a refresh keeps the objects of routines whose version is the same, and of no others",
          "[routines]") {
  Scene scene;
  txn::CatalogCache& catalog = scene.worker.catalog;
  scene.show(5, {descriptor(3, "s", 4), descriptor(2, "r", 5, "first"), descriptor(4, "t", 3)});
  REQUIRE(scene.refresh().ok());
  const std::uint64_t version = catalog.version();
  const RoutineRef r = catalog.find_routine("r");
  const RoutineRef s = catalog.find_routine("s");
  const RoutineRef t = catalog.find_routine("t");
  REQUIRE((r != nullptr && s != nullptr && t != nullptr));
  CHECK(catalog.find_routine("u") == nullptr);
  CHECK(r->id == 2);
  CHECK(r->name == "r");
  CHECK(r->definition == "first");
  CHECK(r->version == 5);
  CHECK(catalog.routines() == std::vector<RoutineRef>{r, s, t});

  // One was replaced, one is as it was, one was dropped and created again, one is new.
  scene.show(9, {descriptor(2, "r", 6, "second"), descriptor(3, "s", 4), descriptor(7, "t", 9),
                 descriptor(6, "u", 8)});
  REQUIRE(scene.refresh().ok());
  CHECK(catalog.version() != version);
  CHECK(catalog.find_routine("r") != r);
  CHECK(catalog.find_routine("r")->definition == "second");
  CHECK(r->definition == "first");
  CHECK(catalog.find_routine("s") == s);
  CHECK(catalog.find_routine("t")->id == 7);
  CHECK(catalog.routines().size() == 4);

  scene.show(10, {});
  REQUIRE(scene.refresh().ok());
  CHECK(catalog.routines().empty());
}

TEST_CASE("a catalog with routines that make no sense is refused as a whole", "[routines]") {
  Scene scene;
  scene.show(5, {descriptor(2, "r", 5)});
  REQUIRE(scene.refresh().ok());
  const RoutineRef known = scene.worker.catalog.find_routine("r");
  const std::vector<std::vector<control::RoutineDescriptor>> unsound = {
      {descriptor(0, "r", 6)},
      {descriptor(2, "", 6)},
      {descriptor(2, "r", 0)},
      {descriptor(2, "r", 8)},
      {descriptor(2, "s", 6), descriptor(3, "s", 6)}};
  for (const auto& routines : unsound) {
    scene.show(7, routines);
    const Status status = scene.refresh();
    CHECK(status.code() == ErrorCode::corrupt_data);
    CHECK(scene.worker.catalog.version() == 5);
    CHECK(scene.worker.catalog.routines() == std::vector<RoutineRef>{known});
  }
}

TEST_CASE("a worker knows what it has changed when the change returns", "[routines]") {
  Scene scene;
  control::CreateRoutineRequest created;
  control::DropRoutineRequest dropped;
  Status answer;
  scene.worker.fabric.handle(control::CREATE_ROUTINE, [&](std::string_view request, std::string&) {
    REQUIRE(created.ParseFromArray(request.data(), static_cast<int>(request.size())));
    if (answer.ok()) scene.show(5, {descriptor(2, created.name(), 5, created.definition())});
    return answer;
  });
  scene.worker.fabric.handle(control::DROP_ROUTINE, [&](std::string_view request, std::string&) {
    REQUIRE(dropped.ParseFromArray(request.data(), static_cast<int>(request.size())));
    if (answer.ok()) scene.show(6, {});
    return answer;
  });
  txn::CatalogCache& catalog = scene.worker.catalog;
  answer = Status(ErrorCode::duplicate_function, "it is there");
  CHECK(scene.worker.run(scene.routines.create({"r", "text", 3})).code() == ErrorCode::duplicate_function);
  CHECK(created.name() == "r");
  CHECK(created.definition() == "text");
  CHECK(created.replaces_version() == 3);
  CHECK(catalog.routines().empty());
  answer = Status();
  REQUIRE(scene.worker.run(scene.routines.create({"r", "text"})).ok());
  CHECK(created.replaces_version() == 0);
  REQUIRE(catalog.find_routine("r") != nullptr);

  answer = Status(ErrorCode::undefined_function, "it is gone");
  CHECK(scene.worker.run(scene.routines.drop("r", 5)).code() == ErrorCode::undefined_function);
  CHECK(dropped.name() == "r");
  CHECK(dropped.version() == 5);
  CHECK(catalog.find_routine("r") != nullptr);
  answer = Status();
  REQUIRE(scene.worker.run(scene.routines.drop("r", 5)).ok());
  CHECK(catalog.find_routine("r") == nullptr);
}

}  // namespace routines_test
}  // namespace namdb::schema

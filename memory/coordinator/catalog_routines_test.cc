// Routines in the catalog, by the calls of compute servers: sound ones and others.
#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "common/base/random.h"
#include "memory/coordinator/catalog.h"
#include "memory/testing/control_subject.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace catalog_routines_test {

constexpr std::size_t kMaxDefinition_bytes = 256U << 10;

// One that is soon full, and fits into one reply.
constexpr std::uint64_t kCatalog_bytes = fabric::kMaxCall_bytes - 4096;
Options options_of_small_catalog() {
  Options options = testing::small_options();
  options.max_catalog_bytes = kCatalog_bytes;
  return options;
}

struct Scene {
  Scene() : cluster(options_of_small_catalog()), client(cluster.client("c")) {
    REQUIRE(client->connect(testing::hello('a')).ok());
  }
  Result<std::uint64_t> create(const std::string& name, const std::string& definition,
                               std::uint64_t replaces_version = 0) {
    control::CreateRoutineRequest request;
    request.set_name(name);
    request.set_definition(definition);
    request.set_replaces_version(replaces_version);
    const auto reply = client->call<control::CreateRoutineReply>(control::CREATE_ROUTINE, request);
    if (!reply.ok()) return reply.status();
    return reply->catalog_version();
  }
  Result<std::uint64_t> drop(const std::string& name, std::uint64_t version) {
    control::DropRoutineRequest request;
    request.set_name(name);
    request.set_version(version);
    const auto reply = client->call<control::DropRoutineReply>(control::DROP_ROUTINE, request);
    if (!reply.ok()) return reply.status();
    return reply->catalog_version();
  }
  control::GetCatalogReply read() {
    auto reply = client->call<control::GetCatalogReply>(control::GET_CATALOG, control::GetCatalogRequest());
    REQUIRE(reply.ok());
    return std::move(*reply);
  }
  // As snapshots show it.
  std::uint64_t shown_version() {
    return cluster.load(cluster.server->parts().region->catalog_version_offset());
  }

  testing::TestCluster cluster;
  std::unique_ptr<testing::TestClient> client;
};

TEST_CASE("a routine is created, replaced and dropped, each by the version that is there", "[catalog]") {
  Scene scene;
  const std::uint64_t before = scene.read().version();
  const auto created = scene.create("r", "first");
  REQUIRE(created.ok());
  CHECK(*created > before);
  CHECK(scene.shown_version() == *created);
  control::GetCatalogReply catalog = scene.read();
  CHECK(catalog.version() == *created);
  REQUIRE(catalog.routines_size() == 1);
  const std::uint32_t id = catalog.routines(0).id();
  CHECK(id != 0);
  CHECK(catalog.routines(0).name() == "r");
  CHECK(catalog.routines(0).definition() == "first");
  CHECK(catalog.routines(0).version() == *created);

  // Each refusal leaves all as it is.
  CHECK(scene.create("r", "second").status().code() == ErrorCode::duplicate_function);
  CHECK(scene.create("r", "second", *created - 1).status().code() == ErrorCode::duplicate_function);
  CHECK(scene.create("other", "second", *created).status().code() == ErrorCode::undefined_function);
  CHECK(scene.drop("r", *created - 1).status().code() == ErrorCode::undefined_function);
  CHECK(scene.drop("other", *created).status().code() == ErrorCode::undefined_function);
  CHECK(scene.read().SerializeAsString() == catalog.SerializeAsString());

  const auto replaced = scene.create("r", "second", *created);
  REQUIRE(replaced.ok());
  CHECK(*replaced > *created);
  catalog = scene.read();
  REQUIRE(catalog.routines_size() == 1);
  CHECK(catalog.routines(0).id() == id);
  CHECK(catalog.routines(0).definition() == "second");
  CHECK(catalog.routines(0).version() == *replaced);
  CHECK(scene.drop("r", *created).status().code() == ErrorCode::undefined_function);

  // Names of tables are no obstacle, and their numbers are others.
  const auto table = scene.client->create(testing::accounts("r"));
  REQUIRE(table.ok());
  CHECK(table->id() != id);
  const auto dropped = scene.drop("r", *replaced);
  REQUIRE(dropped.ok());
  CHECK(scene.shown_version() == *dropped);
  CHECK(scene.read().routines_size() == 0);
  CHECK(scene.read().tables_size() == 1);
  REQUIRE(scene.create("r", "third").ok());
  CHECK(scene.read().routines(0).id() > table->id());
}

TEST_CASE("routines count to the catalog's size", "[catalog]") {
  Scene scene;
  const std::string longest(kMaxDefinition_bytes, 'd');
  std::uint64_t version = 0;
  for (const char* const name : {"a", "b", "c"}) {
    const auto created = scene.create(name, longest);
    REQUIRE(created.ok());
    version = *created;
  }
  CHECK(scene.create("d", longest).status().code() == ErrorCode::limit_exceeded);
  CHECK(scene.read().routines_size() == 3);
  // One that replaces another needs its room, and no more.
  const auto replaced = scene.create("c", longest, version);
  REQUIRE(replaced.ok());

  // To the brim.
  std::size_t names = 0;
  std::size_t length = kMaxDefinition_bytes;
  for (; length > 0; length /= 2) {
    while (scene.create("f" + std::to_string(names), std::string(length, 'd')).ok()) ++names;
  }
  CHECK(names > 0);
  CHECK(static_cast<std::size_t>(scene.read().routines_size()) == 3 + names);
  CHECK(scene.client->create(testing::accounts("t")).status().code() == ErrorCode::limit_exceeded);
  const auto shorter = scene.create("c", "short", *replaced);
  REQUIRE(shorter.ok());
  CHECK(scene.client->create(testing::accounts("t")).ok());
  REQUIRE(scene.drop("c", *shorter).ok());
  CHECK(scene.create("e", std::string(kMaxDefinition_bytes - 4096, 'd')).ok());
}

TEST_CASE("a catalog that was read from its log or from a state has the size that it had", "[catalog]") {
  fabric::sim::SimWorld world(1);
  testing::ControlSubject subject(world, "m0");
  subject.options.max_catalog_bytes = kCatalog_bytes;
  REQUIRE(subject.open().ok());
  control::CreateRoutineRequest request;
  request.set_definition(std::string(kMaxDefinition_bytes, 'd'));
  const auto create = [&request](Catalog& catalog) { return catalog.create_routine(request).status(); };
  for (const char* const name : {"a", "b", "c"}) {
    request.set_name(name);
    REQUIRE(subject.change(create).ok());
  }
  request.set_name("d");
  CHECK(subject.change(create).code() == ErrorCode::limit_exceeded);
  testing::ControlSubject opened(world, "m1");
  opened.options.max_catalog_bytes = kCatalog_bytes;
  REQUIRE(opened.open(testing::replay(subject, subject.log.records.size())).ok());
  CHECK(opened.catalog->routines().size() == 3);
  CHECK(opened.change(create).code() == ErrorCode::limit_exceeded);
  control::DropRoutineRequest drop;
  drop.set_name("a");
  drop.set_version(opened.catalog->routines().at("a").version());
  REQUIRE(opened.change([&](Catalog& catalog) { return catalog.drop_routine(drop).status(); }).ok());
  CHECK(opened.change(create).ok());
}

TEST_CASE("requests that no compute server sends are refused, and change nothing", "[catalog]") {
  Scene scene;
  REQUIRE(scene.create(std::string(255, 'n'), std::string(kMaxDefinition_bytes, 'd')).ok());
  const std::string before = scene.read().SerializeAsString();
  CHECK(scene.create("", "text").status().code() == ErrorCode::invalid_function_definition);
  CHECK(scene.create(std::string(256, 'n'), "text").status().code() ==
        ErrorCode::invalid_function_definition);
  CHECK(scene.create("r", std::string(kMaxDefinition_bytes + 1, 'd')).status().code() ==
        ErrorCode::limit_exceeded);
  CHECK(scene.create("r\xff", "text").status().code() == ErrorCode::protocol_violation);
  CHECK(scene.create("r", "\xff", 0).status().code() == ErrorCode::protocol_violation);
  CHECK(scene.create("r", "text", ~std::uint64_t{0}).status().code() == ErrorCode::undefined_function);
  CHECK(scene.drop("", 0).status().code() == ErrorCode::undefined_function);
  CHECK(scene.drop(std::string(100'000, 'n'), 1).status().code() == ErrorCode::undefined_function);
  CHECK(scene.read().SerializeAsString() == before);

  Random random(1);
  for (int i = 0; i < 500; ++i) {
    std::string bytes(random.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(256));
    for (const control::Method method : {control::CREATE_ROUTINE, control::DROP_ROUTINE})
      (void)scene.client->call(static_cast<std::uint16_t>(method), bytes);
  }
  const control::GetCatalogReply after = scene.read();
  for (const control::RoutineDescriptor& routine : after.routines()) {
    CHECK_FALSE(routine.name().empty());
    CHECK(routine.name().size() <= 255);
  }
}

}  // namespace catalog_routines_test
}  // namespace namdb::memory

// GET_CATALOG: a worker that asks for changes knows the catalog as it is, whatever happened meanwhile.
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>

#include "common/base/random.h"
#include "memory/coordinator/catalog.h"
#include "memory/testing/control_subject.h"
#include "memory/testing/test_cluster.h"

namespace namdb::memory {
namespace catalog_changes_test {

// A catalog without a log, and the same as a caller of GET_CATALOG puts it together.
class Subject {
 public:
  Subject() : options_(testing::small_options()), memory_((1U << 20) / 8) {
    region_ = std::move(*Region::create(std::as_writable_bytes(std::span(memory_)), options_, 1));
    catalog = std::make_unique<Catalog>(*region_, options_);
  }

  std::uint32_t create(const std::string& name, const std::string& text = "") {
    control::TableDescriptor wanted = testing::accounts(name);
    wanted.mutable_columns(1)->set_default_text(text);
    const auto begun = catalog->begin(1, wanted);
    REQUIRE(begun.ok());
    control::FinishCreateTableRequest finish;
    *finish.mutable_table() = *begun;
    finish.mutable_table()->add_bucket_base(64);
    REQUIRE(catalog->finish(1, finish).ok());
    return begun->id();
  }
  void drop(const std::string& name) { REQUIRE(catalog->drop(name).ok()); }
  void alter(const std::string& name, const std::string& text) {
    control::AlterTableRequest request;
    *request.mutable_table() = catalog->tables().at(name);
    request.mutable_table()->mutable_columns(1)->set_default_text(text);
    REQUIRE(catalog->alter(request).ok());
  }
  void rename(const std::string& name, const std::string& to) {
    control::AlterTableRequest request;
    *request.mutable_table() = catalog->tables().at(name);
    request.mutable_table()->set_name(to);
    REQUIRE(catalog->alter(request).ok());
  }

  std::unique_ptr<Catalog> catalog;

 private:
  Options options_;
  std::vector<std::uint64_t> memory_;
  std::unique_ptr<Region> region_;
};

class Reader {
 public:
  explicit Reader(const Subject& subject) : subject_(subject) {}

  // One call; true while there is more.
  bool ask() {
    control::GetCatalogRequest request;
    request.set_known_version(position_ == 0 || more_ ? 0 : version_);
    request.set_position(position_);
    if (more_) request.set_listing(listing_);
    control::GetCatalogReply reply;
    subject_.catalog->describe(request, reply);
    REQUIRE(reply.ByteSizeLong() <= fabric::kMaxCall_bytes);
    ++calls;
    if (reply.unchanged()) return false;
    if (!reply.difference()) {
      tables_.clear();
      ++wholes;
    }
    for (const std::uint32_t id : reply.dropped()) tables_.erase(id);
    for (const control::TableDescriptor& table : reply.tables()) {
      ++entries;
      tables_[table.id()] = table.SerializeAsString();
    }
    REQUIRE((reply.position() > position_ || !reply.more()));
    position_ = reply.position();
    listing_ = reply.listing();
    version_ = reply.version();
    more_ = reply.more();
    return more_;
  }
  void follow() {
    while (ask()) {
    }
    std::map<std::uint32_t, std::string> expected;
    for (const auto& [name, table] : subject_.catalog->tables())
      expected[table.id()] = table.SerializeAsString();
    CHECK(tables_ == expected);
    CHECK(version_ == subject_.catalog->version());
  }

  int calls = 0;
  int wholes = 0;
  int entries = 0;

 private:
  const Subject& subject_;
  std::uint64_t position_ = 0;
  std::uint64_t listing_ = 0;
  std::uint64_t version_ = 0;
  bool more_ = false;
  std::map<std::uint32_t, std::string> tables_;
};

TEST_CASE("a change costs a caller that entry, and one who knows nothing gets all of them", "[catalog]") {
  Subject subject;
  for (int i = 0; i < 100; ++i) subject.create("t" + std::to_string(i));
  Reader reader(subject);
  reader.follow();
  CHECK(reader.wholes == 1);
  CHECK(reader.entries == 100);
  subject.create("one more");
  subject.drop("t7");
  subject.alter("t8", "x");
  reader.follow();
  CHECK(reader.wholes == 1);
  CHECK(reader.entries == 102);
  reader.follow();
  CHECK(reader.entries == 102);
}

TEST_CASE("a table that is dropped and made again under its name is another one", "[catalog]") {
  Subject subject;
  const std::uint32_t before = subject.create("t");
  Reader reader(subject);
  reader.follow();
  subject.drop("t");
  CHECK(subject.create("t") != before);
  reader.follow();
  // And by a rename.
  subject.create("u");
  subject.rename("t", "v");
  subject.rename("u", "t");
  reader.follow();
  CHECK(reader.wholes == 1);
}

TEST_CASE("a catalog of many replies is that of its last one, although it changes between them",
          "[catalog]") {
  Subject subject;
  const std::string text(40'000, 'x');
  for (int i = 0; i < 100; ++i) subject.create("t" + std::to_string(i), text);
  Reader reader(subject);
  Random random(1);
  int step = 0;
  while (reader.ask()) {
    ++step;
    subject.alter("t" + std::to_string(50 + step), text + "y");  // comes again, or comes at all
    subject.drop("t" + std::to_string(step));                    // was told
    subject.drop("t" + std::to_string(99 - step));               // was not
    subject.create("new" + std::to_string(step));
  }
  CHECK(step > 2);
  reader.follow();
  CHECK(reader.wholes == 1);
}

TEST_CASE("a caller that was away while many entries went gets all of those that are left", "[catalog]") {
  Subject subject;
  subject.create("kept");
  Reader away(subject);
  away.follow();
  Reader present(subject);
  present.follow();
  for (int i = 0; i < 5000; ++i) {
    subject.create("t");
    subject.drop("t");
    if (i % 1000 == 0) present.follow();
    subject.catalog->forget_drops(subject.catalog->position());
  }
  present.follow();
  CHECK(present.wholes == 1);
  away.follow();
  CHECK(away.wholes == 2);
  CHECK(away.entries == 2);
  // A new one gets them in several replies although early drops are forgotten.
  const std::string text(400'000, 'x');
  for (int i = 0; i < 10; ++i) subject.create("long" + std::to_string(i), text);
  Reader fresh(subject);
  fresh.follow();
  CHECK(fresh.wholes == 1);
  CHECK(fresh.calls > 2);
}

TEST_CASE("drops that are forgotten while a listing goes on begin it anew", "[catalog]") {
  Subject subject;
  const std::string text(400'000, 'x');
  for (int i = 0; i < 10; ++i) subject.create("long" + std::to_string(i), text);
  Reader reader(subject);
  REQUIRE(reader.ask());
  subject.drop("long0");
  for (int i = 0; i < 5000; ++i) {
    subject.create("t");
    subject.drop("t");
  }
  subject.catalog->forget_drops(subject.catalog->position());
  reader.follow();
  CHECK(reader.wholes == 2);
}

TEST_CASE("a position that the catalog never had leads to all of it", "[catalog]") {
  Subject subject;
  subject.create("t");
  control::GetCatalogRequest request;
  request.set_position(~std::uint64_t{0});
  control::GetCatalogReply reply;
  subject.catalog->describe(request, reply);
  CHECK_FALSE(reply.difference());
  CHECK(reply.tables_size() == 1);
  // After a restart positions begin behind those that the process could have told.
  control::ControlState state;
  subject.catalog->export_state(state);
  state.mutable_marks()->set_next_table(100);
  Reader reader(subject);
  reader.follow();
  subject.catalog->import_state(state);
  reader.ask();
  CHECK(reader.wholes == 1);  // of the same version
  subject.create("u");
  reader.follow();
  CHECK(reader.wholes == 2);
}

TEST_CASE("callers who ask at random moments know the catalog as it is", "[catalog]") {
  Subject subject;
  Random random(7);
  std::vector<std::unique_ptr<Reader>> readers;
  for (int i = 0; i < 4; ++i) readers.push_back(std::make_unique<Reader>(subject));
  const std::string text(30'000, 'x');
  for (int step = 0; step < 4000; ++step) {
    const std::string name = "t" + std::to_string(random.below(60));
    const bool there = subject.catalog->tables().contains(name);
    const std::uint64_t kind = random.below(10);
    if (!there) {
      subject.create(name, random.chance(0.5) ? text : "");
    } else if (kind < 3) {
      subject.drop(name);
    } else if (kind < 6) {
      subject.alter(name, std::to_string(step));
    } else if (kind == 6) {
      const std::string other = "t" + std::to_string(random.below(60));
      if (!subject.catalog->tables().contains(other)) subject.rename(name, other);
    }
    if (random.chance(0.2)) (void)readers[random.below(readers.size())]->ask();
    if (random.chance(0.01)) readers[random.below(readers.size())]->follow();
  }
  for (const auto& reader : readers) reader->follow();
}

TEST_CASE("one table is given with its indexes, and ids without their entries", "[catalog]") {
  testing::TestCluster cluster;
  const auto client = cluster.client("c");
  REQUIRE(client->connect(testing::hello('a')).ok());
  const auto table = client->create(testing::accounts("t"));
  const auto other = client->create(testing::accounts("u"));
  REQUIRE((table.ok() && other.ok()));
  control::GetCatalogRequest request;
  request.set_part(control::CATALOG_TABLE);
  request.set_table(table->id());
  auto reply = client->call<control::GetCatalogReply>(control::GET_CATALOG, request);
  REQUIRE(reply.ok());
  REQUIRE(reply->tables_size() == 1);
  CHECK(reply->tables(0).name() == "t");
  request.set_part(control::CATALOG_IDS);
  reply = client->call<control::GetCatalogReply>(control::GET_CATALOG, request);
  REQUIRE(reply.ok());
  CHECK(reply->tables_size() == 0);
  CHECK(reply->ids_size() == 2);
  request.set_part(control::CATALOG_VERSION);
  reply = client->call<control::GetCatalogReply>(control::GET_CATALOG, request);
  REQUIRE(reply.ok());
  CHECK(reply->version() == cluster.server->catalog()->version());
  CHECK(reply->ids_size() + reply->tables_size() == 0);
}

TEST_CASE("a logged change is the entry's difference alone, however many tables there are", "[control]") {
  fabric::sim::SimWorld world(1);
  testing::ControlSubject subject(world, "m0");
  REQUIRE(subject.open().ok());
  std::size_t first_bytes = 0;
  for (int i = 0; i < 300; ++i) {
    control::FinishCreateTableRequest finish;
    REQUIRE(subject
                .change([&](Catalog& catalog) {
                  auto begun = catalog.begin(1, testing::accounts("t" + std::to_string(1000 + i)));
                  *finish.mutable_table() = *begun;
                  for (int server = 0; server < 2; ++server) finish.mutable_table()->add_bucket_base(64);
                  return catalog.finish(1, finish).status();
                })
                .ok());
    const std::size_t bytes = subject.log.records.back().second.size();
    if (i == 0) first_bytes = bytes;
    CHECK(bytes <= first_bytes + 16);
  }
  CHECK(subject.exported().SerializeAsString() == subject.control->state().SerializeAsString());
}

}  // namespace catalog_changes_test
}  // namespace namdb::memory

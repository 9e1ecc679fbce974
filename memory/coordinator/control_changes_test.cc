// Changes of control state: none is seen before it is durable, and what a restart cuts off is undone.
#include "memory/coordinator/control_changes.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "memory/testing/control_subject.h"

namespace namdb::memory {
namespace control_changes_test {

using testing::ControlSubject;
using testing::kControlDatabaseId;
using testing::replay;

TEST_CASE("a change is seen when it is durable and not before, and changes come one after the other",
          "[control]") {
  fabric::sim::SimWorld world(1);
  ControlSubject subject(world, "m0");
  REQUIRE(subject.open().ok());
  subject.log.flush_ns = kMillisecond_ns;
  const std::uint64_t version = subject.catalog->version();
  std::vector<ControlChanges::Change> edits;
  std::vector<control::FinishCreateTableRequest> requests;
  for (int i = 0; i < 3; ++i) {
    auto begun = subject.catalog->begin(1, testing::accounts("t" + std::to_string(i)));
    REQUIRE(begun.ok());
    *requests.emplace_back().mutable_table() = *begun;
    for (int server = 0; server < 2; ++server) requests.back().mutable_table()->add_bucket_base(64);
  }
  for (const auto& request : requests)
    edits.emplace_back([&request](Catalog& catalog) { return catalog.finish(1, request).status(); });
  struct Made {
    static reactor::Task<void> make(ControlChanges* control, ControlChanges::Change edit, int* done) {
      const Status status = co_await control->change(edit);
      REQUIRE(status.ok());
      ++*done;
    }
  };
  reactor::Gate gate;
  int done = 0;
  for (const auto& edit : edits) subject.node.spawn(gate, Made::make(subject.control.get(), edit, &done));
  for (int expected = 0; expected < 3; ++expected) {
    world.run_until([&] { return subject.log.records.size() > subject.log.durable; }, kSecond_ns);
    CHECK(done == expected);
    CHECK(subject.catalog->tables().size() == static_cast<std::size_t>(expected));
    CHECK(subject.region->load(subject.region->catalog_version_offset()) ==
          version + static_cast<std::uint64_t>(expected));
    world.run_until([&] { return done > expected; }, kSecond_ns);
  }
  CHECK(subject.catalog->tables().size() == 3);
  CHECK(subject.exported().SerializeAsString() == subject.control->state().SerializeAsString());
}

TEST_CASE("after a restart ids go on behind all that were given out, and unfinished objects are undone",
          "[control]") {
  fabric::sim::SimWorld world(1);
  ControlSubject subject(world, "m0");
  REQUIRE(subject.open().ok());
  // A creation that is not finished, and an index that is being built.
  control::FinishCreateTableRequest finish;
  control::IndexDescriptor index;
  std::uint32_t last_id = 0;
  REQUIRE(subject
              .change([&](Catalog& catalog) {
                auto begun = catalog.begin(1, testing::accounts("t"));
                *finish.mutable_table() = *begun;
                for (int server = 0; server < 2; ++server) finish.mutable_table()->add_bucket_base(64);
                return catalog.finish(1, finish).status();
              })
              .ok());
  REQUIRE(subject
              .change([&](Catalog& catalog) {
                index.set_name("i");
                index.set_table(finish.table().id());
                index.add_columns()->set_column(1);
                index = *catalog.begin_index(1, index);
                index.add_parts();
                control::AdvanceIndexRequest request;
                *request.mutable_index() = index;
                request.set_state(control::INDEX_BUILDING);
                return catalog.advance_index(1, request).status();
              })
              .ok());
  REQUIRE(subject
              .change([&](Catalog& catalog) {
                last_id = catalog.begin(1, testing::accounts("unfinished"))->id();
                return Status();
              })
              .ok());
  REQUIRE(world.run(subject.node, subject.control->reserve_slot()).ok());
  const auto slot = subject.slots->lease(1, "id", "c");
  REQUIRE(slot.ok());
  const std::uint64_t version = subject.catalog->version();

  ControlSubject again(world, "again");
  CHECK(again.open(subject.control->state(), kControlDatabaseId + 1).code() == ErrorCode::configuration);
  ControlSubject opened(world, "opened");
  const control::ControlState state = replay(subject, subject.log.records.size());
  REQUIRE(opened.open(state).ok());
  CHECK(opened.control->database_id() == kControlDatabaseId);
  CHECK(opened.catalog->tables().contains("t"));
  CHECK(opened.catalog->indexes().empty());
  CHECK(opened.catalog->creating().empty());
  CHECK(opened.catalog->version() > version);
  CHECK(opened.catalog->next_id() > last_id);
  CHECK(opened.slots->next_slot() > (*slot)->id);
  // Nothing of an earlier slot is open; the vector shows that all of them are retired.
  CHECK(opened.slots->published({(*slot)->id, 12345}));
  CHECK_FALSE(opened.slots->published({opened.slots->next_slot(), 1}));
  CHECK(opened.region->vector_word(0).stamp().slot + 1 == opened.slots->next_slot());
  CHECK(opened.log.records.size() >= 1);
}

TEST_CASE("slots are cut off by the end of the start that leased them, until a later start leases one",
          "[control]") {
  fabric::sim::SimWorld world(1);
  const auto lease = [&world](ControlSubject& subject) {
    REQUIRE(world.run(subject.node, subject.control->reserve_slot()).ok());
    const auto slot = subject.slots->lease(1, "id", "c");
    REQUIRE(slot.ok());
    return (*slot)->id;
  };
  ControlSubject first(world, "first");
  REQUIRE(first.open().ok());
  const std::uint32_t open = lease(first);
  const std::uint32_t closed = lease(first);
  REQUIRE(first.slots->close(1, closed, 3, 1).ok());
  REQUIRE(world.run(first.node, first.control->log_closed(closed, 3)).ok());
  CHECK_FALSE(first.slots->cut_off(open));

  ControlSubject second(world, "second");
  REQUIRE(second.open(first.control->state()).ok());
  CHECK(second.slots->cut_off(open));
  CHECK_FALSE(second.slots->cut_off(closed));
  ControlSubject third(world, "third");
  REQUIRE(third.open(second.control->state()).ok());
  CHECK(third.slots->cut_off(open));
  const std::uint32_t later = lease(third);
  ControlSubject fourth(world, "fourth");
  REQUIRE(fourth.open(third.control->state()).ok());
  CHECK_FALSE(fourth.slots->cut_off(open));
  CHECK(fourth.slots->cut_off(later));
}

}  // namespace control_changes_test
}  // namespace namdb::memory

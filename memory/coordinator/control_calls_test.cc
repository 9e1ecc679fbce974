// Memory servers with a log: each call is answered once its change is durable.
#include <catch2/catch.hpp>
#include <memory>
#include <span>

#include "memory/coordinator/control_changes.h"
#include "memory/coordinator/control_state.h"
#include "memory/testing/test_cluster.h"
#include "memory/testing/test_control_log.h"

namespace namdb::memory {

TEST_CASE(
    "a server logs what its calls change, and tables of other servers than 0 are logged before they "
    "are prepared",
    "[control]") {
  for (const std::uint16_t server : {0, 1}) {
    Options options = testing::small_options();
    options.server_id = server;
    options.server_count = server + 1;
    std::unique_ptr<testing::TestControlLog> log;
    testing::TestCluster cluster(options, 8U << 20, 1, [&](testing::TestCluster& made) {
      log = std::make_unique<testing::TestControlLog>(made.node);
      REQUIRE(made.world.run(made.node, made.server->open_control({}, 0xda7aba5e, *log)).ok());
    });
    const auto client = cluster.client("c");
    REQUIRE(client->connect(testing::hello('a')).ok());
    const std::size_t before = log->records.size();
    if (server == 0) {
      REQUIRE(client->create(testing::accounts("accounts")).ok());
      const auto slot = client->lease();
      REQUIRE(slot.ok());
      control::CloseSlotRequest close;
      close.set_slot(slot->slot());
      REQUIRE(client->call<control::CloseSlotReply>(control::CLOSE_SLOT, close).ok());
      const control::ControlState& state = cluster.server->control()->state();
      REQUIRE(state.tables_size() == 1);
      CHECK(state.tables(0).name() == "accounts");
      REQUIRE(state.closed().slots_size() == 1);
      CHECK(state.closed().slots(0) == slot->slot());
      log->full = true;
      CHECK(client->create(testing::accounts("more")).status().message() == "the disk is full");
      CHECK(cluster.server->catalog()->tables().size() == 1);
      log->full = false;
      control::DropTableRequest drop;
      drop.set_name("accounts");
      REQUIRE(client->call<control::DropTableReply>(control::DROP_TABLE, drop).ok());
      CHECK(state.tables_size() == 0);
      control::CreateRoutineRequest create;
      create.set_name("r");
      log->full = true;
      CHECK(client->call<control::CreateRoutineReply>(control::CREATE_ROUTINE, create).status().message() ==
            "the disk is full");
      CHECK(cluster.server->catalog()->routines().empty());
      log->full = false;
      REQUIRE(client->call<control::CreateRoutineReply>(control::CREATE_ROUTINE, create).ok());
      REQUIRE(state.routines_size() == 1);
      CHECK(log->durable == log->records.size());
      // An index that a channel was building goes with it, in the log as well.
      client->disconnect();
      cluster.run_for(kMillisecond_ns);
      continue;
    }
    control::PrepareTableRequest prepare;
    *prepare.mutable_table() = testing::accounts("accounts");
    prepare.mutable_table()->set_id(5);
    prepare.mutable_table()->set_generation(1);
    log->full = true;
    CHECK(client->call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare).status().message() ==
          "the disk is full");
    CHECK(cluster.server->tables().find(5) == nullptr);
    log->full = false;
    prepare.mutable_table()->set_id(6);
    REQUIRE(client->call<control::PrepareTableReply>(control::PREPARE_TABLE, prepare).ok());
    REQUIRE(log->durable == before + 1);
    CHECK(log->records.back().first == ControlRecord::table);
    const auto record = read_table_record(
        std::as_bytes(std::span(log->records.back().second.data(), log->records.back().second.size())));
    REQUIRE(record.ok());
    CHECK(record->table().SerializeAsString() == prepare.table().SerializeAsString());
  }
}

}  // namespace namdb::memory

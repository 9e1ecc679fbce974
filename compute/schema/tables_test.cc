// Creating tables, by the calls that memory servers get.
#include "compute/schema/tables.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compute/testing/test_worker.h"

namespace namdb::schema {
namespace {

using protocol::testing::TestWorker;

constexpr std::uint32_t kId = 30;
constexpr std::uint64_t kBase_offset = 0x8000;

layout::Schema one_column() {
  std::vector<layout::Column> columns(1);
  columns[0] = {.name = "id", .type = layout::ColumnType::bigint};
  return layout::Schema::create(std::move(columns), {0}).value();
}

// Three memory servers that count calls. The n-th call of PREPARE_TABLE, from 0 on, is refused.
struct Scene {
  explicit Scene(std::size_t refused) : worker({.servers = 3}), tables(worker.state) {
    count(control::BEGIN_CREATE_TABLE, [](std::string_view request, std::string& reply) {
      control::BeginCreateTableRequest begin;
      REQUIRE(begin.ParseFromArray(request.data(), static_cast<int>(request.size())));
      control::BeginCreateTableReply begun;
      *begun.mutable_table() = begin.table();
      begun.mutable_table()->set_id(kId);
      reply = begun.SerializeAsString();
      return Status();
    });
    count(control::PREPARE_TABLE, [this, refused](std::string_view, std::string& reply) {
      if (calls[control::PREPARE_TABLE] == refused + 1) return Status(ErrorCode::out_of_memory, "full");
      control::PrepareTableReply prepared;
      prepared.set_bucket_base(kBase_offset + calls[control::PREPARE_TABLE]);
      reply = prepared.SerializeAsString();
      return Status();
    });
    count(control::DISCARD_TABLE, [](std::string_view, std::string&) { return Status(); });
    count(control::FINISH_CREATE_TABLE, [this](std::string_view request, std::string&) {
      REQUIRE(finish.ParseFromArray(request.data(), static_cast<int>(request.size())));
      return Status();
    });
  }
  Status create() { return worker.run(tables.create({.name = "created", .schema = one_column()})); }
  template <typename Answer>
  void count(control::Method method, Answer answer) {
    worker.fabric.handle(static_cast<std::uint16_t>(method),
                         [this, method, answer](std::string_view request, std::string& reply) {
                           ++calls[method];
                           return answer(request, reply);
                         });
  }

  TestWorker worker;
  Tables tables;
  std::map<control::Method, std::size_t> calls;
  control::FinishCreateTableRequest finish;
};

TEST_CASE("a table is finished with its buckets on all memory servers", "[tables]") {
  Scene scene(3);
  REQUIRE(scene.create().ok());
  CHECK(scene.calls[control::PREPARE_TABLE] == 3);
  CHECK(scene.calls[control::DISCARD_TABLE] == 0);
  CHECK_FALSE(scene.finish.abandon());
  REQUIRE(scene.finish.table().bucket_base_size() == 3);
  for (int server = 0; server < 3; ++server)
    CHECK(scene.finish.table().bucket_base(server) == kBase_offset + 1 + static_cast<std::uint64_t>(server));
}

TEST_CASE("a table is prepared on all memory servers side by side; if one refuses, all discard it",
          "[tables]") {
  for (std::size_t refused = 0; refused < 3; ++refused) {
    Scene scene(refused);
    const Status status = scene.create();
    CHECK(status.code() == ErrorCode::out_of_memory);
    CHECK(scene.calls[control::PREPARE_TABLE] == 3);  // no call waits for another's answer
    CHECK(scene.calls[control::DISCARD_TABLE] == 3);
    CHECK(scene.calls[control::FINISH_CREATE_TABLE] == 1);
    CHECK(scene.finish.abandon());
    CHECK(scene.finish.table().id() == kId);
  }
}

TEST_CASE("the catalog sizes a table: its creator says how many rows it will have", "[tables]") {
  Scene scene(3);
  REQUIRE(scene.create().ok());
  CHECK(scene.finish.table().size_hint_rows() == txn::TableDefinition().size_hint_rows);
  CHECK(scene.finish.table().buckets_per_server() == 0);
  CHECK(scene.finish.table().ring_slots() == 0);
}

}  // namespace
}  // namespace namdb::schema

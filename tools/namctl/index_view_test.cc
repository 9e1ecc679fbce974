#include "tools/namctl/index_view.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "proto/control.pb.h"

namespace namdb::namctl {
namespace {

MemoryView server(std::uint32_t id) {
  MemoryView view{"unix:m", {}, {}};
  view.reply.set_server_id(id);
  control::TableUse& table = *view.reply.add_tables();
  table.set_id(1);
  table.set_name("item");
  return view;
}

void add(MemoryView& view, std::uint32_t id, const char* name, std::uint64_t bytes, std::uint64_t entries) {
  control::IndexUse& use = *view.reply.add_indexes();
  use.set_id(id);
  use.set_name(name);
  use.set_table(1);
  use.set_page_bytes(bytes);
  use.set_entries(entries);
}

}  // namespace

TEST_CASE("an index's parts are put together from the memory servers that have them", "[index_view]") {
  ClusterView view;
  MemoryView down{"unix:d", Status(ErrorCode::connection_failure, "gone"), {}};
  add(down, 5, "never", 1, 1);
  view.memory.push_back(server(0));
  view.memory.push_back(std::move(down));
  view.memory.push_back(server(2));
  add(view.memory[0], 7, "by_shelf", 2U << 20, 100);
  add(view.memory[2], 7, "by_shelf", 3U << 20, 50);
  add(view.memory[2], 9, "by_shelf", 1U << 19, 1);
  const std::vector<IndexView> indexes = view_indexes(view);
  REQUIRE(indexes.size() == 2);
  CHECK(index_line(indexes[0]) ==
        "index by_shelf                 on item, btree (id 7): 150 entries, 2 parts: 2.0 MiB on server 0, "
        "3.0 MiB on server 2");
  CHECK(index_line(indexes[1]) ==
        "index by_shelf                 on item, btree (id 9): 1 entries, 1 part: 0.5 MiB on server 2");
  const nlohmann::json document = to_json(indexes);
  CHECK(document[0]["parts"].size() == 2);
  CHECK(document[0]["parts"][1]["server_id"] == 2);
  CHECK(document[0]["parts"][1]["bytes"] == 3U << 20);
  CHECK(document[1]["table"] == "item");
}

}  // namespace namdb::namctl

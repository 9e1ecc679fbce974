#include "tools/namctl/top_view.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace namdb::namctl {
namespace {

using std::chrono::seconds;

ClusterView view(std::uint64_t epoch, std::uint64_t moved, std::uint64_t commits, std::uint64_t conflicts) {
  ClusterView view;
  MemoryView memory{"unix:m", {}, {}};
  memory.reply.set_epoch(epoch);
  memory.reply.set_versions_moved(moved);
  memory.reply.mutable_backlog()->set_sampled_ring_slots(200);
  memory.reply.mutable_backlog()->set_unmoved_ring_slots(25);
  view.memory.push_back(memory);
  ComputeView compute;
  compute.address = "h:1";
  compute.statistics["a"] = {{"commits", commits}, {"aborts_write_conflict", conflicts}};
  compute.statistics["b"] = {{"commits", commits}, {"aborts_write_conflict", conflicts}};
  view.compute.push_back(compute);
  return view;
}

bool contains(const std::vector<std::string>& lines, const std::string& words) {
  for (const std::string& line : lines) {
    if (line.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("rates are those between two looks, added up over transaction types, aborts by reason", "[top]") {
  TopView top;
  const TopView::Clock::time_point begin;
  top.look(view(1, 100, 10, 1), begin);
  CHECK(contains(top.lines(), "commits -"));
  CHECK(top.json()["compute_servers"][0]["per_second"].empty());
  top.look(view(1, 400, 40, 6), begin + seconds(2));
  CHECK(top.json()["memory_servers"][0]["per_second"]["versions_moved"] == 150.0);
  CHECK(top.json()["memory_servers"][0]["ring_fill"] == 0.125);
  CHECK(top.json()["compute_servers"][0]["per_second"]["commits"] == 30.0);
  CHECK(contains(top.lines(), "rings 12.5 % full"));
  CHECK(contains(top.lines(), "mover 150/s"));
  CHECK(contains(top.lines(), "commits 30/s"));
  CHECK(contains(top.lines(), "write_conflict 5/s"));
}

TEST_CASE("a server that was started again, or did not answer, has no rates until the look after", "[top]") {
  TopView top;
  const TopView::Clock::time_point begin;
  top.look(view(1, 100, 10, 1), begin);
  top.look(view(2, 5, 4, 0), begin + seconds(1));
  CHECK(top.json()["memory_servers"][0]["per_second"].empty());
  CHECK(top.json()["compute_servers"][0]["per_second"].empty());
  ClusterView down = view(2, 5, 4, 0);
  down.memory[0].status = Status(ErrorCode::connection_failure, "nobody there");
  down.compute[0].error = "nobody there";
  top.look(down, begin + seconds(2));
  CHECK(contains(top.lines(), "DOWN: nobody there"));
  top.look(view(2, 50, 40, 0), begin + seconds(3));
  CHECK(top.json()["memory_servers"][0]["per_second"].empty());
  top.look(view(2, 51, 40, 0), begin + seconds(4));
  CHECK(top.json()["memory_servers"][0]["per_second"]["versions_moved"] == 1.0);
}

}  // namespace namdb::namctl

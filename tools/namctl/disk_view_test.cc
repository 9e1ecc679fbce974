#include "tools/namctl/disk_view.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tools/namctl/cluster_json.h"
#include "tools/namctl/top_view.h"

namespace namdb::namctl {
namespace disk_view_test {

control::StatusReply durable_reply() {
  control::StatusReply reply;
  reply.set_durability("flushed");
  control::DiskStatus& disk = *reply.mutable_disk();
  disk.set_folder("/data/m0");
  disk.set_position(5000);
  disk.set_synced_writes(40);
  disk.set_records(100);
  disk.set_written_bytes(8U << 20);
  disk.set_used_bytes(10U << 20);
  disk.set_limit_bytes(40U << 20);
  control::CheckpointStatus& checkpoint = *disk.mutable_checkpoint();
  checkpoint.set_generation(7);
  checkpoint.set_bytes(24U << 20);
  return reply;
}

void run(control::CheckpointStatus& checkpoint, std::uint64_t done) {
  checkpoint.set_running(true);
  checkpoint.set_running_ns(3'000'000'000);
  checkpoint.set_extents(200);
  checkpoint.set_done_extents(done);
  checkpoint.set_done_bytes(12U << 20);
}

bool contains(const std::vector<std::string>& lines, const std::string& words) {
  for (const std::string& line : lines) {
    if (line.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST_CASE("status says how much of the log is used, and what is unusual about checkpoints", "[disk]") {
  control::StatusReply reply = durable_reply();
  CHECK(contains(disk_lines(reply), "durability flushed, in /data/m0"));
  CHECK(contains(disk_lines(reply), "10.0 of 40.0 MiB used (25 %), 40 synced writes"));
  CHECK(contains(disk_lines(reply), "checkpoint 7 of 24.0 MiB"));
  CHECK_FALSE(contains(disk_lines(reply), "FULL"));
  CHECK_FALSE(contains(disk_lines(reply), "ago"));
  control::DiskStatus& disk = *reply.mutable_disk();
  disk.set_full(true);
  disk.mutable_checkpoint()->set_age_ns(12'000'000'000);
  disk.mutable_checkpoint()->set_error("the disk is full");
  disk.mutable_checkpoint()->set_held(true);
  CHECK(contains(disk_lines(reply), "FULL: commits are refused"));
  CHECK(contains(disk_lines(reply), "12 s ago"));
  CHECK(contains(disk_lines(reply), "abandoned: the disk is full"));
  CHECK(contains(disk_lines(reply), "held by a backup"));
  reply.clear_disk();
  CHECK(contains(disk_lines(reply), "all is lost when the process ends"));
}

TEST_CASE("status says what a server opened, and what was lost", "[disk]") {
  control::StatusReply reply = durable_reply();
  control::OpeningStatus& opening = *reply.mutable_opening();
  opening.set_rows(1200);
  opening.set_tables(3);
  opening.set_damaged_chunks(2);
  opening.add_lost("10 bytes of the log");
  CHECK(contains(disk_lines(reply), "3 tables with 1200 rows"));
  CHECK(contains(disk_lines(reply), "2 chunks were damaged"));
  CHECK(contains(disk_lines(reply), "LOST: 10 bytes of the log"));
  opening.set_created(true);
  CHECK(contains(disk_lines(reply), "as a new database"));
}

TEST_CASE("the rest of a checkpoint is estimated by its pace so far", "[disk]") {
  control::CheckpointStatus checkpoint;
  CHECK_FALSE(checkpoint_part(checkpoint).has_value());
  run(checkpoint, 0);
  CHECK(checkpoint_part(checkpoint) == 0.0);
  CHECK_FALSE(checkpoint_remaining_s(checkpoint).has_value());
  run(checkpoint, 50);
  CHECK(checkpoint_part(checkpoint) == 0.25);
  CHECK(checkpoint_remaining_s(checkpoint) == 9.0);
  CHECK(checkpoint_progress(checkpoint) == "25 % of 200 extents, 12.0 MiB, 9.0 s left");
}

TEST_CASE("programs get log and checkpoint of each memory server", "[disk]") {
  ClusterView view;
  MemoryView memory{"unix:m", {}, durable_reply()};
  run(*memory.reply.mutable_disk()->mutable_checkpoint(), 50);
  view.memory.push_back(memory);
  const nlohmann::json document = to_json(view);
  const nlohmann::json& server = document["memory_servers"][0];
  CHECK(server["durability"] == "flushed");
  CHECK(server["log"]["synced_writes"] == 40);
  CHECK(server["log"]["room_bytes"] == 30U << 20);
  CHECK(server["checkpoint"]["generation"] == 7);
  CHECK(server["checkpoint"]["remaining_s"] == 9.0);
}

TEST_CASE("top shows the rates of the log, and how far a checkpoint is", "[disk]") {
  using std::chrono::seconds;
  TopView top;
  const TopView::Clock::time_point begin;
  ClusterView view;
  view.memory.push_back({"unix:m", {}, durable_reply()});
  top.look(view, begin);
  CHECK(contains(top.lines(), "log -, -, - records each"));
  control::DiskStatus& disk = *view.memory[0].reply.mutable_disk();
  disk.set_synced_writes(60);
  disk.set_records(150);
  disk.set_written_bytes(10U << 20);
  run(*disk.mutable_checkpoint(), 50);
  top.look(view, begin + seconds(2));
  CHECK(contains(top.lines(), "log 10/s, 1.0 MiB/s, 2.5 records each; 10.0 of 40.0 MiB used"));
  CHECK(contains(top.lines(), "the next one: 25 % of 200 extents, 12.0 MiB, 9.0 s left"));
  CHECK(top.json()["memory_servers"][0]["per_second"]["log_synced_writes"] == 10.0);
}

}  // namespace disk_view_test
}  // namespace namdb::namctl

#include "tools/namctl/disk_view.h"

#include <cinttypes>
#include <nlohmann/json.hpp>

#include "common/layout/global_address.h"
#include "memory/log/manifest.h"
#include "tools/namctl/output.h"

namespace namdb::namctl {
namespace {

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string log_text(const control::DiskStatus& disk) {
  return text("log: position %" PRIu64 ", %.1f of %.1f MiB used (%.0f %%), %" PRIu64
              " synced writes of %.1f MiB%s",
              disk.position(), mebibytes(disk.used_bytes()), mebibytes(disk.limit_bytes()),
              percent(disk.used_bytes(), disk.limit_bytes()), disk.synced_writes(),
              mebibytes(disk.written_bytes()), disk.full() ? "; FULL: commits are refused" : "");
}

std::string opening_text(const control::OpeningStatus& opening) {
  if (opening.created()) return "opened: as a new database";
  std::string line =
      text("opened: %" PRIu64 " tables with %" PRIu64
           " rows in %.1f s, from checkpoint %s of %.1f MiB and %.1f MiB of log with %" PRIu64 " entries",
           opening.tables(), opening.rows(), in_seconds(opening.duration_ns()),
           memory::generation_text(opening.generation()).c_str(), mebibytes(opening.checkpoint_bytes()),
           mebibytes(opening.log_bytes()), opening.entries());
  if (opening.damaged_chunks() != 0)
    line += text("; %" PRIu64 " chunks were damaged and an earlier checkpoint's served",
                 opening.damaged_chunks());
  return line;
}

std::string stuck_text(const control::CheckpointStatus& checkpoint) {
  std::string line = text("%" PRIu64 " extents keep an older copy and the log from position %" PRIu64 " on",
                          checkpoint.kept_extents(), checkpoint.redo_from());
  for (const control::StuckRecord& record : checkpoint.stuck()) {
    const layout::GlobalAddress address(record.address());
    line += text("; half-installed all the time: a record of table \"%s\" at server %u, offset 0x%" PRIx64,
                 record.table().c_str(), unsigned{address.server()}, address.offset());
    line += record.locked() ? text(", locked by slot %" PRIu32, record.slot()) : ", not locked";
  }
  return line;
}

}  // namespace

std::optional<double> checkpoint_part(const control::CheckpointStatus& checkpoint) {
  if (!checkpoint.running() || checkpoint.extents() == 0) return std::nullopt;
  return static_cast<double>(checkpoint.done_extents()) / static_cast<double>(checkpoint.extents());
}

std::optional<double> checkpoint_remaining_s(const control::CheckpointStatus& checkpoint) {
  const std::optional<double> part = checkpoint_part(checkpoint);
  if (!part || *part == 0) return std::nullopt;
  return in_seconds(checkpoint.running_ns()) * (1 - *part) / *part;
}

std::string checkpoint_progress(const control::CheckpointStatus& checkpoint) {
  const std::optional<double> part = checkpoint_part(checkpoint);
  if (!part) return "begins";
  const std::optional<double> remaining_s = checkpoint_remaining_s(checkpoint);
  return text("%.0f %% of %" PRIu64 " extents, %.1f MiB", 100 * *part, checkpoint.extents(),
              mebibytes(checkpoint.done_bytes())) +
         (remaining_s ? text(", %.1f s left", *remaining_s) : "");
}

std::string checkpoint_text(const control::CheckpointStatus& checkpoint) {
  std::string line =
      checkpoint.generation() == 0
          ? "no checkpoint yet"
          : text("checkpoint %s of %.1f MiB", memory::generation_text(checkpoint.generation()).c_str(),
                 mebibytes(checkpoint.bytes()));
  if (checkpoint.has_age_ns()) {
    line += text(", %.0f s ago, took %.1f s, wrote %.1f MiB", in_seconds(checkpoint.age_ns()),
                 in_seconds(checkpoint.duration_ns()), mebibytes(checkpoint.written_bytes()));
  }
  if (checkpoint.running()) line += "; the next one: " + checkpoint_progress(checkpoint);
  if (checkpoint.held()) line += "; held by a backup";
  if (checkpoint.kept_extents() != 0) line += "; " + stuck_text(checkpoint);
  if (!checkpoint.error().empty()) line += "; the last attempt was abandoned: " + checkpoint.error();
  return line;
}

std::vector<std::string> disk_lines(const control::StatusReply& reply) {
  if (!reply.has_disk()) return {"durability memory: all is lost when the process ends"};
  std::vector<std::string> lines = {"durability " + reply.durability() + ", in " + reply.disk().folder(),
                                    log_text(reply.disk()), checkpoint_text(reply.disk().checkpoint())};
  if (!reply.has_opening()) return lines;
  lines.push_back(opening_text(reply.opening()));
  for (const std::string& lost : reply.opening().lost()) lines.push_back("LOST: " + lost);
  return lines;
}

nlohmann::json log_json(const control::DiskStatus& disk) {
  const std::uint64_t room_bytes =
      disk.limit_bytes() > disk.used_bytes() ? disk.limit_bytes() - disk.used_bytes() : 0;
  return {{"folder", disk.folder()},
          {"position", disk.position()},
          {"durable_position", disk.durable_position()},
          {"records", disk.records()},
          {"appended_bytes", disk.appended_bytes()},
          {"synced_writes", disk.synced_writes()},
          {"written_bytes", disk.written_bytes()},
          {"used_bytes", disk.used_bytes()},
          {"limit_bytes", disk.limit_bytes()},
          {"room_bytes", room_bytes},
          {"full", disk.full()}};
}

nlohmann::json checkpoint_json(const control::CheckpointStatus& checkpoint) {
  nlohmann::json entry = {
      {"generation", checkpoint.generation()}, {"redo_from", checkpoint.redo_from()},
      {"chunks", checkpoint.chunks()},         {"bytes", checkpoint.bytes()},
      {"finished", checkpoint.finished()},     {"held", checkpoint.held()},
      {"running", checkpoint.running()},       {"kept_extents", checkpoint.kept_extents()}};
  for (const control::StuckRecord& record : checkpoint.stuck()) {
    const layout::GlobalAddress address(record.address());
    nlohmann::json stuck = {
        {"table", record.table()}, {"server_id", address.server()}, {"offset", address.offset()}};
    if (record.locked()) stuck["slot"] = record.slot();
    entry["stuck"].push_back(std::move(stuck));
  }
  if (checkpoint.has_age_ns()) {
    entry["age_ns"] = checkpoint.age_ns();
    entry["duration_ns"] = checkpoint.duration_ns();
    entry["written_bytes"] = checkpoint.written_bytes();
  }
  if (!checkpoint.error().empty()) entry["error"] = checkpoint.error();
  if (checkpoint.running()) {
    entry["running_ns"] = checkpoint.running_ns();
    entry["extents"] = checkpoint.extents();
    entry["done_extents"] = checkpoint.done_extents();
    entry["done_bytes"] = checkpoint.done_bytes();
    if (const auto remaining_s = checkpoint_remaining_s(checkpoint)) entry["remaining_s"] = *remaining_s;
  }
  return entry;
}

nlohmann::json opening_json(const control::OpeningStatus& opening) {
  nlohmann::json lost = nlohmann::json::array();
  for (const std::string& line : opening.lost()) lost.push_back(line);
  return {{"created", opening.created()},
          {"generation", opening.generation()},
          {"checkpoint_bytes", opening.checkpoint_bytes()},
          {"damaged_chunks", opening.damaged_chunks()},
          {"log_bytes", opening.log_bytes()},
          {"entries", opening.entries()},
          {"tables", opening.tables()},
          {"indexes", opening.indexes()},
          {"rows", opening.rows()},
          {"duration_ns", opening.duration_ns()},
          {"lost", lost}};
}

}  // namespace namdb::namctl

#include "memory/log/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "memory/log/checkpoint_store.h"
#include "memory/log/log_reader.h"

namespace namdb::memory {
namespace {

std::string count_of(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

reactor::Task<Status> verify_log(Disk* disk, std::string folder, VerifyReport* report) {
  LogReader reader(*disk, folder);
  Status status = co_await reader.open(0, std::nullopt);
  if (!status.ok() && status.code() == kDiskFailed) co_return status;
  report->has_log = true;
  if (!status.ok()) {
    report->findings.push_back({folder, status.message(), "the log cannot be read"});
    co_return Status();
  }
  report->identity = reader.identity();
  while (true) {
    const Result<std::optional<LogRecord>> next = co_await reader.next();
    if (!next.ok()) {
      if (!reader.damage()) co_return next.status();
      const LogDamage& damage = *reader.damage();
      report->findings.push_back({damage.file + ", offset " + std::to_string(damage.offset), damage.what,
                                  count_of(damage.lost_to - damage.lost_from, "byte") +
                                      " of the log behind position " + std::to_string(damage.lost_from)});
      reader.skip_damage();
      continue;
    }
    if (!next.value()) break;
    const LogRecord& record = *next.value();
    if (report->records == 0) report->log_begin = record.begin;
    ++report->records;
    report->record_bytes += record.bytes.size();
  }
  report->log_end = reader.position();
  if (report->records == 0) report->log_begin = report->log_end;
  report->blocks = reader.blocks();
  report->torn = reader.torn();
  co_return Status();
}

reactor::Task<Status> verify_checkpoint(Disk* disk, std::string folder, std::string name,
                                        VerifyReport* report) {
  const std::string path = folder + "/" + name;
  const Result<Manifest> loaded = co_await load_manifest(*disk, path);
  if (!loaded.ok()) {
    if (loaded.status().code() == kDiskFailed) co_return loaded.status();
    report->findings.push_back({path, loaded.status().message(), "this generation of the checkpoint"});
    co_return Status();
  }
  const Manifest& manifest = loaded.value();
  if (report->has_log && report->identity.log_id != 0 && manifest.identity != report->identity)
    report->findings.push_back({path, "the checkpoint belongs to another log", "this generation"});
  VerifiedCheckpoint checkpoint;
  checkpoint.generation = manifest.generation;
  checkpoint.redo_from = manifest.redo_from;
  for (const ChunkRef& ref : manifest.chunks) {
    const Result<std::vector<std::byte>> chunk =
        co_await load_chunk(*disk, folder, manifest.identity.log_id, ref);
    ++checkpoint.chunks;
    checkpoint.bytes += ref.payload_bytes;
    if (chunk.ok()) continue;
    report->findings.push_back(
        {folder + "/" + chunk_name(ref.key, ref.generation), chunk.status().message(),
         "chunk " + std::to_string(ref.key) + " of generation " + std::to_string(manifest.generation)});
  }
  report->checkpoints.push_back(checkpoint);
  co_return Status();
}

void compare(VerifyReport& report) {
  if (!report.has_log || report.identity.log_id == 0) return;
  for (const VerifiedCheckpoint& checkpoint : report.checkpoints) {
    const std::string where = "checkpoint " + std::to_string(checkpoint.generation);
    if (checkpoint.redo_from > report.log_end) {
      report.findings.push_back({where, "redo begins behind the end of the log",
                                 count_of(checkpoint.redo_from - report.log_end, "byte") + " of the log"});
    }
    if (checkpoint.redo_from < report.log_begin) {
      report.findings.push_back({where, "the log begins behind the place where redo begins",
                                 count_of(report.log_begin - checkpoint.redo_from, "byte") + " of the log"});
    }
  }
}

}  // namespace

std::string VerifyFinding::text() const {
  return what.find(where) == std::string::npos ? where + ": " + what : what;
}

reactor::Task<Result<VerifyReport>> verify_folder(Disk& disk, std::string folder) {
  VerifyReport report;
  const Result<std::vector<std::string>> rooms = co_await disk.list(folder);
  if (!rooms.ok()) co_return rooms.status();
  const auto has = [&rooms](std::string_view name) { return std::ranges::count(rooms.value(), name) != 0; };
  if (!has("log") && !has("checkpoint"))
    co_return Status(ErrorCode::configuration, folder + " has neither log nor checkpoint");
  if (has("log")) {
    const std::string path = folder + "/log";
    Status status = co_await verify_log(&disk, path, &report);
    if (!status.ok()) co_return status;
  } else {
    report.findings.push_back({folder, "there is no log", "all that the checkpoint does not hold"});
  }
  if (has("checkpoint")) {
    const std::string path = folder + "/checkpoint";
    const Result<std::vector<std::string>> names = co_await disk.list(path);
    if (!names.ok()) co_return names.status();
    for (const std::string& name : names.value()) {
      if (!manifest_generation(name)) continue;
      Status status = co_await verify_checkpoint(&disk, path, name, &report);
      if (!status.ok()) co_return status;
    }
  }
  compare(report);
  co_return std::move(report);
}

}  // namespace namdb::memory

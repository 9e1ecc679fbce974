#include "memory/log/verify.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "memory/log/checkpoint_store.h"
#include "memory/log/folder_identity.h"
#include "memory/log/log_reader.h"

namespace namdb::memory {
namespace {

constexpr const char* kRestore = "restore the folder from a backup";

std::string count_of(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string remedy_of(const Status& status) {
  return status.code() == kDiskFailed || status.hint().empty() ? kRestore : status.hint();
}

class Verification {
 public:
  Verification(Disk& disk, std::string folder) : disk_(disk), folder_(std::move(folder)) {}
  Verification(const Verification&) = delete;
  Verification& operator=(const Verification&) = delete;

  reactor::Task<Status> run();
  VerifyReport take() { return std::move(report_); }

 private:
  // A finding whose remedy depends on what else is there.
  struct LogGap {
    std::size_t finding = 0;
    LogPosition lost_to = 0;
  };
  struct CheckedChunk {
    ChunkRef ref;
    std::optional<std::size_t> finding;  // it is damaged
  };
  struct Generation {
    std::uint64_t number = 0;
    LogPosition redo_from = 0;
    std::optional<std::size_t> finding;  // its manifest is damaged
    std::vector<CheckedChunk> chunks;    // by key
  };

  std::size_t add(std::string where, std::string what, std::string lost, std::string remedy) {
    report_.findings.push_back({std::move(where), std::move(what), std::move(lost), std::move(remedy)});
    return report_.findings.size() - 1;
  }
  reactor::Task<void> read_log();
  // Of a log that cannot be read as a whole. `told`: why.
  reactor::Task<void> read_segments(std::string told);
  reactor::Task<Status> segment_header(std::string path, std::uint64_t number);
  reactor::Task<void> read_checkpoints();
  reactor::Task<void> read_generation(std::string name, std::uint64_t number);
  // Redo could begin there.
  bool has_redo(const Generation& generation) const {
    return !generation.finding && report_.has_log && generation.redo_from >= report_.log_begin;
  }
  // A server opens with it alone.
  bool is_whole(const Generation& generation) const {
    return has_redo(generation) && std::ranges::none_of(generation.chunks, [](const CheckedChunk& chunk) {
             return chunk.finding.has_value();
           });
  }
  // Null: there is none.
  const Generation* newest() const;
  void compare();
  void find_remedies();

  Disk& disk_;
  std::string folder_;
  VerifyReport report_;
  std::vector<LogGap> gaps_;
  std::vector<Generation> generations_;  // the older first
};

reactor::Task<Status> Verification::run() {
  const Result<std::vector<std::string>> rooms = co_await disk_.list(folder_);
  if (!rooms.ok()) co_return rooms.status();
  const auto has = [&rooms](std::string_view name) { return std::ranges::count(rooms.value(), name) != 0; };
  if (!has("log") && !has("checkpoint"))
    co_return Status(ErrorCode::configuration, folder_ + " has neither log nor checkpoint");
  if (has("log")) {
    co_await read_log();
  } else {
    add(folder_, "there is no log", "all that the checkpoint does not hold", kRestore);
  }
  if (has("checkpoint")) co_await read_checkpoints();
  compare();
  find_remedies();
  co_return Status();
}

// --- the log ---

reactor::Task<void> Verification::read_log() {
  const std::string folder = folder_ + "/log";
  LogReader reader(disk_, folder);
  const Status status = co_await reader.open(0, std::nullopt);
  if (!status.ok()) {
    add(folder, status.message(), "the log cannot be read", remedy_of(status));
    std::string told = status.message();
    co_await read_segments(std::move(told));
    co_return;
  }
  report_.has_log = true;
  report_.identity = reader.identity();
  while (true) {
    const Result<std::optional<LogRecord>> next = co_await reader.next();
    if (!next.ok() && !reader.damage()) {
      add(folder, next.status().message(), "the log behind position " + std::to_string(reader.position()),
          remedy_of(next.status()));
      break;
    }
    if (!next.ok()) {
      const LogDamage& damage = *reader.damage();
      const std::size_t finding = add(damage.file + ", offset " + std::to_string(damage.offset), damage.what,
                                      count_of(damage.lost_to - damage.lost_from, "byte") +
                                          " of the log behind position " + std::to_string(damage.lost_from),
                                      "");
      gaps_.push_back({finding, damage.lost_to});
      reader.skip_damage();
      continue;
    }
    if (!next.value()) break;
    const LogRecord& record = *next.value();
    if (report_.records == 0) report_.log_begin = record.begin;
    ++report_.records;
    report_.record_bytes += record.bytes.size();
  }
  report_.log_end = reader.position();
  if (report_.records == 0) report_.log_begin = report_.log_end;
  report_.blocks = reader.blocks();
  report_.torn = reader.torn();
}

reactor::Task<void> Verification::read_segments(std::string told) {
  const std::string folder = folder_ + "/log";
  const Result<std::vector<std::string>> names = co_await disk_.list(folder);
  if (!names.ok()) co_return;  // that is what was told
  for (const std::string& name : names.value()) {
    const auto number = segment_number(name);
    if (!number) continue;
    const std::string path = folder + "/" + name;
    const Status status = co_await segment_header(path, *number);
    if (status.ok() || told.find(path) != std::string::npos) continue;
    add(path, status.message(), "", remedy_of(status));
  }
}

reactor::Task<Status> Verification::segment_header(std::string path, std::uint64_t number) {
  const Result<std::unique_ptr<DiskFile>> file = co_await disk_.open(path);
  if (!file.ok()) co_return file.status();
  const std::uint64_t length = (*file)->length_bytes();
  if (length < kDiskPage_bytes) co_return Status(ErrorCode::corrupt_data, path + " is cut short");
  const PageBuffer page(kDiskPage_bytes);
  Status status = co_await (*file)->read(0, page.span());
  if (!status.ok()) co_return status;
  const Result<SegmentHeader> header = read_segment_header(path, page.span());
  if (!header.ok()) co_return header.status();
  if (report_.identity.log_id == 0) report_.identity = header->identity;
  if (header->number == number && header->segment_bytes == length && header->identity == report_.identity)
    co_return Status();
  co_return Status(ErrorCode::corrupt_data,
                   path + " is cut, was renamed, or belongs to another log than the segments before it");
}

// --- checkpoints ---

reactor::Task<void> Verification::read_checkpoints() {
  const std::string folder = folder_ + "/checkpoint";
  const Result<std::vector<std::string>> names = co_await disk_.list(folder);
  if (!names.ok()) {
    add(folder, names.status().message(), "all checkpoints", kRestore);
    co_return;
  }
  for (const std::string& name : names.value()) {
    if (const auto number = manifest_generation(name)) co_await read_generation(name, *number);
  }
}

reactor::Task<void> Verification::read_generation(std::string name, std::uint64_t number) {
  const std::string folder = folder_ + "/checkpoint";
  const std::string path = folder + "/" + name;
  Generation& generation = generations_.emplace_back();
  generation.number = number;
  const Result<Manifest> loaded = co_await load_manifest(disk_, path);
  if (!loaded.ok()) {
    const bool newer = loaded.status().code() == ErrorCode::configuration;
    generation.finding = add(path, loaded.status().message(), "this generation of the checkpoint",
                             newer ? loaded.status().hint() : "");
    co_return;
  }
  const Manifest& manifest = loaded.value();
  if (report_.identity.log_id != 0 && manifest.identity != report_.identity) {
    add(path, "the checkpoint belongs to another log", "this generation",
        "log and checkpoint of one server stay together");
  }
  VerifiedCheckpoint checkpoint;
  checkpoint.generation = manifest.generation;
  checkpoint.redo_from = manifest.redo_from;
  generation.redo_from = manifest.redo_from;
  for (const ChunkRef& ref : manifest.chunks) {
    const Result<std::vector<std::byte>> chunk =
        co_await load_chunk(disk_, folder, manifest.identity.log_id, ref);
    ++checkpoint.chunks;
    checkpoint.bytes += ref.payload_bytes;
    CheckedChunk& checked = generation.chunks.emplace_back();
    checked.ref = ref;
    if (chunk.ok()) continue;
    checked.finding = add(
        folder + "/" + chunk_name(ref.key, ref.generation), chunk.status().message(),
        "chunk " + std::to_string(ref.key) + " of generation " + generation_text(manifest.generation), "");
  }
  report_.checkpoints.push_back(checkpoint);
}

// --- both ---

const Verification::Generation* Verification::newest() const {
  const auto found = std::ranges::find_if(generations_.rbegin(), generations_.rend(),
                                          [](const Generation& each) { return !each.finding; });
  return found == generations_.rend() ? nullptr : &*found;
}

void Verification::compare() {
  if (!report_.has_log) return;
  for (const VerifiedCheckpoint& checkpoint : report_.checkpoints) {
    const std::string where = "checkpoint " + generation_text(checkpoint.generation);
    if (checkpoint.redo_from > report_.log_end) {
      add(where, "redo begins behind the end of the log",
          count_of(checkpoint.redo_from - report_.log_end, "byte") + " of the log", kRestore);
    }
    if (checkpoint.redo_from < report_.log_begin) {
      add(where, "the log begins behind the place where redo begins",
          count_of(report_.log_begin - checkpoint.redo_from, "byte") + " of the log", kRestore);
    }
  }
}

void Verification::find_remedies() {
  const Generation* const newest_readable = newest();
  for (const LogGap& gap : gaps_) {
    const bool behind = newest_readable != nullptr && newest_readable->redo_from >= gap.lost_to;
    report_.findings[gap.finding].remedy =
        behind
            ? "nothing is needed: checkpoint " + std::to_string(newest_readable->number) + " lies behind it"
            : std::string(kRestore) + "; or start once with --force lost-log, without these changes";
  }
  for (std::size_t i = 0; i < generations_.size(); ++i) {
    const Generation& generation = generations_[i];
    const bool last = &generation == newest_readable;
    if (generation.finding) {
      std::string& remedy = report_.findings[*generation.finding].remedy;
      if (!remedy.empty()) continue;  // of a newer format
      remedy = newest_readable != nullptr && is_whole(*newest_readable)
                   ? "nothing is needed: the server opens with checkpoint " +
                         std::to_string(newest_readable->number)
                   : kRestore;
    }
    for (const CheckedChunk& chunk : generation.chunks) {
      if (!chunk.finding) continue;
      std::string& remedy = report_.findings[*chunk.finding].remedy;
      const Generation* const older = i == 0 ? nullptr : &generations_[i - 1];
      const auto same = [&chunk](const CheckedChunk& other) {
        return other.ref.key == chunk.ref.key && other.finding;
      };
      const bool serves = older != nullptr && has_redo(*older) && std::ranges::none_of(older->chunks, same);
      if (serves) {
        remedy = "nothing is needed: the server opens with that of checkpoint " +
                 std::to_string(older->number) + " and a longer log";
      } else if (!last && newest_readable != nullptr && has_redo(*newest_readable) &&
                 std::ranges::none_of(newest_readable->chunks, same)) {
        remedy =
            "nothing is needed: checkpoint " + std::to_string(newest_readable->number) + " has another one";
      } else {
        remedy = kRestore;
      }
    }
  }
}

}  // namespace

std::string VerifyFinding::text() const {
  return what.find(where) == std::string::npos ? where + ": " + what : what;
}

reactor::Task<Result<VerifyReport>> verify_folder(Disk& disk, std::string folder) {
  Verification verification(disk, std::move(folder));
  Status status = co_await verification.run();
  if (!status.ok()) co_return status;
  co_return verification.take();
}

void verify_database(const std::string& folder, const std::optional<std::string>& text,
                     VerifyReport& report) {
  if (report.checkpoints.empty()) {
    report.findings.push_back(
        {folder + "/checkpoint", "there is no whole checkpoint", "all that the log does not hold", kRestore});
  }
  const std::string file = folder + "/" + kIdentityName;
  const auto found = [&report, &file](std::string what, std::string remedy) {
    report.findings.push_back({file, std::move(what), "", std::move(remedy)});
  };
  if (!text)
    return found("is missing", "copy it from a backup of the folder; a backup without it is not whole");
  const Result<FolderIdentity> identity = read_folder_identity(*text);
  if (!identity.ok()) return found(identity.status().message(), identity.status().hint());
  if (!identity->complete)
    found("the database was never created completely", "start the server: it creates the database anew");
  const LogOwner& owner = report.identity.owner;
  if (report.identity.log_id == 0) return;
  if (owner.database_id != identity->database_id)
    found("the log is of another database", "choose the folder that this server had before");
  if (owner.server_id != identity->server_id) {
    found("it is of memory server " + std::to_string(identity->server_id) +
              ", and the log of memory server " + std::to_string(owner.server_id),
          "each memory server needs the folder that it had before");
  }
}

}  // namespace namdb::memory

// Of database_opening.h: checkpoint and log become the region's records and the control state.
#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "memory/coordinator/control_state.h"
#include "memory/opening/database_opening.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kYield_bytes = 256U << 10;  // of the log, redone without a pause
constexpr std::size_t kChunkReaders = 4;

}  // namespace

// --- the checkpoint ---

reactor::Task<Status> DatabaseOpening::load_checkpoint() {
  progress_.begin("makes what is there durable", 0);
  // The checkpoint is that of the log beside it.
  LogReader reader(disk_, log_folder_);
  Status status = co_await reader.open(0, owner());
  if (!status.ok()) co_return status;
  auto store = co_await CheckpointStore::open(disk_, checkpoint_folder_, reader.identity());
  if (!store.ok()) co_return store.status();
  database_->store_ = std::move(*store);
  const Manifest* const newest = database_->store_->newest();
  if (newest == nullptr)
    co_return Status(ErrorCode::corrupt_data, checkpoint_folder_ + " has no checkpoint",
                     "restore it from a backup of the folder");
  status = restore_tables(*newest);
  if (!status.ok()) co_return status;
  opened().generation = newest->generation;
  for (const ChunkRef& chunk : newest->chunks) opened().checkpoint_bytes += chunk.payload_bytes;
  redo_from_ = newest->redo_from;
  progress_.begin("checkpoint", opened().checkpoint_bytes);
  reactor::Gate gate;
  const std::size_t readers = unhurried_ ? 1 : kChunkReaders;
  for (std::size_t i = 0; i < readers; ++i) executor_.spawn(gate, load_chunks());
  co_await gate.close();
  co_return chunk_failure_;
}

Status DatabaseOpening::restore_tables(const Manifest& manifest) {
  control::CheckpointState state;
  const auto unreadable = [&](const std::string& why) {
    return Status(ErrorCode::corrupt_data, "the state of checkpoint " + generation_text(manifest.generation) +
                                               " in " + checkpoint_folder_ + " " + why);
  };
  if (!state.ParseFromArray(manifest.state.data(), static_cast<int>(manifest.state.size())))
    return unreadable("cannot be read");
  if (!state.control().empty()) {
    auto control = read_control_state(std::as_bytes(std::span(state.control())));
    if (!control.ok()) return control.status();
    state_ = std::move(*control);
    Status status = check_database_settings(state_.settings(), parts_.options);
    if (!status.ok()) return status;
  }
  replay_.restore(state);
  const auto restore = [&](const control::TableDescriptor& table) {
    return parts_.tables.all().contains(table.id()) ? Status() : parts_.tables.restore(table).status();
  };
  for (const control::TableDescriptor& table : state_.tables()) {
    if (Status status = restore(table); !status.ok()) return status;
  }
  for (const control::TableDescriptor& table : state.tables()) {
    if (Status status = restore(table); !status.ok()) return unreadable("has " + status.message());
  }
  return restorer_.state(state);
}

// One of several tasks that take the chunks in turn.
reactor::Task<void> DatabaseOpening::load_chunks() {
  const std::vector<ChunkRef>& chunks = database_->store_->newest()->chunks;
  while (next_chunk_ < chunks.size() && chunk_failure_.ok()) {
    const ChunkRef& ref = chunks[next_chunk_++];
    const Result<CheckpointStore::Chunk> chunk = co_await database_->store_->read(ref.key);
    Status status = chunk.ok() ? recovery().stopped() : chunk.status();
    const std::uint64_t began_ns = executor_.fresh_now_ns();
    if (status.ok() && chunk->bytes) status = restorer_.chunk(ref.key, *chunk->bytes);
    if (!status.ok()) {
      if (chunk_failure_.ok()) chunk_failure_ = std::move(status);
      co_return;
    }
    progress_.add(ref.payload_bytes);
    if (chunk->older) {
      ++opened().damaged_chunks;
      redo_from_ = std::min(redo_from_, chunk->redo_from);
      // The next generation must not name the damaged one again.
      parts_.region->changed().mark(ref.key);
    }
    if (unhurried_) {
      const std::uint64_t now_ns = executor_.fresh_now_ns();
      co_await executor_.sleep_until(now_ns + (now_ns - began_ns));
    }
  }
}

// --- the log ---

reactor::Task<Status> DatabaseOpening::replay_log() {
  LogReader reader(disk_, log_folder_);
  Status status = co_await reader.open(redo_from_, owner());
  if (!status.ok()) co_return status;
  status = check_segments(reader.segment_bytes());
  if (!status.ok()) co_return status;
  if (options_.force_unfit_entries) replay_.leave_out_unfit();
  progress_.begin("log", reader.last_position() - redo_from_);
  status = co_await replay_records(&reader);
  if (!status.ok()) {
    co_await reader.close();
    co_return status;
  }
  LogEnd end = reader.take_end();
  co_return co_await resume_log(std::move(end));
}

Status DatabaseOpening::check_segments(std::uint64_t segment_bytes) const {
  if (options_.log.max_bytes / 2 >= segment_bytes) return Status();
  return Status(
      ErrorCode::configuration,
      "the log's segments have " + in_mebibytes(segment_bytes) + " each, and the log must have room for two",
      "start with --log-bytes " + std::to_string(segment_bytes >> 19) + "MiB or more");
}

reactor::Task<Status> DatabaseOpening::resume_log(LogEnd end) {
  replay_.end_log();
  opened().lost.insert(opened().lost.end(), replay_.lost().begin(), replay_.lost().end());
  opened().log_bytes = replay_.counts().bytes;
  opened().entries = replay_.counts().entries;
  auto log = co_await Log::resume(executor_, disk_, log_folder_, std::move(end), options_.log);
  if (!log.ok()) co_return log.status();
  database_->log_ = std::move(*log);
  connect_log();
  co_return Status();
}

Status DatabaseOpening::finish_redo() {
  Status status = replay_.finish();
  opened().lost.insert(opened().lost.end(), replay_.lost().begin(), replay_.lost().end());
  if (status.ok() || opened().lost.empty() || status.code() != ErrorCode::corrupt_data) return status;
  opened().lost.push_back(status.message());
  return Status();
}

reactor::Task<Status> DatabaseOpening::replay_records(LogReader* reader) {
  std::uint64_t until_yield = kYield_bytes;
  while (true) {
    const Result<std::optional<LogRecord>> next = co_await reader->next();
    if (!next.ok()) {
      Status status = lost(*reader, next.status());
      if (!status.ok()) co_return status;
      reader->skip_damage();
      continue;
    }
    if (!next.value()) co_return Status();
    const LogRecord& record = *next.value();
    Status status = replay_.apply(record);
    if (!status.ok()) co_return status;
    const std::uint64_t bytes = record.end - record.begin;
    progress_.add(bytes);
    if (bytes < until_yield) {
      until_yield -= bytes;
      continue;
    }
    until_yield = kYield_bytes;
    co_await executor_.yield();
    status = recovery().stopped();
    if (!status.ok()) co_return status;
  }
}

// Notes the damage where that is allowed; otherwise it is the error.
Status DatabaseOpening::lost(const LogReader& reader, const Status& damage) {
  if (!reader.damage()) return damage;
  // The checkpoint has all of it: the segment is read from its beginning on.
  if (reader.damage()->lost_to <= redo_from_) return Status();
  if (!options_.force_lost_log)
    return Status(damage.code(), damage.message(),
                  "restore the folder from a backup; or start once with --force lost-log, and the changes "
                  "in that part of the log are lost");
  opened().lost.push_back(damage.message());
  replay_.tolerate_loss();
  return Status();
}

}  // namespace namdb::memory

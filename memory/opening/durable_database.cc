#include "memory/opening/durable_database.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "memory/checkpoint/restorer.h"
#include "memory/coordinator/control_state.h"
#include "memory/log/log_reader.h"
#include "memory/log/manifest.h"
#include "memory/opening/log_replay.h"
#include "memory/recovery/derived_state.h"

namespace namdb::memory {
namespace {

constexpr std::uint64_t kYield_bytes = 256U << 10;  // of the log, redone without a pause
constexpr std::size_t kChunkReaders = 4;
constexpr std::uint64_t kMarkPause_ns = 100 * kMicrosecond_ns;

std::uint64_t random_id(reactor::Executor& executor) {
  std::uint64_t id = 0;
  while (id == 0) id = executor.random().next();
  return id;
}

reactor::Task<Status> remove_all(Disk* disk, std::string folder) {
  Status status = co_await disk->make_folder(folder);
  if (!status.ok()) co_return status;
  const Result<std::vector<std::string>> names = co_await disk->list(folder);
  if (!names.ok()) co_return names.status();
  for (const std::string& name : names.value()) {
    std::string path = folder + "/" + name;
    status = co_await disk->remove(std::move(path));
    if (!status.ok()) co_return status;
  }
  co_return co_await disk->sync_folder(folder);
}

}  // namespace

// The steps of DurableDatabase's creation and opening.
class DatabaseOpening final : public UnopenedDatabase {
 public:
  DatabaseOpening(reactor::Executor& executor, Disk& disk, std::string folder, MemoryServer& server,
                  DurableOptions options)
      : executor_(executor),
        disk_(disk),
        log_folder_(folder + "/log"),
        checkpoint_folder_(folder + "/checkpoint"),
        server_(server),
        parts_(server.parts()),
        options_(std::move(options)),
        progress_(executor, options_.progress),
        restorer_(*parts_.region, parts_.tables),
        replay_(*parts_.region, parts_.tables, restorer_, parts_.options, state_),
        database_(new DurableDatabase()),
        began_ns_(executor.now_ns()) {}

  reactor::Task<Status> create();
  reactor::Task<Status> open();
  // Gives up all that was done so far.
  reactor::Task<void> give_up() {
    co_await progress_.end();
    // Nothing of the server refers to this any more behind it.
    if (database_->host_opening_) co_await parts_.links.close();
    co_await database_->close();
    parts_.opening_service = nullptr;
    parts_.index_loads = nullptr;
  }
  std::unique_ptr<DurableDatabase> take() { return std::move(database_); }

  reactor::Task<Status> derive(const control::DeriveRequest* request, IndexLoads* loads) override;
  bool lost_log() const override { return !database_->opened_.lost.empty(); }
  std::uint64_t largest_timestamp() const override { return largest_timestamp_; }

 private:
  // For memory/recovery.
  Recovery recovery() {
    return {executor_, *parts_.region, parts_.options, progress_.recovery(), options_.stopping};
  }
  LogOwner owner() const { return {options_.database_id, parts_.options.server_id}; }
  Opened& opened() { return database_->opened_; }
  // From now on everything is logged.
  void connect_log();
  // Records may be granted from now on.
  reactor::Task<Status> start_grants();
  reactor::Task<Status> load_checkpoint();
  Status restore_tables(const Manifest& manifest);
  reactor::Task<void> load_chunks();
  reactor::Task<Status> replay_log();
  reactor::Task<Status> replay_records(LogReader* reader);
  Status lost(const LogReader& reader, const Status& damage);
  reactor::Task<Status> open_control();
  void keep_outcomes();
  void discard_tables_but(const std::set<std::uint32_t>& known);
  // Behind the last entry.
  Status finish_redo();
  // On the only memory server.
  reactor::Task<Status> derive_alone();
  // On one of several.
  reactor::Task<Status> open_together();
  reactor::Task<Status> derive_tables(const control::DeriveRequest* request);
  void count_rows();

  reactor::Executor& executor_;
  Disk& disk_;
  std::string log_folder_;
  std::string checkpoint_folder_;
  MemoryServer& server_;
  ServerState& parts_;
  DurableOptions options_;
  OpeningProgress progress_;
  control::ControlState state_;
  Restorer restorer_;
  LogReplay replay_;
  std::unique_ptr<DurableDatabase> database_;
  std::uint64_t began_ns_;

  LogPosition redo_from_ = 0;
  std::size_t next_chunk_ = 0;
  Status chunk_failure_;
  bool tables_derived_ = false;
  bool granting_ = false;
  std::uint64_t largest_timestamp_ = 0;
};

void DatabaseOpening::connect_log() {
  DurableDatabase& database = *database_;
  database.sink_ = std::make_unique<DiskLogSink>(*database.log_);
  database.control_log_ = std::make_unique<DiskControlLog>(*database.log_);
  database.checkpoint_log_ =
      std::make_unique<CheckpointLog>(executor_, parts_.journals, *database.log_, parts_.region->grants());
  database.sweep_log_ = std::make_unique<DatabaseSweepLog>(*database.checkpoint_log_, *database.control_log_);
  server_.log_to(*database.sink_);
}

reactor::Task<Status> DatabaseOpening::start_grants() {
  granting_ = true;
  GrantNumbers& grants = parts_.region->grants();
  grants.set_log(*database_->checkpoint_log_);
  const Status status = co_await parts_.journals.flush_noted();
  // A full log takes the mark later.
  if (!status.ok() && status.code() != kDiskFull) co_return status;
  while (status.ok() && grants.mark() == grants.last() && database_->log_->failure().ok())
    co_await executor_.sleep_for(kMarkPause_ns);
  co_return database_->log_->failure();
}

reactor::Task<Status> DatabaseOpening::create() {
  DurableDatabase& database = *database_;
  opened().created = true;
  Status status = co_await remove_all(&disk_, log_folder_);
  if (status.ok()) status = co_await remove_all(&disk_, checkpoint_folder_);
  if (!status.ok()) co_return status;
  const LogIdentity identity{random_id(executor_), owner()};
  auto log = co_await Log::create(executor_, disk_, log_folder_, identity, options_.log);
  if (!log.ok()) co_return log.status();
  database.log_ = std::move(*log);
  connect_log();
  control::ControlState nothing;
  status = co_await server_.open_control(std::move(nothing), options_.database_id, *database.control_log_);
  if (!status.ok()) co_return status;
  // The first generation has nothing: the log is there from its beginning.
  auto store = co_await CheckpointStore::open(disk_, checkpoint_folder_, identity);
  if (!store.ok()) co_return store.status();
  database.store_ = std::move(*store);
  database.store_->begin();
  std::vector<std::byte> no_state;
  status = co_await database.store_->commit(0, std::move(no_state));
  if (!status.ok()) co_return status;
  status = co_await start_grants();
  if (status.ok() && parts_.options.opens_together()) status = co_await open_together();
  parts_.opened = opened().message();
  co_return status;
}

reactor::Task<Status> DatabaseOpening::open() {
  parts_.opening = true;
  progress_.start();
  Status status = co_await load_checkpoint();
  if (status.ok()) status = co_await replay_log();
  if (status.ok()) status = co_await open_control();
  if (status.ok() && parts_.options.opens_together()) {
    status = co_await open_together();
  } else if (status.ok()) {
    status = finish_redo();
    if (status.ok()) status = co_await derive_alone();
    if (status.ok()) status = co_await start_grants();
  }
  if (!status.ok()) co_return status;
  co_await progress_.end();
  parts_.opening = false;
  opened().duration_ns = executor_.now_ns() - began_ns_;
  parts_.opened = opened().message();
  co_return Status();
}

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
  for (std::size_t i = 0; i < kChunkReaders; ++i) executor_.spawn(gate, load_chunks());
  co_await gate.close();
  co_return chunk_failure_;
}

Status DatabaseOpening::restore_tables(const Manifest& manifest) {
  control::CheckpointState state;
  const auto unreadable = [&](const std::string& why) {
    return Status(ErrorCode::corrupt_data, "the state of checkpoint " + std::to_string(manifest.generation) +
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
    if (status.ok() && chunk->bytes) status = restorer_.chunk(ref.key, *chunk->bytes);
    if (!status.ok()) {
      if (chunk_failure_.ok()) chunk_failure_ = std::move(status);
      co_return;
    }
    progress_.add(ref.payload_bytes);
    if (!chunk->older) continue;
    ++opened().damaged_chunks;
    redo_from_ = std::min(redo_from_, chunk->redo_from);
    // The next generation must not name the damaged one again.
    parts_.region->changed().mark(ref.key);
  }
}

// --- the log ---

reactor::Task<Status> DatabaseOpening::replay_log() {
  LogReader reader(disk_, log_folder_);
  Status status = co_await reader.open(redo_from_, owner());
  if (!status.ok()) co_return status;
  if (options_.log.max_bytes / 2 < reader.segment_bytes()) {
    co_return Status(
        ErrorCode::configuration,
        "the log's segments have " + in_mebibytes(reader.segment_bytes()) +
            " each, and the log must have room for two",
        "start with --log-bytes " + std::to_string(reader.segment_bytes() >> 19) + "MiB or more");
  }
  progress_.begin("log", reader.last_position() - redo_from_);
  status = co_await replay_records(&reader);
  if (!status.ok()) {
    co_await reader.close();
    co_return status;
  }
  replay_.end_log();
  opened().lost.insert(opened().lost.end(), replay_.lost().begin(), replay_.lost().end());
  opened().log_bytes = replay_.counts().bytes;
  opened().entries = replay_.counts().entries;
  auto log = co_await Log::resume(executor_, disk_, log_folder_, reader.take_end(), options_.log);
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

// --- the server ---

reactor::Task<Status> DatabaseOpening::open_control() {
  control::ControlState state = std::move(state_);
  Status status =
      co_await server_.open_control(std::move(state), options_.database_id, *database_->control_log_);
  if (!status.ok() || !parts_.catalog) co_return status;
  // Nobody is left that could need an index that was replaced.
  if (parts_.catalog->has_replaced(parts_.catalog->version())) {
    const ControlChanges::Change erase = [](Catalog& catalog) {
      catalog.acknowledged(catalog.version());
      return Status();
    };
    co_await parts_.control->change_anyway(erase);
  }
  keep_outcomes();
  co_return Status();
}

// The owners of commits that the restart cut off may ask for their outcomes. Of several memory servers none
// knows them alone (cluster_opening.h).
void DatabaseOpening::keep_outcomes() {
  if (parts_.options.server_count != 1 || !opened().lost.empty()) return;
  const std::uint64_t now_ns = executor_.now_ns();
  for (const auto& [slot, journal] : replay_.journals()) {
    // Of one that was decided the log may have lost entries.
    Verdicts verdicts{.complete = parts_.slots->cut_off(slot) && !journal.decided,
                      .through = journal.finished,
                      .committed = journal.committed};
    verdicts.committed.insert(journal.logged.begin(), journal.logged.end());
    parts_.outcomes.closed(slot, std::move(verdicts), now_ns);
  }
  parts_.outcomes.opened(now_ns);
}

// Without those that were dropped, and hash indexes that were being built.
void DatabaseOpening::discard_tables_but(const std::set<std::uint32_t>& known) {
  std::vector<std::uint32_t> unknown;
  for (const auto& [id, table] : parts_.tables.all()) {
    if (!known.contains(id)) unknown.push_back(id);
  }
  for (const std::uint32_t id : unknown) {
    NAMDB_CHECK(parts_.tables.discard(id) && parts_.tables.release(id));
  }
}

void DatabaseOpening::count_rows() {
  for (const auto& [id, table] : parts_.tables.all()) {
    if (table->shape.indexed_table != 0) continue;  // entries of a hash index
    ++opened().tables;
    opened().rows += table->records.used_count();
  }
}

reactor::Task<Status> DatabaseOpening::derive_alone() {
  std::set<std::uint32_t> known;
  for (const auto& [name, table] : parts_.catalog->tables()) known.insert(table.id());
  discard_tables_but(known);
  progress_.derive();
  IndexLoads loads(executor_, parts_.options.server_id, parts_.options.server_count);
  std::vector<control::IndexDescriptor> indexes;
  for (const auto& [name, index] : parts_.catalog->indexes()) indexes.push_back(index);
  opened().indexes = indexes.size();
  SendIndexLoad nobody;
  const Recovery parts = recovery();
  const auto derived = co_await rebuild_derived(parts, parts_.tables, parts_.indexes, std::move(indexes),
                                                loads, std::move(nobody), kTimestampSlack_ns);
  if (!derived.ok()) co_return derived.status();
  count_rows();
  parts_.follow_timestamp(derived->largest_timestamp + kTimestampSlack_ns);
  const ControlChanges::Change reopen = [this](Catalog& catalog) {
    for (const auto& [id, table] : parts_.tables.all()) {
      Status status =
          catalog.reopen(parts_.options.server_id, id, table->main.array.base_offset, table->doublings());
      if (!status.ok()) return status;
    }
    return Status();
  };
  co_await parts_.control->change_anyway(reopen);
  co_return Status();
}

// --- one of several memory servers ---

reactor::Task<Status> DatabaseOpening::open_together() {
  DurableDatabase& database = *database_;
  database.host_opening_ = std::make_unique<HostOpening>(parts_, options_.database_id, *this, replay_);
  parts_.opening_service = database.host_opening_.get();
  parts_.opening = true;
  parts_.admits_workers = false;
  Status status = co_await options_.meet();
  if (!status.ok()) co_return status;
  if (parts_.options.server_id == 0) {
    database.cluster_opening_ =
        std::make_unique<ClusterOpening>(parts_, *database.host_opening_, options_.database_id);
    database.cluster_opening_->start();
  }
  co_return co_await database.host_opening_->await_served();
}

reactor::Task<Status> DatabaseOpening::derive(const control::DeriveRequest* request, IndexLoads* loads) {
  Status status;
  if (!tables_derived_) status = co_await derive_tables(request);
  if (!status.ok()) co_return status;
  OpeningServers opening;
  for (const std::uint32_t server : request->opening()) opening.insert(static_cast<layout::ServerId>(server));
  std::vector<control::IndexDescriptor> indexes(request->indexes().begin(), request->indexes().end());
  opened().indexes = indexes.size();
  const Recovery parts = recovery();
  status = co_await rebuild_indexes(parts, parts_.tables, parts_.indexes, std::move(indexes), *loads,
                                    send_by_links(parts_.links), std::move(opening));
  if (status.ok() && !granting_) status = co_await start_grants();
  co_return status;
}

reactor::Task<Status> DatabaseOpening::derive_tables(const control::DeriveRequest* request) {
  std::set<std::uint32_t> known;
  for (const control::TableDescriptor& table : request->tables()) {
    known.insert(table.id());
    if (parts_.tables.all().contains(table.id())) continue;
    co_return Status(ErrorCode::configuration,
                     "memory server " + std::to_string(parts_.options.server_id) + " lacks table \"" +
                         table.name() +
                         "\", which the database has: its data folder is not the one that it had",
                     "start it with that folder, or restore the folder from a backup");
  }
  discard_tables_but(known);
  Status status = finish_redo();
  if (!status.ok()) co_return status;
  progress_.derive();
  const Recovery parts = recovery();
  const auto derived = co_await rebuild_tables(parts, parts_.tables);
  if (!derived.ok()) co_return derived.status();
  largest_timestamp_ = derived->largest_timestamp;
  count_rows();
  tables_derived_ = true;
  co_return Status();
}

// --- DurableDatabase ---

DurableDatabase::Opening DurableDatabase::create(reactor::Executor& executor, Disk& disk, std::string folder,
                                                 MemoryServer& server, DurableOptions options) {
  DatabaseOpening opening(executor, disk, std::move(folder), server, std::move(options));
  Status status = co_await opening.create();
  if (status.ok()) co_return opening.take();
  co_await opening.give_up();
  co_return status;
}

DurableDatabase::Opening DurableDatabase::open(reactor::Executor& executor, Disk& disk, std::string folder,
                                               MemoryServer& server, DurableOptions options) {
  DatabaseOpening opening(executor, disk, std::move(folder), server, std::move(options));
  Status status = co_await opening.open();
  if (status.ok()) co_return opening.take();
  co_await opening.give_up();
  co_return status;
}

reactor::Task<Result<bool>> DurableDatabase::exists(Disk& disk, std::string folder) {
  const std::string checkpoints = folder + "/checkpoint";
  Status status = co_await disk.make_folder(checkpoints);
  if (!status.ok()) co_return status;
  const Result<std::vector<std::string>> names = co_await disk.list(checkpoints);
  if (!names.ok()) co_return names.status();
  co_return std::ranges::any_of(
      names.value(), [](const std::string& name) { return manifest_generation(name).has_value(); });
}

reactor::Task<void> DurableDatabase::close() {
  if (cluster_opening_) cluster_opening_->stop();
  if (host_opening_) co_await host_opening_->close();
  if (cluster_opening_) co_await cluster_opening_->close();
  if (checkpoint_log_) co_await checkpoint_log_->close();
  if (log_) co_await log_->close();
}

}  // namespace namdb::memory

#include "memory/opening/database_opening.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "memory/opening/checkpoint_state.h"
#include "memory/opening/prepared_database.h"

namespace namdb::memory {
namespace {

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

// Damage that no option passes.
Status with_remedy(Status status) {
  if (status.ok() || status.code() != ErrorCode::corrupt_data || !status.hint().empty()) return status;
  return Status(status.code(), status.message(),
                "restore the folder from a backup; namctl verify says what else is wrong");
}

}  // namespace

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
  if (Status status = co_await remove_all(&disk_, log_folder_); !status.ok()) co_return status;
  Status status = co_await remove_all(&disk_, checkpoint_folder_);
  if (!status.ok()) co_return status;
  const LogIdentity identity{random_id(executor_), owner()};
  auto log = co_await Log::create(executor_, disk_, log_folder_, identity, options_.log);
  if (!log.ok()) co_return log.status();
  database.log_ = std::move(*log);
  connect_log();
  control::ControlState nothing;
  status = co_await server_.open_control(std::move(nothing), options_.database_id, *database.control_log_);
  if (!status.ok()) co_return status;
  // The first generation has no chunks: the log is there from its beginning. But both have the settings:
  // where the log's first entry is lost, the rest can still be opened.
  auto store = co_await CheckpointStore::open(disk_, checkpoint_folder_, identity);
  if (!store.ok()) co_return store.status();
  database.store_ = std::move(*store);
  database.store_->begin();
  control::CheckpointState state;
  add_checkpoint_state(parts_, state);
  const std::string text = state.SerializeAsString();
  const auto bytes = std::as_bytes(std::span(text));
  std::vector<std::byte> first_state(bytes.begin(), bytes.end());
  status = co_await database.store_->commit(0, std::move(first_state));
  if (!status.ok()) co_return status;
  status = co_await start_grants();
  if (status.ok() && parts_.options.opens_together()) status = co_await open_together();
  parts_.opened = opened().message();
  co_return status;
}

reactor::Task<Status> DatabaseOpening::open() {
  parts_.opening = true;
  progress_.start(options_.progress);
  if (Status status = co_await load_checkpoint(); !status.ok()) co_return status;
  if (Status status = co_await replay_log(); !status.ok()) co_return status;
  co_return co_await open_rest();
}

reactor::Task<Status> DatabaseOpening::load() {
  unhurried_ = prepared_ = true;
  return load_checkpoint();
}

Status DatabaseOpening::apply(const LogRecord& record) {
  Status status = replay_.apply(record);
  if (status.ok()) redo_from_ = record.end;
  return status;
}

reactor::Task<Status> DatabaseOpening::open_loaded(DurableOptions options) {
  options_ = std::move(options);
  unhurried_ = false;
  began_ns_ = executor_.now_ns();
  parts_.opening = true;
  progress_.start(options_.progress);
  Status status;
  if (log_end_) {
    status = check_segments(log_end_->segment_bytes);
    if (!status.ok()) co_return status;
    LogEnd end = std::move(*log_end_);
    status = co_await resume_log(std::move(end));
  } else {
    status = co_await replay_log();
  }
  if (!status.ok()) co_return status;
  // Generations have come since.
  auto store = co_await CheckpointStore::open(disk_, checkpoint_folder_, database_->log_->identity());
  if (!store.ok()) co_return store.status();
  database_->store_ = std::move(*store);
  status = co_await open_rest();
  co_return status;
}

reactor::Task<Status> DatabaseOpening::open_rest() {
  if (Status status = co_await open_control(); !status.ok()) co_return status;
  if (parts_.options.opens_together()) {
    if (Status status = co_await open_together(); !status.ok()) co_return status;
  } else {
    if (Status status = co_await derive_alone(); !status.ok()) co_return status;
    if (Status status = co_await start_grants(); !status.ok()) co_return status;
  }
  co_await progress_.end();
  parts_.opening = false;
  opened().duration_ns = executor_.now_ns() - began_ns_;
  parts_.opened = opened().message();
  co_return Status();
}

// --- the server ---

reactor::Task<Status> DatabaseOpening::open_control() {
  control::ControlState state = std::move(state_);
  Status status =
      co_await server_.open_control(std::move(state), options_.database_id, *database_->control_log_);
  if (!status.ok() || !parts_.catalog) co_return status;
  // No transaction is left that could need a replaced index.
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

reactor::Task<Status> DatabaseOpening::derive_from(CatalogIds ids,
                                                   std::vector<control::IndexDescriptor> indexes) {
  discard_tables_but(ids.tables);
  progress_.derive();
  IndexLoads loads(executor_, parts_.options.server_id, parts_.options.server_count);
  opened().indexes = indexes.size();
  SendIndexLoad nobody;
  const Recovery parts = recovery();
  const auto derived = co_await rebuild_derived(parts, parts_.tables, parts_.indexes, std::move(indexes),
                                                loads, std::move(nobody), kTimestampSlack_ns);
  if (!derived.ok()) co_return derived.status();
  derived_ = *derived;
  derived_ids_ = std::move(ids);
  co_return Status();
}

reactor::Task<Status> DatabaseOpening::derive_ahead() {
  if (parts_.options.opens_together()) co_return Status();
  unhurried_ = false;
  replay_.end_log();
  Status status = finish_redo();
  if (!status.ok()) co_return status;
  // As open_control() will make it of this state.
  Catalog catalog = parts_.catalog->draft();
  catalog.import_state(state_);
  catalog.disconnected(0);
  if (catalog.has_replaced(catalog.version())) catalog.acknowledged(catalog.version());
  std::vector<control::IndexDescriptor> indexes;
  CatalogIds ids = ids_in(catalog, &indexes);
  co_return co_await derive_from(std::move(ids), std::move(indexes));
}

DatabaseOpening::CatalogIds DatabaseOpening::ids_in(const Catalog& catalog,
                                                    std::vector<control::IndexDescriptor>* indexes) {
  CatalogIds ids;
  for (const auto& [name, table] : catalog.tables()) ids.tables.insert(table.id());
  for (const auto& [name, index] : catalog.indexes()) {
    ids.indexes.insert(index.id());
    indexes->push_back(index);
  }
  return ids;
}

reactor::Task<Status> DatabaseOpening::derive_alone() {
  std::vector<control::IndexDescriptor> indexes;
  CatalogIds ids = ids_in(*parts_.catalog, &indexes);
  if (!derived_) {
    if (Status status = finish_redo(); !status.ok()) co_return status;
    Status status = co_await derive_from(std::move(ids), std::move(indexes));
    if (!status.ok()) co_return status;
  } else if (ids != derived_ids_) {
    co_return Status(ErrorCode::corrupt_data, "the catalog has other tables or indexes than were made ahead");
  }
  count_rows();
  parts_.follow_timestamp(derived_->largest_timestamp + kTimestampSlack_ns);
  const ControlChanges::Change reopen = [this](Catalog& catalog) {
    for (const auto& [id, table] : parts_.tables.all()) {
      Status reopened =
          catalog.reopen(parts_.options.server_id, id, table->main.array.base_offset, table->doublings());
      if (!reopened.ok()) return reopened;
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
  Status status = co_await options_.meet(database);
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
  Recovery parts = recovery();
  parts.certified = true;  // with the tables
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

// --- PreparedDatabase (prepared_database.h) ---

PreparedDatabase::PreparedDatabase(reactor::Executor& executor, Disk& disk, std::string folder,
                                   MemoryServer& server, DurableOptions options)
    : opening_(
          std::make_unique<DatabaseOpening>(executor, disk, std::move(folder), server, std::move(options))) {}

PreparedDatabase::~PreparedDatabase() = default;

reactor::Task<Status> PreparedDatabase::load() {
  return opening_->load();
}

Status PreparedDatabase::apply(const LogRecord& record) {
  return opening_->apply(record);
}

Result<bool> PreparedDatabase::forget_settled() {
  return opening_->forget_settled();
}

void PreparedDatabase::end_log(LogEnd end) {
  opening_->end_log(std::move(end));
}

reactor::Task<Status> PreparedDatabase::derive() {
  return opening_->derive_ahead();
}

LogPosition PreparedDatabase::applied() const {
  return opening_->applied();
}

DurableDatabase::Opening PreparedDatabase::open(DurableOptions options) {
  Status status = co_await opening_->open_loaded(std::move(options));
  if (status.ok()) {
    std::unique_ptr<DurableDatabase> database = opening_->take();
    opening_.reset();
    co_return std::move(database);
  }
  co_await opening_->give_up();
  co_return with_remedy(std::move(status));
}

// --- DurableDatabase (durable_database.h) ---

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
  co_return with_remedy(std::move(status));
}

}  // namespace namdb::memory

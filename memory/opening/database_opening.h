// The steps of DurableDatabase's creation and opening (durable_database.h). One object for each of them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memory/checkpoint/restorer.h"
#include "memory/log/log_reader.h"
#include "memory/log/manifest.h"
#include "memory/opening/durable_database.h"
#include "memory/opening/log_replay.h"
#include "memory/recovery/derived_state.h"

namespace namdb::memory {

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
        progress_(executor),
        restorer_(*parts_.region, parts_.tables),
        replay_(*parts_.region, parts_.tables, restorer_, parts_.options, state_),
        database_(new DurableDatabase()),
        began_ns_(executor.now_ns()) {}

  reactor::Task<Status> create();
  reactor::Task<Status> open();

  // Instead of open(), for a folder that fills (prepared_database.h): the checkpoint, records of the log one
  // behind the other, and what is left of open(), with other options.
  reactor::Task<Status> load();
  Status apply(const LogRecord& record);
  Result<bool> forget_settled() { return replay_.forget_settled(); }
  LogPosition applied() const { return redo_from_; }
  void end_log(LogEnd end) { log_end_ = std::move(end); }
  // For the only memory server, behind end_log().
  reactor::Task<Status> derive_ahead();
  reactor::Task<Status> open_loaded(DurableOptions options);

  // Gives up all that was done so far.
  reactor::Task<void> give_up() {
    co_await progress_.end();
    // Calls may wait for copies.
    if (database_->log_) database_->log_->end_now(opening_ends());
    // Nothing of the server refers to this any more behind it.
    if (database_->host_opening_) co_await parts_.links.close();
    co_await database_->end_opening();
    if (options_.part) co_await options_.part();
    co_await database_->close();
    parts_.opening_service = nullptr;
    parts_.index_loads = nullptr;
  }
  std::unique_ptr<DurableDatabase> take() { return std::move(database_); }

  reactor::Task<Status> confirm_log() override {
    co_return co_await database_->log_->flush(database_->log_->appended());
  }
  reactor::Task<Status> derive(const control::DeriveRequest* request, IndexLoads* loads) override;
  bool lost_log() const override { return !database_->opened_.lost.empty(); }
  std::uint64_t largest_timestamp() const override { return largest_timestamp_; }

 private:
  // The ids of tables, and of indexes.
  struct CatalogIds {
    std::set<std::uint32_t> tables;
    std::set<std::uint32_t> indexes;
    friend bool operator==(const CatalogIds&, const CatalogIds&) = default;
  };
  // For memory/recovery.
  Recovery recovery() {
    Recovery recovery{executor_, *parts_.region, parts_.options, progress_.recovery(), options_.stopping};
    recovery.certified = prepared_;
    return recovery;
  }
  LogOwner owner() const { return {options_.database_id, parts_.options.server_id}; }
  Opened& opened() { return database_->opened_; }
  // From now on everything is logged.
  void connect_log();
  // Records may be granted from now on.
  reactor::Task<Status> start_grants();
  // Behind the records that were redone.
  reactor::Task<Status> open_rest();
  reactor::Task<Status> load_checkpoint();
  Status restore_tables(const Manifest& manifest);
  reactor::Task<void> load_chunks();
  reactor::Task<Status> replay_log();
  reactor::Task<Status> replay_records(LogReader* reader);
  // Error configuration: it does not fit into the log's bound.
  Status check_segments(std::uint64_t segment_bytes) const;
  // Behind the last record.
  reactor::Task<Status> resume_log(LogEnd end);
  Status lost(const LogReader& reader, const Status& damage);
  reactor::Task<Status> open_control();
  void keep_outcomes();
  void discard_tables_but(const std::set<std::uint32_t>& known);
  // Behind the last entry.
  Status finish_redo();
  // On the only memory server.
  reactor::Task<Status> derive_alone();
  static CatalogIds ids_in(const Catalog& catalog, std::vector<control::IndexDescriptor>* indexes);
  reactor::Task<Status> derive_from(CatalogIds ids, std::vector<control::IndexDescriptor> indexes);
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
  std::optional<LogEnd> log_end_;  // where the log goes on, if that is known
  std::optional<DerivedState> derived_;
  CatalogIds derived_ids_;
  std::size_t next_chunk_ = 0;
  Status chunk_failure_;
  bool prepared_ = false;   // by load() and apply()
  bool unhurried_ = false;  // this process has something else to do meanwhile
  bool tables_derived_ = false;
  bool granting_ = false;
  std::uint64_t largest_timestamp_ = 0;
};

}  // namespace namdb::memory

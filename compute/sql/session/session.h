// A client's session: its prepared statements, portals, settings and transaction, independent of the protocol
// that the client speaks. It decides which statements are one transaction, and retries that after a conflict:
//   - a statement or CALL on its own is one transaction, retried with backoff up to the engine's limit;
//   - BEGIN ... COMMIT is one transaction; an error fails it until ROLLBACK, nothing is retried;
//   - several statements of one simple query, and those between two Syncs of the extended protocol, are one
//     implicit transaction; a CALL among them commits what came before it and is a transaction of its own,
//     as if its procedure began and ended with COMMIT. Schema changes also take effect at once.
//
// Belongs to its worker's executor; one operation at a time. The sink outlives the operation.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compute/api/engine.h"
#include "compute/locks/session_locks.h"
#include "compute/outcome/transaction_ids.h"
#include "compute/procedure/registry.h"
#include "compute/sequences/sequences.h"
#include "compute/sql/bind/bind.h"
#include "compute/sql/execute/deferred_foreign_keys.h"
#include "compute/sql/execute/foreign_key_rows.h"
#include "compute/sql/execute/portal.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/expression/session_directory.h"
#include "compute/sql/expression/session_objects.h"
#include "compute/sql/plan/plan_cache.h"
#include "compute/sql/plan/routine_cache.h"
#include "compute/sql/session/planning_queue.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/syntax/temporary_names.h"
#include "compute/sql/system/settings.h"

namespace namdb::sql {

// Limits of one session: named statements, and portals, ...
inline constexpr std::size_t kMaxPrepared = 10'000;
// ... the statements' text and plans (a plan may take a hundred times as much as its text) ...
inline constexpr std::size_t kMaxPrepared_bytes = 64 << 20;
// ... and the portals' parameters, and the texts of cursors.
inline constexpr std::size_t kMaxPortal_bytes = 64 << 20;

// Longer texts are parsed, and longer statements bound, on the planning thread. One KiB takes about a
// millisecond.
inline constexpr std::size_t kLongStatement_bytes = 8 << 10;

// The environment that all sessions of a worker share. Everything that it refers to outlives them.
struct Environment {
  txn::Engine& engine;
  const procedure::ProcedureRegistry& procedures;
  WorkerStatistics& statistics;
  // The wall clock, µs since 2000-01-01, for now(). It is read each time, since it may be set.
  WallClock wall_clock_us = {};
  MemoryBudget* client_memory = nullptr;  // of all workers; null: none
  PlanCache* plans = nullptr;             // null: plans are not shared
  SessionDirectory* sessions = nullptr;   // of the compute server; null: nobody knows
  PlanningQueue* planning = nullptr;      // null: long statements, too, are parsed and planned by the worker
  txn::TransactionIds* ids = nullptr;     // null: transactions get none
  txn::Sequences* sequences = nullptr;    // null: there are none
  RoutineCache* routines = nullptr;       // null: each call of a procedure compiles it
  txn::NamedLocks* locks = nullptr;       // null: there are none
};

struct BindRequest {
  std::string_view portal;
  std::string_view statement;
  std::span<const std::int16_t> parameter_formats;  // none, one for all, or one each; 0 text, 1 binary
  std::span<const std::optional<std::string_view>> parameters;
  std::span<const std::int16_t> result_formats;
};

struct ExplainedRun;
class RoutineSource;
struct FoundObject;
struct RoleActor;
// Makes the change of the roles as they are now. It may be called again.
using RoleChangeMaker = std::function<Result<txn::RoleChange>(RoleActor& actor)>;

class Session final : private WaitingFunctions, private SessionObjects, private TemporaryNames {
 public:
  // `canceled` is set by cancel requests, from any thread.
  Session(Environment& environment, std::string user, std::string database, std::int32_t process_id,
          std::atomic<bool>& canceled);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Settings& settings() { return settings_; }
  // 'I' idle, 'T' in a transaction block, 'E' in a failed one.
  char status() const;
  // `check` is called while statements run; its error ends them.
  void set_client_check(std::function<Status()> check) { interrupt_.set_client(std::move(check)); }
  // Forgets a cancel request that arrived while nothing ran.
  void clear_cancel_request() { interrupt_.clear(); }

  // --- simple protocol: everything goes to the sink, errors too ---
  reactor::Task<void> simple_query(std::string text, ResultSink& sink);

  // --- extended protocol ---
  // The fields of the last operation's error, beside its Status.
  const ErrorFields& error_fields() const { return error_; }
  void forget_error() { error_ = {}; }
  reactor::Task<Status> prepare(std::string name, std::string text, std::vector<Oid> declared);
  // Null when no prepared statement has that name.
  PreparedStatement* find_prepared(std::string_view name);
  // Whether the statement's plan is of the current catalog; if not, renew() it before bind().
  bool current(const PreparedStatement& prepared) const;
  // Plans it again. If its columns are others now: error feature_not_supported.
  reactor::Task<Status> renew(PreparedStatement& prepared);
  Status bind(const BindRequest& request);
  Portal* find_portal(std::string_view name);
  // The error where find_portal() gives null. A block that fails ends its portals.
  Status no_portal(std::string_view name) const;
  // in_failed_transaction: a statement that returns rows is not even described in a failed block.
  Status check_describe(const Plan& plan) const;
  void close_prepared(std::string_view name);
  void close_all_prepared();
  void close_portal(std::string_view name);
  // Whether execute() of the portal depends on `autocommit`.
  bool may_autocommit(const Portal& portal) const;
  // `autocommit`: no other statement runs before the next sync().
  reactor::Task<Status> execute(Portal& portal, ResultSink& sink, std::uint64_t max_rows, bool autocommit,
                                Completion& completion);
  // The time at which the open or running transaction exceeds transaction_timeout. Without a transaction the
  // result means nothing.
  std::uint64_t transaction_deadline_ns() const;
  bool in_implicit_transaction() const { return state_ == State::implicit; }
  // Ends the implicit transaction, and forgets the portals if there is no block.
  reactor::Task<Status> sync();
  void forget_portals();
  // The client is gone: ends its transaction, undoes what its block has created, and drops its temporary
  // tables.
  reactor::Task<void> end();
  // After an error of any message: the transaction that runs has failed.
  void fail(const Status& status);

 private:
  enum class State : std::uint8_t { idle, implicit, block, failed };

  // --- session_plan.cc ---
  struct ParsedText {
    std::variant<SyntaxTree, SyntaxError> result;
    std::size_t text_bytes = 0;

    const SyntaxError* error() const { return std::get_if<SyntaxError>(&result); }
    const SyntaxTree& tree() const { return std::get<SyntaxTree>(result); }
  };
  // Whether a text of that length is parsed and bound on the planning thread.
  bool is_long(std::size_t text_bytes) const;
  // Error: the interrupt has ended the wait for that thread.
  reactor::Task<Status> run_on_planning_thread(std::function<void()> work);
  reactor::Task<ParsedText> parse(const std::string* text);
  // Frees the tree; a large one on the planning thread.
  void forget(ParsedText parsed);
  // A statement, and the text that it was read from.
  struct ParsedStatement {
    Node statement;
    std::size_t begin_bytes = 0;  // in the text
    std::size_t length_bytes = 0;
    const std::string* text = nullptr;

    std::string_view own_text() const { return std::string_view(*text).substr(begin_bytes, length_bytes); }
  };
  // How the client gave a statement that is planned again: prepared earlier, or sent just now.
  enum class Origin : std::uint8_t { prepared, sent };
  // Error when its columns have changed: feature_not_supported if it was prepared, else catalog_changed.
  reactor::Task<Status> plan_again(PreparedStatement& prepared, Origin origin);
  // Adds the tables and views of these names that are there to the input, those that the views read, and the
  // tables that foreign keys relate to them.
  reactor::Task<Status> look_up_tables(std::vector<std::string> names, BindInput* input);
  // The same, and the routines of these names, and the types that there are.
  reactor::Task<Status> look_up(std::vector<std::string> tables, std::vector<std::string> routines,
                                BindInput* input);
  void relate_tables(BindInput& input) const;
  reactor::Task<Result<Plan>> make_plan(ParsedStatement parsing, std::vector<Type> declared);
  reactor::Task<Status> plan_statement(PreparedStatement& prepared, ParsedStatement parsing);
  // Parses and plans, unless another session has the plan.
  reactor::Task<Status> plan_text(PreparedStatement& prepared);
  // Accounts for the memory of the plan, and of one within it.
  Result<std::shared_ptr<const Plan>> account_plan(Plan plan) const;
  Status keep_prepared(std::string name, std::shared_ptr<PreparedStatement> prepared);
  bool current(const Plan& plan) const;
  Status check_allowed(const Plan& plan) const;
  // The error of any statement but COMMIT and ROLLBACK, and ROLLBACK TO a savepoint, in a failed block.
  static Status only_end_of_block();
  // The reason for which the engine has ended the transaction while it was idle.
  Status check_expired(const Plan& plan) const;

  // --- session.cc ---
  Run make_run(txn::Transaction* transaction, Portal& portal, ResultSink& sink);
  reactor::Task<Status> bring_long_values(Run* run, LongValues* values) override;
  reactor::Task<Status> run_subquery(Run* run, const Expr* subquery, std::span<const Datum> outer,
                                     SubqueryRows* rows) override;
  reactor::Task<Status> run_plan(Run& run, const Plan& plan, Portal& portal, std::uint64_t max_rows);
  // A statement in a transaction of its own, up to the commit.
  reactor::Task<Status> run_alone(Run& run, Portal& portal, txn::Transaction* transaction,
                                  bool forbid_writes);
  reactor::Task<Status> run_autocommit(Portal& portal, ResultSink& sink, Completion& completion);
  // A statement in the session's transaction. `calls`: it may write anywhere.
  reactor::Task<Status> run_within(Run& run, Portal& portal, std::uint64_t max_rows, bool calls);
  reactor::Task<Status> run_in_transaction(Portal& portal, ResultSink& sink, std::uint64_t max_rows,
                                           Completion& completion);
  reactor::Task<Status> execute_statement(Portal& portal, ResultSink& sink, std::uint64_t max_rows,
                                          bool autocommit, Completion& completion);
  reactor::Task<Status> execute_all(Portal& portal, ResultSink& sink, std::uint64_t max_rows, bool autocommit,
                                    Completion& completion);
  void start_clock();
  // statement_timeout counts from now, and outside of a block the transaction's time: also while the
  // statement waits to be planned.
  void begin_statement();
  void ensure_transaction();
  std::unique_ptr<txn::Transaction> begin();
  // The checks that wait for the transaction's end, and its commit.
  reactor::Task<Status> check_and_commit();
  reactor::Task<Status> commit_transaction(std::string_view statistics_name);
  void end_transaction();
  // The cursors of suspended portals belong to the transaction.
  enum class Portals : std::uint8_t { end_suspended, end_all };
  void close_cursors(Portals which);
  // SAVEPOINT and its like.
  enum class RelationKind : std::uint8_t { table, index, view, type };
  struct DroppedInBlock {
    RelationKind kind = RelationKind::table;
    std::uint32_t id = 0;
  };
  struct Savepoint {
    std::string name;
    txn::Transaction::Savepoint mark = 0;
    Settings settings;  // as they were
    bool read_only = false;
    std::size_t created = 0;                        // relations that the block had made
    std::map<std::string, DroppedInBlock> dropped;  // and that it drops
    std::uint64_t portals = 0;                      // that the session had made
    DeferredForeignKeys::Modes deferred;            // as SET CONSTRAINTS had it
  };
  std::vector<Savepoint>::iterator find_savepoint(const std::string& name);
  Status make_savepoint(const std::string& name);
  Status release_savepoint(const std::string& name);
  reactor::Task<Status> rollback_to_savepoint(std::string name, ResultSink& sink);
  // Adds to the error's fields what the transaction knows about it.
  void describe_error(const Status& status, const txn::Transaction& transaction);
  // An INSERT that resolves conflicts (ON CONFLICT) runs in the transaction: notes the constraints.
  void note_resolved(const Plan& plan);
  // A row with the same key that appeared since then is no error of the statement's, but a conflict of two
  // transactions: one tries again, and finds it.
  Status as_conflict(Status status, const txn::Transaction& transaction) const;
  bool read_only() const;

  // --- session_prepare.cc ---
  std::vector<PreparedObject> prepared_statements() const override;
  // The plan of the statement that EXECUTE names, or of the portal that FETCH does; null: there is none.
  std::shared_ptr<const Plan> plan_named(const Plan& plan) const;
  // The same before the command is bound. Error: EXECUTE has another number of arguments.
  Status name_statement(Node command, BindInput& input);
  reactor::Task<Status> run_prepare(const PreparePlan& plan, const Portal& running);
  Status run_deallocate(const DeallocatePlan& plan);
  // Makes `target` a portal of the statement that EXECUTE, the plan, names, with the values of its arguments.
  reactor::Task<Status> begin_execute(std::shared_ptr<const Plan> plan, Portal* target, ResultSink* sink);

  // --- session_cursor.cc: cursors, and portals as cursors ---
  std::vector<CursorObject> cursors() const override;
  reactor::Task<Status> run_declare(const DeclarePlan& plan, const Portal& running, ResultSink& sink,
                                    bool autocommit);
  Result<Portal*> make_cursor(const DeclarePlan& plan, const Portal& running);
  reactor::Task<Status> run_fetch(const Plan& plan, const Portal& running, ResultSink& sink,
                                  Completion& completion);
  reactor::Task<Status> fetch_rows(const FetchPlan* fetch, Portal* portal, ResultSink* sink,
                                   std::uint64_t* rows);
  // Runs the statement of a portal for the protocol, from where the portal stands.
  reactor::Task<Status> execute_cursor(Portal& portal, ResultSink& sink, std::uint64_t max_rows,
                                       Completion& completion);
  // Runs a statement that cannot be suspended, and keeps its rows.
  reactor::Task<Status> keep_all_rows(Portal& portal, ResultSink& sink, bool autocommit);
  // Where the rows of a cursor go: messages to the sink, and rows too, unless it only moves.
  struct Receiver {
    ResultSink& sink;
    bool gives_rows = true;
  };
  static constexpr std::uint64_t kAllRows = ~std::uint64_t{0};
  // FETCH and MOVE; `rows`: passed last.
  reactor::Task<Status> move_cursor(FetchPlan fetch, Portal* portal, Receiver to, std::uint64_t* rows);
  reactor::Task<Status> move_absolute(std::int64_t count, Portal* portal, Receiver to, std::uint64_t* rows);
  reactor::Task<Status> give_current(Portal* portal, Receiver to, std::uint64_t* rows);
  reactor::Task<Status> go_forward(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows);
  reactor::Task<Status> go_backward(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows);
  // Gives kept rows, from that one on or back, counted from 0.
  reactor::Task<Status> give_kept(Portal* portal, std::uint64_t first, std::uint64_t count, bool backward,
                                  Receiver to);
  // Reads new rows of the portal's statement.
  reactor::Task<Status> read_rows(std::uint64_t count, Portal* portal, Receiver to, std::uint64_t* rows);
  // Runs the query of a cursor to its end, in a transaction of its own (`alone`) or in the session's, and
  // keeps its rows.
  reactor::Task<Status> run_and_keep(Portal* portal, bool alone, ResultSink* sink);
  // Keeps the rows that are left of a portal.
  reactor::Task<Status> keep_rest(Portal* portal, ResultSink* sink);
  // The same of all portals that read one of the tables, before the transaction writes to it; null: of any
  // tables. Cursors do not see what is written after they were declared. `running`: writes; may be null.
  reactor::Task<Status> keep_open_portals(const std::vector<std::uint32_t>* tables, const Portal* running,
                                          ResultSink* sink);
  // object_in_use: a portal of the transaction reads the table, which the command is going to replace.
  Status check_not_read(std::string_view command, const storage::Table& table) const;
  // Before the commit, and after it: of cursors WITH HOLD.
  reactor::Task<Status> keep_held_portals();
  void mark_held_portals();
  // Forgets portals that have ended. `running` stays.
  void sweep_portals(const Portal* running);

  // --- session_locks.cc ---
  reactor::Task<Result<Datum>> lock_function(std::string_view name, std::span<const Datum> arguments,
                                             ResultSink* sink) override;
  reactor::Task<Result<bool>> claim(std::vector<txn::WantedLock>* wanted) override;
  // Returns when the locks are free that the session has given back. A lock of a transaction that there is
  // not any more is given back before.
  reactor::Task<void> settle_locks();

  // --- session_ids.cc ---
  reactor::Task<Result<Datum>> transaction_id(txn::Transaction* transaction) override;
  reactor::Task<Result<Datum>> transaction_outcome(std::int64_t id) override;
  // --- session_sequence_ddl.cc ---
  reactor::Task<Status> change_sequences(const SequencePlan& plan, std::string_view tag, ResultSink& sink);
  reactor::Task<Status> create_sequence(const SequencePlan& plan, ResultSink& sink);
  reactor::Task<Status> missing_sequence(std::string name, SequenceCommand command);
  // OWNED BY; without a table: NONE.
  reactor::Task<Status> change_sequence_owner(std::string sequence, SequencePlan::Owner owner,
                                              ResultSink& sink);
  // Of a column that is there; nullopt: it has none.
  reactor::Task<Status> change_default(std::string table, std::string column,
                                       std::optional<std::string> text);
  // --- session_sequences.cc ---
  reactor::Task<Result<Datum>> sequence_function(std::string_view name,
                                                 std::span<const Datum> arguments) override;
  reactor::Task<Result<Datum>> setting_function(std::string_view name, std::span<const Datum> arguments,
                                                ResultSink* sink) override;
  Status check_sequence_owners(const std::vector<std::string>& names) override;
  reactor::Task<Status> restart_sequences(std::vector<std::string> names) override;
  // duplicate_table: a sequence has the name that a relation is to get.
  reactor::Task<Status> check_no_sequence(std::string name);
  reactor::Task<Result<Datum>> next_value(std::string name);
  reactor::Task<Result<Datum>> current_value(std::string name, std::string_view function);
  reactor::Task<Result<Datum>> set_value(std::string name, std::span<const Datum> arguments);
  reactor::Task<Result<Datum>> serial_sequence(std::string table, std::string_view column);
  // undefined_table: a column's default names a sequence that is not there.
  reactor::Task<Status> check_default_sequences(const layout::Schema* schema);
  reactor::Task<Result<std::vector<CatalogSequence>>> catalog_sequences() override;
  // Creates the sequences of a table that is about to be made, for that owner. `definition`: its columns get
  // their names. `options`: by column.
  reactor::Task<Status> create_sequences(const std::vector<std::uint32_t>* filled_columns,
                                         const std::map<std::string, ColumnSequence>* options,
                                         txn::TableDefinition* definition, std::uint32_t owner);
  // Of a table that is dropped, or was not made.
  reactor::Task<Status> drop_sequences(const layout::Schema* schema);
  // Drops them, and forgets their owners.
  reactor::Task<Status> drop_and_disown(std::vector<std::string> sequences);
  // duplicate_table: a relation has the name.
  reactor::Task<Status> create_new_sequence(std::string name, const txn::SequenceDefinition* definition);
  // The tables that keep the long values of the table with that id go with it, or become those of the one
  // that has taken its place.
  reactor::Task<Status> drop_long_values(std::uint32_t table);
  reactor::Task<Status> rename_long_values(std::uint32_t from, std::uint32_t to);
  // Deletes values that no row has any more.
  reactor::Task<Status> erase_long_values(std::vector<std::string> places, ResultSink& sink);

  // --- session_ids.cc ---
  // The transaction has ended in that way. If it had an id, an outcome that is unknown gets it as a hint.
  void end_id(Status& outcome);

  // --- session_command.cc ---
  reactor::Task<Status> run_command(const Plan& plan, Portal& portal, ResultSink& sink,
                                    Completion& completion);
  reactor::Task<Status> run_transaction_command(const TransactionPlan& plan, ResultSink& sink,
                                                Completion& completion);
  // Sends a notice, unless client_min_messages suppresses it.
  void notify(ResultSink& sink, std::string_view severity, std::string_view sqlstate,
              std::string_view message) const;
  Status check_characteristics(const TransactionPlan& plan, ResultSink& sink);
  Status run_set(const SetPlan& plan, ResultSink& sink);
  reactor::Task<Status> run_show(const ShowPlan& plan, ResultSink& sink, Completion& completion);
  Status run_discard(const DiscardPlan& plan, const Portal& running, ResultSink& sink);
  Status run_close(const ClosePlan& plan, const Portal& running);
  Status set_read_only(const SetPlan& plan, ResultSink& sink);
  reactor::Task<Status> run_explain(const ExplainPlan& plan, Portal& portal, ResultSink& sink,
                                    Completion& completion);
  reactor::Task<Status> analyze(const Plan& plan, Portal& portal, ResultSink& messages,
                                ExplainedRun& explained);
  void report_settings(ResultSink& sink);
  void end_settings_of_block(Settings::BlockEnd end, ResultSink& sink);

  // --- session_ddl.cc ---
  reactor::Task<Status> run_ddl(const Plan& plan, ResultSink& sink);
  // `made`: receives the name of the table or index if a new one was made; may be null.
  reactor::Task<Status> create_table(const CreateTablePlan& plan, ResultSink& sink, std::string* made);
  reactor::Task<Status> create_index(const CreateIndexPlan& plan, ResultSink& sink, std::string* made);
  // For an index that is to be made.
  reactor::Task<Status> make_room(const CreateIndexPlan& plan, ResultSink& sink);
  reactor::Task<Status> run_reindex(const ReindexPlan& plan, ResultSink& sink);
  // DROP of several tables or indexes.
  struct Drop {
    RelationKind kind = RelationKind::table;
    std::vector<std::string> names;
    bool if_exists = false;
    bool cascades = false;
    bool silently = false;  // without a word of what CASCADE drops
  };
  reactor::Task<Status> drop_relations(Drop drop, ResultSink& sink);
  // `there` receives those of the names that exist; a notice tells of others. The command itself checks their
  // owners, and not the block's end.
  reactor::Task<Status> check_drop(const Drop* drop, std::vector<std::string>* there, ResultSink& sink);

  // --- session_dependents.cc ---
  // Dependents of relations: foreign keys of other tables, and views.
  struct Dependents {
    struct Key {
      std::string table;
      std::string name;
    };
    std::vector<Key> keys;
    std::vector<Key> inner;          // foreign keys among the dropped tables themselves
    std::vector<std::string> views;  // each before those that it reads
    std::vector<std::string> texts;  // "view v depends on table t"
    std::vector<std::string> names;  // "view v"
  };
  reactor::Task<Status> find_dependents(RelationKind kind, std::vector<std::string> relations,
                                        Dependents* dependents);
  // The error of a drop without CASCADE.
  Status refuse_drop(const Drop& drop, const std::vector<std::string>& there, const Dependents& dependents);
  Status check_dependents(const Drop& drop, const std::vector<std::string>& there,
                          const Dependents& dependents, ResultSink& sink);
  reactor::Task<Status> drop_dependents(const Dependents* dependents);
  // All views of the catalog of now.
  reactor::Task<Result<std::vector<ViewRef>>> read_views();
  // The error of ALTER TABLE where views read what it changes; `dropped` receives those that CASCADE drops.
  reactor::Task<Status> check_view_columns(const AlterTablePlan* plan, std::vector<std::string>* dropped);

  // --- session_views.cc ---
  reactor::Task<Status> create_view(const CreateViewPlan& plan, ResultSink& sink);
  reactor::Task<Status> drop_views(const DropViewPlan& plan, ResultSink& sink);
  reactor::Task<Status> drop_view(std::string name);
  reactor::Task<Status> rename_view(const DropViewPlan* plan, const Dependents* dependents);

  // --- session_temporary.cc ---
  std::string_view prefix() const override { return temporary_prefix_; }
  bool has_table(std::string_view name) const override;
  bool has_index(std::string_view name) const override;
  // Where the statement names temporary tables, or makes one: it becomes `renamed`, with their stored names.
  reactor::Task<Status> name_temporary(Node* statement, Json* renamed);
  reactor::Task<Status> begin_temporary();
  // One that the session has made.
  struct TemporaryTable {
    std::string stored_name;
    storage::TableRef seen;         // as it was when the session saw it last; null: it never did
    bool dropped_in_block = false;  // the block has dropped it when it was gone already
  };
  // It is there no more, or not under the prefix of now.
  bool is_gone(const TemporaryTable& table) const;
  // The session has made a table of that name, or dropped it. Nothing if it is not temporary.
  void note_temporary(const std::string& stored_name);
  void forget_temporary(const std::string& stored_name);
  // Before a table of that name is made: the one that is gone and has the name; null: there is none.
  std::shared_ptr<const TemporaryTable> replaced_by(const std::string& stored_name) const;
  // It has its name again, as the table that replaced it is undone. Nothing if it is null.
  void put_back(const TemporaryTable* replaced);
  // DROP TABLE IF EXISTS in a block, of one that is gone; and the block's rollback.
  void forget_gone_in_block(const std::string& stored_name);
  void restore_gone_of_block();
  reactor::Task<void> drop_temporary(std::string stored_name);
  reactor::Task<void> drop_all_temporary();
  // Those of ON COMMIT DROP join the drops of the block.
  void drop_temporary_at_commit();

  // --- session_types.cc ---
  // Takes over the types that statements have made, as they are now.
  reactor::Task<Status> read_types();
  bool types_are_current() const;
  // After a statement during which labels were missed. catalog_changed: it may have met values whose labels
  // nobody had read yet, so its rows are not shown; the next attempt knows them. No error: no more labels are
  // known than when it began, so it would end with the same rows again.
  reactor::Task<Status> learn_labels(const LabelWatch* labels);
  // An error of a statement: with the types as they are now it may be another one, or none.
  bool may_name_new_type(const Status& status) const {
    return status.code() == ErrorCode::undefined_object && !types_are_current();
  }
  // The same before a statement is bound that may name one.
  reactor::Task<Status> follow_types(const BindInput* input);
  reactor::Task<Status> change_types(const EnumerationPlan& plan, ResultSink& sink);
  // Once. duplicate_function: it has changed meanwhile.
  reactor::Task<Status> alter_type(const EnumerationPlan& plan, ResultSink& sink);
  reactor::Task<Status> create_type(const EnumerationPlan& plan);
  reactor::Task<Status> drop_types(const EnumerationPlan& plan, ResultSink& sink);
  // Of a type that the session knows; null: there is none any more.
  storage::RoutineRef entry_of_type(const std::string& name) const;
  // duplicate_object: the name of a new type is taken.
  reactor::Task<Status> check_type_name(std::string name);

  // --- session_type_uses.cc ---
  // Types that a definition uses, by id, with the names that its texts give them; empty: no text does.
  using UsedTypes = std::map<std::uint32_t, std::string>;
  // After a definition was made that uses types: none of them is dropped any more, or gets another name, by a
  // session that does not see this use. undefined_object: one is gone, so the definition has to go, too.
  reactor::Task<Status> hold_types(UsedTypes used);
  reactor::Task<Status> hold_types(const txn::TableDefinition* definition);
  reactor::Task<Status> hold_types(const View* view);
  reactor::Task<Status> hold_types(const RoutineSignature* signature);
  // A routine or view whose types are not there takes the text back that it had before. Nothing if `made` is
  // null, or another one has taken its place.
  reactor::Task<void> undo_replacement(storage::RoutineRef before, storage::RoutineRef made);
  // Error: the interrupt has ended the statement before the text was parsed.
  Status check_parsed(const ParsedText& parsed) const;
  reactor::Task<Status> add_named_types(std::string query, UsedTypes* used);
  reactor::Task<Result<bool>> names_type(std::string query, const Enumeration* type);
  reactor::Task<Status> check_type_unnamed(const Enumeration* type);
  // feature_not_supported: an expression of a table contains the text, or a view does, and it names the type,
  // or the table has such columns.
  reactor::Task<Status> check_not_in_texts(const Enumeration* type, std::string text, std::string what);
  reactor::Task<Status> find_type_dependents(std::uint32_t id, Dependents* dependents);
  // dependent_objects_still_exist: it is in use now. One that is gone already is no error.
  reactor::Task<Status> drop_type(std::uint32_t id);
  // The same at the end of a block, where a type that others use stays, with a warning.
  reactor::Task<Status> drop_type_unless_used(std::uint32_t id, ResultSink& sink);

  // --- session_foreign_keys.cc ---
  reactor::Task<Status> change_foreign_keys(std::string table,
                                            std::function<void(std::vector<storage::ForeignKey>&)> change);
  reactor::Task<Status> drop_foreign_key(std::string table, std::string key);
  // After foreign keys were added to the table: waits until all transactions know of them, and checks the
  // table's rows against those of these names.
  reactor::Task<Status> settle_foreign_keys(std::string table, std::vector<std::string> validated);
  reactor::Task<Status> check_rows(std::string table, std::string key);
  reactor::Task<Status> check_rows(const ForeignKeyGraph* graph, const ForeignKeyGraph::Reference* reference);
  reactor::Task<Status> check_values(const ForeignKeyGraph* graph,
                                     const ForeignKeyGraph::Reference* reference,
                                     const ForeignKeyValues* values);

  // --- session_constraints.cc ---
  reactor::Task<Status> run_lock();
  reactor::Task<Status> set_constraints(const ConstraintsPlan& plan, ResultSink& sink);
  // Checks what waits for the end of the transaction. `all`: this is the end; otherwise, what need not wait
  // any more. foreign_key_violation.
  reactor::Task<Status> check_deferred(txn::Transaction* transaction, bool all);
  reactor::Task<Status> check_deferred(txn::Transaction* transaction,
                                       const DeferredForeignKeys::Pending* pending, bool all, bool* checked);

  // --- session_block_ddl.cc ---
  struct CreatedInBlock {
    RelationKind kind = RelationKind::table;
    std::string name;
    std::uint32_t id = 0;
    std::shared_ptr<const TemporaryTable> replaced = nullptr;  // had the name, and was gone already
  };
  reactor::Task<Status> run_block_ddl(const Plan& plan, ResultSink& sink);
  reactor::Task<Status> note_created(RelationKind kind, std::string name);
  // Before a schema change that waits for all transactions. Error active_transaction.
  reactor::Task<Status> set_reads_aside(std::string_view statement, ResultSink& sink);
  reactor::Task<Status> drop_in_block(Drop drop, ResultSink& sink);
  static Drop silent_drop(RelationKind kind, const std::string& name);
  // After the commit of the block's transaction: one of what it has dropped, and all of it.
  reactor::Task<Status> drop_at_commit(const std::string* name, const DroppedInBlock* drop, ResultSink& sink);
  reactor::Task<Status> drop_at_commit(ResultSink& sink);
  // The block is rolled back.
  reactor::Task<Status> undo_block_ddl(ResultSink& sink);
  void forget_block_ddl();
  // Drops what the block has made, but for the first `from`.
  reactor::Task<Status> undo_created(std::size_t from, ResultSink& sink);
  // The block's table has another name, or another identity, and its indexes, too.
  void note_altered(std::uint32_t table, const std::string& name);

  // --- session_alter.cc ---
  reactor::Task<Status> alter_table(const AlterTablePlan& plan, ResultSink& sink);
  // `index_name`: of the last one of the plan's indexes; null: it has its name.
  reactor::Task<Status> replace_rows(const AlterTablePlan& plan, ResultSink& sink,
                                     const std::string* index_name);
  // The columns of indexes that no index of the table has any more are calculated no more. They go when its
  // rows are replaced.
  reactor::Task<void> forget_index_columns(std::string name);
  reactor::Task<Status> change_names(const AlterTablePlan& plan);
  // After a change of the table, or an error of that, which is given back.
  reactor::Task<Status> drop_changed_sequences(Status status, const layout::Schema* before,
                                               const layout::Schema* after);
  reactor::Task<Status> add_foreign_keys(const AlterTablePlan& plan);
  reactor::Task<Status> rename_index(const AlterTablePlan& plan, ResultSink& sink);

  // --- session_catalog.cc ---
  reactor::Task<Result<std::vector<CatalogRoutine>>> catalog_routines() override;

  // --- session_routines.cc ---
  // Of a routine of the catalog, perhaps from the cache.
  Result<std::shared_ptr<const RoutineSignature>> read_signature(const storage::RoutineRef& routine);
  // Null: there is none of that name.
  reactor::Task<Result<std::shared_ptr<const RoutineSignature>>> find_routine(std::string name);
  // Adds those of the names that are procedures written in SQL to the input.
  reactor::Task<Status> look_up_routines(std::vector<std::string> names, BindInput* input);
  reactor::Task<Result<std::unique_ptr<RoutineSource>>> read_routine(
      std::shared_ptr<const RoutineSignature> signature, const std::string* definition);
  reactor::Task<Result<std::shared_ptr<const CompiledRoutine>>> compile(
      std::shared_ptr<const RoutineSignature> signature, const std::string* definition);
  reactor::Task<Result<std::shared_ptr<const CompiledRoutine>>> compiled_routine(
      std::shared_ptr<const RoutineSignature> signature) override;
  reactor::Task<Result<Datum>> call_routine(Run* run, const Expr* call,
                                            std::span<const Datum> arguments) override;
  Status check_may_write(std::string_view command) override;
  void show_message(ResultSink& sink, std::string_view severity, std::string_view sqlstate,
                    std::string_view message) override;
  reactor::Task<Status> create_routine(const CreateRoutinePlan& plan, ResultSink& sink);
  reactor::Task<Status> drop_routines(const DropRoutinePlan& plan, ResultSink& sink);
  // Whether these are the types of its parameters, all or those that it is given.
  static bool has_types(const RoutineSignature& signature, const std::vector<TypeId>& types);
  // `word`: "procedure".
  static Status missing_routine(const std::string& name, std::string_view word,
                                const std::optional<std::vector<TypeId>>& types);

  // --- session_rights.cc ---
  // Takes over the roles as the worker knows them now.
  void follow_roles() override;
  // The session's user and role become those of its settings.
  void apply_identity();
  // A name means the role that had it when the session first knew it; another one of that name is unknown.
  void bind_role(const std::string& name);
  std::uint32_t bound_role(const std::string& name) const;
  static bool names_identity(std::string_view setting);
  reactor::Task<Status> set_identity(const SetPlan* set, ResultSink* sink);
  Status check_identity(const SetPlan& plan) const;
  storage::Privileges privileges_of(const storage::SecuredObject& object);
  // Those of the view's owner.
  storage::Privileges privileges_of_owner(const std::string& view,
                                          const storage::SecuredObject& object) const;
  // A right that is missing is looked for in the catalog of now: another server may have granted it.
  reactor::Task<Status> check_rights(std::span<const RequiredRight> rights) override;
  reactor::Task<Status> check_rights(const Plan* plan, PreparedStatement* prepared);
  Status check_known_rights(std::span<const RequiredRight> rights);
  // That check would find nothing, as it did last time.
  bool rights_are_known(const Plan& plan, const PreparedStatement& prepared);
  // Before a commit: nothing, unless roles have changed since the statement began.
  Status check_rights_again(const Plan& plan);
  Status check_object_owner(const storage::SecuredObject& object, std::string_view word,
                            const std::string& name);
  Status check_table_owner(const storage::Table& table);
  // Whether the session may make objects.
  Status check_may_create();
  // Of nextval() and its like.
  reactor::Task<Status> check_sequence(std::string_view function, std::string name);
  std::uint32_t owner_of_new();

  // --- session_roles.cc ---
  reactor::Task<Status> run_role(const RolePlan& plan, std::string_view tag, ResultSink& sink);
  // `secured`: null, or receives all that have rights, as they are at each try.
  reactor::Task<Status> change_roles(const RoleChangeMaker* make, ResultSink* sink,
                                     std::vector<FoundObject>* secured = nullptr);
  reactor::Task<Status> change_owner(const ChangeOwnerPlan* plan, ResultSink* sink);
  reactor::Task<Status> find_object(storage::ObjectKind kind, std::string_view word,
                                    const NamedObjects::Object* wanted, std::vector<FoundObject>* found);
  reactor::Task<Status> find_objects(const NamedObjects* named, std::vector<FoundObject>* found);
  reactor::Task<Status> find_all_objects(storage::ObjectKind kind, std::vector<FoundObject>* found);
  // All that have rights of their own.
  reactor::Task<Status> find_secured(std::vector<FoundObject>* found);
  // An object of another name, which is new, gets the same owner and grants.
  reactor::Task<Status> copy_rights(storage::SecuredObject from, std::string name);
  // A sequence was made, or is gone.
  reactor::Task<Status> own_sequence(std::string name, std::uint32_t owner);
  reactor::Task<Status> disown_sequences(std::vector<std::string> names);

  // --- session_simple.cc ---
  reactor::Task<bool> run_simple(ParsedStatement parsing, bool autocommit, bool last, ResultSink& sink);

  Environment& environment_;
  txn::Engine& engine_;
  SessionFacts facts_;
  const std::string authenticated_user_;
  std::map<std::string, std::uint32_t> bound_roles_;  // the ids of roles that the session has been
  // Of the roles in facts_: the catalog that they were taken from; a number that changes whenever a check of
  // rights may have another result; and the rights that were asked for since, by table.
  std::uint64_t roles_seen_ = 0;
  std::uint64_t rights_epoch_ = 1;
  absl::flat_hash_map<std::uint32_t, storage::Privileges> known_rights_;
  std::set<std::string> identity_sequences_;  // that the session may use because of their tables
  std::uint64_t checked_epoch_ = 0;           // in which the statement's rights were checked
  bool is_superuser_ = true;
  bool drops_are_checked_ = false;  // whether the session may drop
  bool identity_in_block_ = false;  // the block has changed who the session is
  Settings settings_;
  Interrupt interrupt_;
  Arena arena_;
  Work work_;
  CallScratch call_scratch_;
  std::unique_ptr<txn::Session> txn_session_;
  State state_ = State::idle;
  // Of the block.
  std::vector<Savepoint> savepoints_;
  std::vector<CreatedInBlock> created_in_block_;
  std::map<std::string, DroppedInBlock> dropped_in_block_;
  std::vector<std::string> unsettled_in_block_;  // tables with new foreign keys
  std::vector<std::string> temporary_of_block_;  // ON COMMIT DROP
  bool block_read_only_ = false;
  std::string temporary_prefix_;  // of the names of temporary tables; empty: there were none yet
  std::shared_ptr<const txn::SlotLease> temporary_lease_;
  std::map<std::string, TemporaryTable, std::less<>> temporary_tables_;  // by the names of statements
  std::uint64_t types_version_ = 0;  // of the catalog from which facts_.types was taken; 0: none
  std::uint64_t began_ns_ = 0;       // of the transaction
  std::unique_ptr<txn::Transaction> transaction_;
  std::set<std::string> resolved_constraints_;  // of its statements: note_resolved()
  DeferredForeignKeys deferred_;                // of the transaction that runs
  // The numbers that nextval() gave this session, by sequence, and the one of them that gave the last.
  std::map<std::string, std::int64_t, std::less<>> sequence_values_;
  std::string setting_text_;  // of the last setting_function()
  std::string last_sequence_;
  std::string serial_sequence_;               // what pg_get_serial_sequence() gave last
  std::optional<std::int64_t> id_;            // of the transaction that runs, if it was given one
  std::unique_ptr<txn::SessionLocks> locks_;  // null: it has taken none
  ErrorFields error_;
  std::shared_ptr<PreparedStatement> unnamed_;
  std::map<std::string, std::shared_ptr<PreparedStatement>, std::less<>> prepared_;
  std::size_t prepared_bytes_ = 0;
  Portal unnamed_portal_;
  Portal simple_portal_;
  std::map<std::string, Portal, std::less<>> portals_;
  std::size_t portal_bytes_ = 0;
  std::uint64_t portals_made_ = 0;
};

}  // namespace namdb::sql

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

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/api/engine.h"
#include "compute/locks/session_locks.h"
#include "compute/sql/bind/bind.h"
#include "compute/sql/execute/deferred_foreign_keys.h"
#include "compute/sql/execute/foreign_key_rows.h"
#include "compute/sql/execute/portal.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/expression/session_objects.h"
#include "compute/sql/session/bind_request.h"
#include "compute/sql/session/block_changes.h"
#include "compute/sql/session/cursor_moves.h"
#include "compute/sql/session/dependents.h"
#include "compute/sql/session/environment.h"
#include "compute/sql/session/known_types.h"
#include "compute/sql/session/portals.h"
#include "compute/sql/session/prepared_statements.h"
#include "compute/sql/session/resolved_constraints.h"
#include "compute/sql/session/savepoint.h"
#include "compute/sql/session/sequence_values.h"
#include "compute/sql/session/session_rights.h"
#include "compute/sql/session/statement_parser.h"
#include "compute/sql/session/temporary_tables.h"
#include "compute/sql/session/transaction_clock.h"
#include "compute/sql/session/type_uses.h"
#include "compute/sql/syntax/error_fields.h"
#include "compute/sql/system/settings.h"

namespace namdb::sql {

struct ExplainedRun;
class RoutineSource;
struct FoundObject;
struct RoleActor;
// Makes the change of the roles as they are now. It may be called again.
using RoleChangeMaker = std::function<Result<txn::RoleChange>(RoleActor& actor)>;

class Session final : private WaitingFunctions, private SessionObjects, private CursorMoves::Source {
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
  PreparedStatement* find_prepared(std::string_view name) { return prepared_.find(name).get(); }
  // Whether the statement's plan is of the current catalog; if not, renew() it before bind().
  bool current(const PreparedStatement& prepared) const;
  // Plans it again. If its columns are others now: error feature_not_supported.
  reactor::Task<Status> renew(PreparedStatement& prepared);
  Status bind(const BindRequest& request);
  Portal* find_portal(std::string_view name) { return portals_.find(name); }
  // The error where find_portal() gives null. A block that fails ends its portals.
  Status no_portal(std::string_view name) const;
  // in_failed_transaction: a statement that returns rows is not even described in a failed block.
  Status check_describe(const Plan& plan) const;
  void close_prepared(std::string_view name) { prepared_.close(name); }
  void close_portal(std::string_view name) { portals_.close(name); }
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
  // The same where no implicit transaction is open.
  void forget_portals();
  // The client is gone: ends its transaction, undoes what its block has created, and drops its temporary
  // tables.
  reactor::Task<void> end();
  // After an error of any message: the transaction that runs has failed.
  void fail(const Status& status);

 private:
  enum class State : std::uint8_t { idle, implicit, block, failed };

  // --- session_plan.cc ---
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
  // Another number whenever names may mean other relations in the same catalog; 0: they mean what they do to
  // sessions without temporary tables.
  std::uint64_t names_version() const;
  bool current(const Plan& plan) const;
  Status check_allowed(const Plan& plan) const;
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
  // statement_timeout counts from now, and so does the time of a transaction that begins with the statement:
  // also while the statement waits to be planned.
  void begin_statement();
  void ensure_transaction();
  std::unique_ptr<txn::Transaction> begin();
  // The checks that wait for the transaction's end, and its commit.
  reactor::Task<Status> check_and_commit();
  reactor::Task<Status> commit_transaction(std::string_view statistics_name);
  void end_transaction();
  // The cursors of suspended portals belong to the transaction.
  enum class EndedPortals : std::uint8_t { suspended, all };
  void close_cursors(EndedPortals which);
  // SAVEPOINT and its like.
  std::vector<Savepoint>::iterator find_savepoint(const std::string& name);
  Status make_savepoint(const std::string& name);
  Status release_savepoint(const std::string& name);
  reactor::Task<Status> rollback_to_savepoint(std::string name, ResultSink& sink);
  // Adds to the error's fields what the transaction knows about it.
  void describe_error(const Status& status, const txn::Transaction& transaction);
  bool read_only() const;

  // --- session_prepare.cc ---
  std::vector<PreparedObject> prepared_statements() const override { return prepared_.objects(); }
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
  reactor::Task<Status> read_rows(std::uint64_t count, Portal* portal, Receiver to,
                                  std::uint64_t* rows) override;
  // Runs the query of a cursor to its end, in a transaction of its own (`alone`) or in the session's, and
  // keeps its rows.
  reactor::Task<Status> run_and_keep(Portal* portal, bool alone, ResultSink* sink);
  reactor::Task<Status> read_types() override { return types_.read(); }
  // Keeps the rows that are left of a portal.
  reactor::Task<Status> keep_rest(Portal* portal, ResultSink* sink);
  // The same of all portals that read one of the tables, before the transaction writes to it; null: of any
  // tables. Cursors do not see what is written after they were declared. `running`: writes; may be null.
  reactor::Task<Status> keep_open_portals(const std::vector<std::uint32_t>* tables, const Portal* running,
                                          ResultSink* sink);
  // object_in_use: a portal of the transaction reads the table, which the command is going to replace.
  Status check_not_read(std::string_view command, const storage::Table& table) const;
  // Before the commit: of cursors WITH HOLD.
  reactor::Task<Status> keep_held_portals();

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
  // The transaction has ended in that way. If it had an id, an outcome that is unknown gets it as a hint.
  void end_id(Status& outcome);

  // --- session_sequence_ddl.cc ---
  reactor::Task<Status> change_sequences(const SequencePlan& plan, std::string_view tag, ResultSink& sink);
  reactor::Task<Status> create_sequence(const SequencePlan& plan, ResultSink& sink);
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
  // Deletes values that no row has any more.
  reactor::Task<Status> erase_long_values(std::vector<std::string> places, ResultSink& sink);

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
  // SET ROLE and SET SESSION AUTHORIZATION.
  reactor::Task<Status> set_identity(const SetPlan* set, ResultSink* sink);
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
  reactor::Task<Status> drop_relations(Drop drop, ResultSink& sink);
  // `there` receives those of the names that exist; a notice tells of others. The command itself checks their
  // owners, and not the block's end.
  reactor::Task<Status> check_drop(const Drop* drop, std::vector<std::string>* there, ResultSink& sink);

  // --- session_dependents.cc ---
  reactor::Task<Status> find_dependents(RelationKind kind, std::vector<std::string> relations,
                                        Dependents* dependents);
  // The error of a drop without CASCADE.
  Status refuse_drop(const Drop& drop, const std::vector<std::string>& there, const Dependents& dependents);
  Status check_dependents(const Drop& drop, const std::vector<std::string>& there,
                          const Dependents& dependents, ResultSink& sink);
  reactor::Task<Status> drop_dependents(const Dependents* dependents);
  // The error of ALTER TABLE where views read what it changes; `dropped` receives those that CASCADE drops.
  reactor::Task<Status> check_view_columns(const AlterTablePlan* plan, std::vector<std::string>* dropped);

  // --- session_views.cc ---
  reactor::Task<Status> create_view(const CreateViewPlan& plan, ResultSink& sink);
  reactor::Task<Status> drop_views(const DropViewPlan& plan, ResultSink& sink);
  reactor::Task<Status> drop_view(std::string name);
  reactor::Task<Status> rename_view(const DropViewPlan* plan, const Dependents* dependents);

  // --- session_temporary.cc ---
  // Where the statement names temporary tables, or makes one: it becomes `renamed`, with their stored names.
  reactor::Task<Status> name_temporary(Node* statement, Json* renamed);
  reactor::Task<Status> begin_temporary();
  // Once for each prefix, as soon as there is no block: drops the tables that others have left behind.
  reactor::Task<void> sweep_temporary();
  reactor::Task<void> drop_temporary(std::string stored_name);
  reactor::Task<void> drop_all_temporary();
  // Before a commit: deletes the rows of tables with ON COMMIT DELETE ROWS.
  reactor::Task<Status> empty_temporary(txn::Transaction* transaction);
  // Tables with ON COMMIT DROP join the drops of the block.
  void drop_temporary_at_commit();

  // --- session_types.cc ---
  reactor::Task<Status> change_types(const EnumerationPlan& plan, ResultSink& sink);
  // Once. duplicate_function: it has changed meanwhile.
  reactor::Task<Status> alter_type(const EnumerationPlan& plan, ResultSink& sink);
  reactor::Task<Status> create_type(const EnumerationPlan& plan);
  reactor::Task<Status> drop_types(const EnumerationPlan& plan, ResultSink& sink);
  // duplicate_object: the name of a new type is taken.
  reactor::Task<Status> check_type_name(std::string name);
  // dependent_objects_still_exist: it is in use now. One that is gone already is not an error.
  reactor::Task<Status> drop_type(std::uint32_t id);
  // All of them, or none.
  reactor::Task<Status> drop_all_types(std::vector<std::uint32_t> ids);
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
  reactor::Task<Status> run_block_ddl(const Plan& plan, ResultSink& sink);
  reactor::Task<Status> note_created(RelationKind kind, std::string name);
  // Before a schema change that waits for all transactions. Error active_transaction.
  reactor::Task<Status> set_reads_aside(std::string_view statement, ResultSink& sink);
  reactor::Task<Status> drop_in_block(Drop drop, ResultSink& sink);
  // After the commit of the block's transaction: one of what it has dropped, and all of it.
  reactor::Task<Status> drop_at_commit(const std::string* name, const BlockChanges::Dropped* drop,
                                       ResultSink& sink);
  reactor::Task<Status> drop_at_commit(ResultSink& sink);
  // The block is rolled back.
  reactor::Task<Status> undo_block_ddl(ResultSink& sink);
  void forget_block_ddl();
  // Drops what the block has made, except the first `from`.
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

  // --- rights ---
  void follow_roles() override { rights_.follow_roles(); }
  reactor::Task<Status> check_rights(std::span<const RequiredRight> rights) override {
    return rights_.check_rights(rights);
  }

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
  bool drops_are_checked_ = false;  // whether the session may drop
  bool identity_in_block_ = false;  // the block has changed who the session is
  Settings settings_;
  SessionRights rights_;
  Interrupt interrupt_;
  StatementParser parser_;
  Arena arena_;
  Work work_;
  CursorMoves moves_;
  CallScratch call_scratch_;
  std::unique_ptr<txn::Session> txn_session_;
  State state_ = State::idle;
  // The savepoints of the block.
  std::vector<Savepoint> savepoints_;
  BlockChanges block_;
  bool block_read_only_ = false;
  TemporaryTables temporary_;
  KnownTypes types_;
  TypeUses type_uses_;
  TransactionClock clock_;
  std::unique_ptr<txn::Transaction> transaction_;
  ResolvedConstraints resolved_constraints_;  // of its statements
  DeferredForeignKeys deferred_;              // of the transaction that runs
  SequenceValues sequence_values_;
  std::string setting_text_;                  // of the last setting_function()
  std::optional<std::int64_t> id_;            // of the transaction that runs, if it was given one
  std::unique_ptr<txn::SessionLocks> locks_;  // null: it has taken none
  ErrorFields error_;
  PreparedStatements prepared_;
  Portal simple_portal_;
  Portals portals_;
};

}  // namespace namdb::sql

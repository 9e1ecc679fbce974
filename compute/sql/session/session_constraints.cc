// Foreign keys whose checks wait for the end of the transaction, SET CONSTRAINTS, and LOCK TABLE.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compute/sql/bind/bind_foreign_key.h"
#include "compute/sql/execute/foreign_keys.h"
#include "compute/sql/session/session.h"

namespace namdb::sql {

using reactor::Task;

Task<Status> Session::run_lock() {
  if (state_ != State::block && state_ != State::implicit)
    co_return Status(ErrorCode::no_active_transaction, "LOCK TABLE can only be used in transaction blocks");
  // From here on the tables are read as they are now: the snapshot is taken, if there is none.
  ensure_transaction();
  co_return co_await transaction_->fetch();
}

Task<Status> Session::set_constraints(const ConstraintsPlan& plan, ResultSink& sink) {
  if (state_ != State::block && state_ != State::implicit) {
    notify(sink, "WARNING", "25P01", "SET CONSTRAINTS can only be used in transaction blocks");
    co_return Status();
  }
  const auto tables = co_await engine_.tables();
  if (!tables.ok()) co_return tables.status();
  for (const std::string& name : plan.names) {
    std::optional<bool> deferrable;
    for (const storage::TableRef& table : *tables) {
      for (const storage::ForeignKey& key : table->foreign_keys) {
        if (key.name == name) deferrable = deferrable.value_or(false) || key.deferrable;
      }
      const auto is_named = [&name](const auto& one) { return one.name == name; };
      const bool is_index = std::ranges::any_of(table->indexes, [&name](const storage::IndexRef& index) {
        return index->constraint && index->name == name;
      });
      if (!deferrable && (is_index || std::ranges::any_of(table->checks, is_named))) deferrable = false;
    }
    if (!deferrable)
      co_return Status(ErrorCode::undefined_object, "constraint \"" + name + "\" does not exist");
    if (!*deferrable)
      co_return Status(ErrorCode::wrong_object_type, "constraint \"" + name + "\" is not deferrable");
  }
  DeferredForeignKeys::Modes modes = deferred_.modes();
  if (plan.names.empty()) {
    modes.by_name.clear();
    modes.all = plan.deferred;
  }
  for (const std::string& name : plan.names) modes.by_name[name] = plan.deferred;
  std::swap(deferred_.modes(), modes);
  if (plan.deferred || transaction_ == nullptr) co_return Status();
  Status status = co_await check_deferred(transaction_.get(), /*all=*/false);
  if (!status.ok()) std::swap(deferred_.modes(), modes);
  co_return status;
}

Task<Status> Session::check_deferred(txn::Transaction* transaction, bool all) {
  Status status;
  std::vector<DeferredForeignKeys::Pending> noted = deferred_.take();
  auto pending = noted.begin();
  for (; pending != noted.end() && status.ok(); ++pending) {
    bool checked = false;
    status = co_await check_deferred(transaction, &*pending, all, &checked);
    // A savepoint may bring the transaction back, after an error, and to what did not hold.
    if (!checked || !status.ok() || !savepoints_.empty()) deferred_.keep(std::move(*pending));
  }
  for (; pending != noted.end(); ++pending) deferred_.keep(std::move(*pending));
  co_return status;
}

// A table that the block has dropped has nothing to check. Another session may have renamed it or the key:
// then the rows are there under another name, and the transaction is to run again.
Task<Status> Session::check_deferred(txn::Transaction* transaction,
                                     const DeferredForeignKeys::Pending* pending, bool all, bool* checked) {
  BindInput input;
  input.procedures = &environment_.procedures;
  input.facts = &facts_;
  std::vector<std::string> names(1, pending->child);
  Status status = co_await look_up_tables(std::move(names), &input);
  if (!status.ok()) co_return status;
  *checked = true;
  const Status altered = block_.dropped.contains(pending->child)
                             ? Status()
                             : Status(ErrorCode::serialization_failure,
                                      "foreign key \"" + pending->key + "\" of table \"" + pending->child +
                                          "\" was altered while the transaction ran");
  const auto child = input.tables.find(pending->child);
  if (child == input.tables.end()) co_return altered;
  StatementBinder binder{input, {}};
  const auto bound = foreign_keys_of_write(binder, child->second, WriteKind::inserts, nullptr);
  if (!bound.ok()) co_return bound.status();
  if (*bound == nullptr) co_return altered;
  const ForeignKeyGraph& graph = **bound;
  const auto reference = std::ranges::find_if(graph.references, [&](const ForeignKeyGraph::Reference& one) {
    return one.child == 0 && one.key.name == pending->key;
  });
  if (reference == graph.references.end()) co_return altered;
  *checked = all || !deferred_.defers(reference->key);
  if (!*checked) co_return Status();
  Portal scratch;
  GatheredRows sink;  // there are none
  Run run = make_run(transaction, scratch, sink);
  run.deferred = nullptr;
  co_return co_await ForeignKeyChecks::check_deferred(&run, &graph, &*reference, pending);
}

}  // namespace namdb::sql

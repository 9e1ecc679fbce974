// The foreign keys of one statement: its writes are noted row by row, and checked at its end, when the
// actions of foreign keys are taken as well. The argument why that is enough under each protocol:
// docs/internals/foreign-keys.md.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "compute/sql/execute/deferred_foreign_keys.h"
#include "compute/sql/execute/foreign_key_rows.h"
#include "compute/sql/execute/gathered_memory.h"
#include "compute/sql/execute/run.h"
#include "compute/sql/plan/foreign_key_graph.h"

namespace namdb::sql {

class ForeignKeyChecks {
 public:
  // `graph`: null if the statement has nothing to check. Both outlive this.
  ForeignKeyChecks(Run& run, const ForeignKeyGraph* graph);

  bool wanted() const { return graph_ != nullptr; }
  // A row of the statement's table is to be inserted, was changed, or is to be deleted. Error
  // foreign_key_violation of MATCH FULL.
  Status note_insert(const layout::RowView& row) { return wanted() ? note_child_row(0, row) : Status(); }
  Status note_update(const layout::RowView& before, const layout::RowView& after) {
    return wanted() ? note_change(0, before, after) : Status();
  }
  Status note_delete(const layout::RowView& row) { return wanted() ? note_removal(0, row) : Status(); }
  // In the middle of a statement that only inserts: checks what need not wait for its end.
  reactor::Task<Status> check_some();
  // Whether rows have those values of a foreign key's columns, which no parent has. foreign_key_violation.
  static reactor::Task<Status> check_orphans(Run* run, const ForeignKeyGraph* graph,
                                             const ForeignKeyGraph::Reference* reference,
                                             std::span<const Datum> values);
  // Checks what was noted of a deferred foreign key. foreign_key_violation.
  static reactor::Task<Status> check_deferred(Run* run, const ForeignKeyGraph* graph,
                                              const ForeignKeyGraph::Reference* reference,
                                              const DeferredForeignKeys::Pending* pending);
  // At the end of the statement. Error foreign_key_violation, with its fields; those of the actions.
  reactor::Task<Status> finish();

 private:
  using Table = ForeignKeyGraph::Table;
  using Reference = ForeignKeyGraph::Reference;
  enum class Change : std::uint8_t { removed, changed };
  // Parents that were removed or changed, for one of the foreign keys that reference them.
  struct Event {
    std::size_t reference = 0;
    Change change = Change::removed;
    std::unique_ptr<ForeignKeyValues> values;
  };

  Status note_child_row(std::size_t table, const layout::RowView& row);
  Status note_child(std::size_t reference, const layout::RowView& row);
  Status note_change(std::size_t table, const layout::RowView& before, const layout::RowView& after);
  Status note_removal(std::size_t table, const layout::RowView& row);
  Status note_parent(std::size_t reference, Change change, const layout::RowView& before,
                     const layout::RowView* after);
  // The events that were noted since come next.
  void queue_noted();
  reactor::Task<Status> check_parents(std::size_t reference);
  reactor::Task<Status> take_event(Event* event);
  // Leaves the values that no parent has any more.
  reactor::Task<Status> drop_existing(Event* event);
  bool defers(const Reference& reference) const;
  // The check of that waits for the transaction's end.
  Status defer(const Reference& reference, DeferredForeignKeys::Kind kind, std::span<const Datum> values);
  // Error foreign_key_violation: a child has one of the values. `may_exist`: that is not an error where
  // another parent has the value by now.
  reactor::Task<Status> check_unreferenced(Event* event, bool may_exist);
  reactor::Task<Status> change_child(const Event* event, FoundChild child);
  Status set_columns(const Event& event, const FoundChild& child, layout::RowWriter writer);
  Status missing_parent(const Reference& reference, std::span<const Datum> values);
  Status has_child(const Reference& reference, std::span<const Datum> values);
  void describe(const Reference& reference) const;

  Run& run_;
  const ForeignKeyGraph* graph_;
  GatheredMemory memory_;
  std::vector<std::unique_ptr<ForeignKeyValues>> children_;  // new children's values, by foreign key
  std::vector<std::unique_ptr<ForeignKeyValues>> removed_;   // by foreign key
  std::vector<std::unique_ptr<ForeignKeyValues>> changed_;
  std::deque<Event> events_;
  std::size_t changed_rows_ = 0;  // by actions
};

}  // namespace namdb::sql

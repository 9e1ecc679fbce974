#include "compute/sql/execute/foreign_key_rows.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "common/layout/index_key.h"
#include "common/layout/long_value.h"
#include "compute/sql/execute/changed_rows.h"
#include "compute/sql/expression/expression.h"
#include "compute/sql/value/equal_bytes.h"

namespace namdb::sql {
namespace {

using Reference = ForeignKeyGraph::Reference;

TypeId type_of(const layout::Schema& schema, std::uint32_t column) {
  return column_type(schema.columns()[column]).id;
}

std::string equal_bytes_of(const layout::RowView& row, const std::vector<std::uint32_t>& columns) {
  std::string bytes;
  Arena arena;
  for (const std::uint32_t column : columns) {
    Datum value;
    read_column(row, column, arena, value);
    append_equal_bytes(bytes, type_of(row.schema(), column), value);
  }
  return bytes;
}

// A row of another table that has the values in those columns, and otherwise nothing; nullopt when a column
// cannot have its value.
std::optional<layout::Row> row_with(const layout::Schema& schema, const std::vector<std::uint32_t>& columns,
                                    std::span<const Datum> values, const layout::Schema& from,
                                    const std::vector<std::uint32_t>& from_columns) {
  layout::Row row(schema);
  layout::RowWriter writer = row.writer();
  Arena arena;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!store_value(writer, columns[i], values[i]).ok()) return std::nullopt;
    Datum stored;
    read_column(row.view(), columns[i], arena, stored);
    std::string given;
    std::string kept;
    append_equal_bytes(given, type_of(from, from_columns[i]), values[i]);
    append_equal_bytes(kept, type_of(schema, columns[i]), stored);
    if (given != kept) return std::nullopt;
  }
  return row;
}

// The keys of an index that begin with the values of the first columns of a row.
layout::IndexRange range_of(const storage::Index& index, std::size_t columns, const layout::RowView& row) {
  layout::IndexPrefix prefix(index.shape);
  for (std::size_t i = 0; i < columns; ++i) {
    const std::uint32_t position = index.shape.parts()[i].column;
    const layout::Column& column = row.schema().columns()[position];
    if (column.is_string()) {
      prefix.text(row.text(position));
    } else if (column.is_real()) {
      prefix.real(row.real(position));
    } else if (column.is_wide()) {
      prefix.wide(row.wide(position));
    } else {
      prefix.integer(row.integer(position));
    }
  }
  return layout::index_range(prefix);
}

class ChildSearch {
 public:
  ChildSearch(Run& run, const ForeignKeyGraph& graph, const Reference& reference,
              const ForeignKeyValues& values, bool any, std::vector<FoundChild>& children)
      : run_(run),
        reference_(reference),
        child_(graph.tables[reference.child].table),
        parent_(graph.tables[reference.parent].table),
        values_(values),
        any_(any),
        children_(children) {}

  reactor::Task<Status> search() {
    if (!reference_.children_by_key && reference_.child_index == nullptr) co_return co_await scan();
    for (std::size_t first = 0; first < values_.size() && !is_done(); first += kForeignKeysAtOnce) {
      Status status = run_.interrupt.check();
      if (status.ok() && reference_.children_by_key) status = co_await read_by_key(first);
      if (status.ok() && !reference_.children_by_key) status = co_await read_by_index(first, any_);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

 private:
  bool is_done() const { return any_ && !children_.empty(); }

  std::optional<layout::Row> child_with(std::size_t i) const {
    return row_with(child_->schema, reference_.columns, values_[i], parent_->schema, reference_.referenced);
  }

  // The row, if it has one of the values.
  Status add(txn::RowId row) {
    run_.work.charge(Work::kReadRow_units);
    if (!run_.transaction->found(row)) return {};
    const layout::RowView view = run_.transaction->row(row);
    if (count_nulls(view, reference_.columns) != 0) return {};
    const std::optional<std::size_t> value = values_.find(run_, view, reference_.columns);
    if (!value) return {};
    // The ranges of several values may be one.
    if (!seen_.insert(row).second) return {};
    children_.push_back({row, *value});
    return check_changed_rows(children_.size() - 1);
  }

  reactor::Task<Status> add_all(const std::vector<txn::RowId>* rows) {
    for (const txn::RowId row : *rows) {
      Status status = add(row);
      if (status.ok() && run_.work.due()) status = co_await run_.take_turn();
      if (!status.ok() || is_done()) co_return status;
    }
    co_return Status();
  }

  // Of rows that are requested already.
  reactor::Task<Status> fetch_all(const std::vector<txn::RowId>* rows) {
    Status status = co_await run_.transaction->fetch();
    if (!status.ok()) co_return status;
    co_return co_await add_all(rows);
  }

  // Rows that are only looked for are not to be locked.
  txn::RowId request(std::span<const std::byte> key) {
    return any_ ? run_.transaction->read(child_, key) : run_.transaction->get(child_, key);
  }

  reactor::Task<Status> read_by_key(std::size_t first) {
    std::vector<txn::RowId> rows;
    for (std::size_t i = first; i < std::min(first + kForeignKeysAtOnce, values_.size()); ++i) {
      if (const std::optional<layout::Row> row = child_with(i)) rows.push_back(request(row->key()));
    }
    co_return co_await fetch_all(&rows);
  }

  // `few`: a row for each value will do, unless the transaction has changed it.
  reactor::Task<Status> read_by_index(std::size_t first, bool few) {
    std::vector<txn::IndexRange> ranges;
    for (std::size_t i = first; i < std::min(first + kForeignKeysAtOnce, values_.size()); ++i) {
      const std::optional<layout::Row> row = child_with(i);
      if (!row) continue;
      ranges.push_back(range_of(*reference_.child_index, reference_.child_index_columns, row->view()));
      if (few) ranges.back().limit = 1;
    }
    const std::size_t wanted = ranges.size();
    std::vector<std::vector<txn::RowId>> rows;
    const txn::RowUse use = any_ ? txn::RowUse::only_read : txn::RowUse::may_change;
    storage::TableRef child = child_;
    storage::IndexRef index = reference_.child_index;
    Status status = co_await run_.transaction->find_each(std::move(child), std::move(index),
                                                         std::move(ranges), use, rows);
    bool misses = false;
    for (std::size_t i = 0; i < wanted && status.ok() && !is_done(); ++i) {
      const std::size_t before = children_.size();
      status = co_await add_all(&rows[i]);
      misses = misses || (!rows[i].empty() && children_.size() == before);
    }
    if (status.ok() && few && misses && !is_done()) status = co_await read_by_index(first, false);
    co_return status;
  }

  reactor::Task<Status> scan() {
    const std::unique_ptr<txn::TableScan> scan = run_.transaction->scan(child_);
    std::vector<layout::Row> rows;
    std::vector<txn::RowId> found;
    std::uint32_t batches = 0;
    while (!is_done()) {
      if (Status status = run_.interrupt.check(); !status.ok()) co_return status;
      Status status = co_await scan->next(rows);
      if (!status.ok()) co_return status;
      if (rows.empty()) break;
      run_.work.charge(rows.size() * Work::kReadRow_units);
      if (++batches % kBatchesPerYield == 0) co_await run_.engine.executor().yield();
      found.clear();
      for (const layout::Row& row : rows) {
        const layout::RowView view = row.view();
        if (count_nulls(view, reference_.columns) == 0 && values_.find(run_, view, reference_.columns))
          found.push_back(request(view.key()));
      }
      if (run_.work.due()) status = co_await run_.take_turn();
      if (!status.ok()) co_return status;
      if (!found.empty()) status = co_await fetch_all(&found);
      if (!status.ok()) co_return status;
    }
    co_return Status();
  }

  Run& run_;
  const Reference& reference_;
  storage::TableRef child_;
  storage::TableRef parent_;
  const ForeignKeyValues& values_;
  bool any_;
  absl::flat_hash_set<txn::RowId> seen_;
  std::vector<FoundChild>& children_;
};

}  // namespace

std::size_t count_nulls(const layout::RowView& row, const std::vector<std::uint32_t>& columns) {
  return static_cast<std::size_t>(
      std::ranges::count_if(columns, [&row](std::uint32_t column) { return row.is_null(column); }));
}

bool differ(Run& run, const layout::RowView& left, const layout::RowView& right,
            const std::vector<std::uint32_t>& columns) {
  run.work.charge(Work::kRow_units);
  return equal_bytes_of(left, columns) != equal_bytes_of(right, columns);
}

ForeignKeyValues::~ForeignKeyValues() {
  memory_.give_back(counted_bytes_);
}

Status ForeignKeyValues::add(Run& run, const layout::RowView& row, const std::vector<std::uint32_t>& columns,
                             const layout::RowView* others) {
  for (const std::uint32_t column : columns) {
    if (!layout::is_long(row, column)) continue;
    return Status(ErrorCode::limit_exceeded, "a value of column \"" + row.schema().columns()[column].name +
                                                 "\" is too long for a foreign key");
  }
  std::string bytes = equal_bytes_of(row, columns);
  run.work.charge_bytes(bytes.size());
  if (places_.contains(bytes)) return {};
  Arena arena;
  std::vector<Datum> values(columns.size());
  const std::size_t before_bytes = rows_.bytes() + others_.bytes();
  for (std::size_t i = 0; i < columns.size(); ++i) read_column(row, columns[i], arena, values[i]);
  rows_.add_row(values);
  if (others != nullptr) {
    for (std::size_t i = 0; i < columns.size(); ++i) read_column(*others, columns[i], arena, values[i]);
    others_.add_row(values);
  }
  constexpr std::size_t kPlace_bytes = 64;
  const std::size_t added_bytes =
      rows_.bytes() + others_.bytes() - before_bytes + bytes.size() + kPlace_bytes;
  places_.emplace(std::move(bytes), rows_.size() - 1);
  Status status = memory_.add(run.client_memory, added_bytes);
  if (status.ok()) counted_bytes_ += added_bytes;
  return status;
}

std::optional<std::size_t> ForeignKeyValues::find(Run& run, const layout::RowView& row,
                                                  const std::vector<std::uint32_t>& columns) const {
  run.work.charge(Work::kRow_units);
  const auto found = places_.find(equal_bytes_of(row, columns));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

reactor::Task<Status> find_parents(Run* run, const ForeignKeyGraph* graph, const Reference* reference,
                                   const ForeignKeyValues* values, std::size_t first, bool hold,
                                   std::vector<std::optional<txn::RowId>>* parents) {
  const storage::TableRef parent = graph->tables[reference->parent].table;
  const layout::Schema& child = graph->tables[reference->child].table->schema;
  const std::size_t end = std::min(first + kForeignKeysAtOnce, values->size());
  parents->assign(end - first, std::nullopt);
  std::vector<std::size_t> owners;
  std::vector<std::string> keys;
  std::vector<txn::IndexRange> ranges;
  for (std::size_t i = first; i < end; ++i) {
    // The values may be the parent's own: its types are as good as the child's then.
    const std::optional<layout::Row> row =
        row_with(parent->schema, reference->referenced, (*values)[i], child, reference->columns);
    if (!row) continue;
    if (reference->parent_index == nullptr) {
      (*parents)[i - first] =
          hold ? run->transaction->get(parent, row->key()) : run->transaction->read(parent, row->key());
      continue;
    }
    const layout::IndexKey key = layout::index_key(reference->parent_index->shape, row->view());
    owners.push_back(i - first);
    keys.emplace_back(key.declared());
    ranges.push_back({keys.back(), layout::index_successor(keys.back()), false, 0});
  }
  run->work.charge((end - first) * Work::kReadRow_units);
  Status status;
  if (reference->parent_index == nullptr) {
    status = co_await run->transaction->fetch();
  } else {
    std::vector<std::vector<txn::RowId>> rows;
    storage::TableRef table = parent;
    storage::IndexRef index = reference->parent_index;
    const txn::RowUse use = hold ? txn::RowUse::may_change : txn::RowUse::only_read;
    status = co_await run->transaction->find_each(std::move(table), std::move(index), std::move(ranges), use,
                                                  rows);
    for (std::size_t i = 0; i < owners.size() && status.ok(); ++i) {
      for (const txn::RowId row : rows[i]) {
        // The transaction may have changed it.
        const bool fits =
            run->transaction->found(row) &&
            layout::index_key(reference->parent_index->shape, run->transaction->row(row)).declared() ==
                keys[i];
        if (fits) (*parents)[owners[i]] = row;
      }
    }
  }
  if (!status.ok()) co_return status;
  for (std::optional<txn::RowId>& row : *parents) {
    if (row && !run->transaction->found(*row)) row.reset();
    if (!row || !hold) continue;
    run->transaction->hold(*row);
    run->work.charge(Work::kWrittenRow_units);
  }
  if (run->work.due()) status = co_await run->take_turn();
  co_return status;
}

reactor::Task<Status> find_children(Run* run, const ForeignKeyGraph* graph, const Reference* reference,
                                    const ForeignKeyValues* values, bool any,
                                    std::vector<FoundChild>* children) {
  children->clear();
  ChildSearch search(*run, *graph, *reference, *values, any, *children);
  co_return co_await search.search();
}

}  // namespace namdb::sql

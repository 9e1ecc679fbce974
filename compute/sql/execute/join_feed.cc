#include "compute/sql/execute/join_feed.h"

#include <algorithm>
#include <utility>

#include "compute/sql/execute/index_range.h"
#include "compute/sql/execute/part_cost.h"
#include "compute/sql/execute/source_keys.h"

namespace namdb::sql {
namespace {

// Rows that a level gives at once.
constexpr std::size_t kJoinedAtOnce = 256;

}  // namespace

JoinFeed::JoinFeed(const JoinPlan& plan) : plan_(plan) {
  for (const JoinedSource& joined : plan.sources)
    levels_.push_back(std::make_unique<Level>(joined, plan.slots.size()));
}

reactor::Task<Status> JoinFeed::load(Run& run, std::uint64_t /*expected*/) {
  Status status = co_await give(run, levels_.size() - 1, &batch_);
  if (status.ok()) exhausted_ = batch_.empty();
  co_return status;
}

void JoinFeed::show(const Run& /*run*/, std::size_t row, EvalContext& context) {
  context.values = batch_[row];
}

reactor::Task<Status> JoinFeed::give(Run& run, std::size_t level_number, std::vector<Row>* out) {
  if (level_number == 0) co_return co_await give_first(run, out);
  Level& level = *levels_[level_number];
  out->clear();
  level.arena.reset();
  while (out->size() < kJoinedAtOnce) {
    if (level.position == level.input.size()) {
      // Rows that were joined borrow from the input.
      if (!out->empty()) co_return Status();
      level.arena.reset();
      Status status = co_await give(run, level_number - 1, &level.input);
      level.position = 0;
      if (status.ok() && level.input.empty() && level.joined.kind == JoinKind::full)
        status = co_await give_unmatched(run, &level, out);
      if (!status.ok() || level.input.empty()) co_return status;
      status = co_await find_rows(run, &level);
      if (!status.ok()) co_return status;
    }
    Status status = co_await join_next(run, &level, out);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> JoinFeed::give_first(Run& run, std::vector<Row>* out) {
  Level& level = *levels_.front();
  out->clear();
  while (out->empty() && !level.feed.exhausted()) {
    level.arena.reset();
    Status status = co_await level.feed.load(run, 0);
    if (run.work.paused()) {
      status = co_await run.take_turn();
      if (!status.ok()) co_return status;
      continue;
    }
    for (std::size_t i = 0; i < level.feed.size() && status.ok(); ++i) {
      EvalContext context = run.context();
      context.arena = &level.arena;
      level.feed.show(run, i, context);
      if (level.filter.rejects(context)) {
        if (run.work.due()) status = co_await run.take_turn();
        continue;
      }
      const std::span<Datum> row = level.arena.make(plan_.slots.size());
      for (const JoinedSource::Read& read : level.joined.reads)
        read_value(context, read.column, row[read.slot]);
      bool added = false;
      status = co_await add_if(run, level.joined.source.filter.get(), row, out, &added);
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> JoinFeed::find_rows(Run& run, Level* level) {
  Status status = run.interrupt.check();
  if (!status.ok()) co_return status;
  switch (level->joined.method) {
    case JoinMethod::by_key:
      co_return co_await find_by_key(run, level);
    case JoinMethod::by_index:
      co_return co_await find_by_index(run, level);
    case JoinMethod::by_function:
    case JoinMethod::by_query:
      co_return Status();
    default:
      break;
  }
  co_return co_await read_table(run, level);
}

reactor::Task<Status> JoinFeed::read_table(Run& run, Level* level) {
  if (level->table_is_read) co_return Status();
  level->table_is_read = true;
  Status status = co_await level->table.read(run);
  if (level->joined.kind == JoinKind::full) level->row_matched.resize(level->table.size());
  co_return status;
}

reactor::Task<Status> JoinFeed::give_unmatched(Run& run, Level* level, std::vector<Row>* out) {
  Status status = co_await read_table(run, level);
  while (status.ok() && out->size() < kJoinedAtOnce && level->next_unmatched < level->table.size()) {
    const std::uint32_t position = level->next_unmatched++;
    if (level->row_matched[position]) continue;
    const std::span<Datum> row = level->arena.make(plan_.slots.size());
    const std::span<const Datum> values = level->table.values(position);
    const std::vector<JoinedSource::Read>& reads = level->joined.reads;
    for (std::size_t i = 0; i < reads.size(); ++i) row[reads[i].slot] = values[i];
    bool added = false;
    status = co_await add_if(run, level->joined.filter.get(), row, out, &added);
  }
  co_return status;
}

Status JoinFeed::count_looked_up(std::size_t rows) {
  looked_up_ += rows;
  if (looked_up_ <= kMaxLookedUp) return {};
  return Status(ErrorCode::limit_exceeded,
                "a join can look up at most " + std::to_string(kMaxLookedUp) + " rows by keys and indexes",
                "select fewer rows of the tables before");
}

reactor::Task<Status> JoinFeed::find_by_key(Run& run, Level* level) {
  level->found.assign(level->input.size(), {});
  std::size_t asked = 0;
  for (std::size_t i = 0; i < level->input.size(); ++i) {
    Keys keys;
    const auto evaluate = [&] { return evaluate_keys(run, level->joined.source, level->input[i], keys); };
    Status status = co_await evaluate();
    if (run.work.paused()) status = co_await run.resume_task(evaluate);
    run.next_row();
    if (!status.ok()) co_return status;
    for (std::size_t key = 0; key < keys.size(); ++key)
      level->found[i].push_back(request_row(run, level->joined.source, keys[key]));
    asked += keys.size();
  }
  Status status = count_looked_up(asked);
  if (!status.ok()) co_return status;
  run.work.charge(asked * Work::kReadRow_units);
  PartCost cost(run, &level->joined.source);
  status = co_await run.transaction->fetch();
  if (!status.ok()) co_return status;
  std::size_t there = 0;
  for (std::vector<txn::RowId>& found : level->found) {
    std::erase_if(found, [&run](txn::RowId row) { return !run.transaction->found(row); });
    there += found.size();
  }
  cost.end(there);
  co_return Status();
}

reactor::Task<Status> JoinFeed::find_by_index(Run& run, Level* level) {
  const IndexPath& path = *level->joined.source.index_path;
  level->found.assign(level->input.size(), {});
  std::vector<txn::IndexRange> ranges;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < level->input.size(); ++i) {
    std::vector<txn::IndexRange> own;
    const auto evaluate = [&] {
      own.clear();
      return evaluate_ranges(run, path, level->input[i], own);
    };
    Status status = co_await evaluate();
    if (run.work.paused()) status = co_await run.resume_task(evaluate);
    run.next_row();
    if (!status.ok()) co_return status;
    owners.insert(owners.end(), own.size(), i);
    std::ranges::move(own, std::back_inserter(ranges));
  }
  std::vector<std::vector<txn::RowId>> rows;
  const txn::RowUse use = level->joined.source.to_change ? txn::RowUse::may_change : txn::RowUse::only_read;
  PartCost cost(run, &level->joined.source);
  Status status = co_await run.transaction->find_each(level->joined.source.table, path.index,
                                                      std::move(ranges), use, rows);
  if (!status.ok()) co_return status;
  std::size_t found = 0;
  for (std::size_t range = 0; range < rows.size(); ++range) {
    found += rows[range].size();
    std::ranges::copy(rows[range], std::back_inserter(level->found[owners[range]]));
  }
  cost.end(found);
  run.work.charge(found * Work::kReadRow_units);
  co_return count_looked_up(found);
}

Status JoinFeed::begin_matches(Run& run, Level& level) const {
  level.matched = false;
  level.next_found = 0;
  level.next_row = JoinTableRows::kNone;
  if (level.joined.method == JoinMethod::hash || level.joined.method == JoinMethod::all) {
    EvalContext context = run.context();
    context.values = level.input[level.position];
    std::string key;
    bool null = false;
    if (Status status = join_key(level.joined.outer_keys, context, key, null); !status.ok()) return status;
    if (!null) level.next_row = level.table.first(key);
  }
  if (level.function != nullptr) {
    EvalContext context = run.context();
    context.values = level.input[level.position];
    if (Status status = level.function->begin(context); !status.ok()) return status;
  }
  level.begun = true;
  return {};
}

bool JoinFeed::next_match(Run& run, Level& level, std::span<Datum> row) {
  const std::vector<JoinedSource::Read>& reads = level.joined.reads;
  if (level.joined.method == JoinMethod::hash || level.joined.method == JoinMethod::all) {
    if (level.next_row == JoinTableRows::kNone) return false;
    const std::span<const Datum> values = level.table.values(level.next_row);
    for (std::size_t i = 0; i < reads.size(); ++i) row[reads[i].slot] = values[i];
    level.next_row = level.table.next(level.next_row);
    return true;
  }
  if (level.function != nullptr) {
    if (!level.function->next(level.function_row)) return false;
    for (const JoinedSource::Read& read : reads)
      row[read.slot] = level.arena.keep(level.function_row[read.column]);
    return true;
  }
  if (level.lateral != nullptr) {
    const std::span<const Datum> values = level.lateral->next();
    if (values.empty()) return false;
    for (const JoinedSource::Read& read : reads) row[read.slot] = level.arena.keep(values[read.column]);
    return true;
  }
  const std::vector<txn::RowId>& found = level.found[level.position];
  if (level.next_found == found.size()) return false;
  const layout::RowView view = run.transaction->row(found[level.next_found++]);
  for (const JoinedSource::Read& read : reads) read_column(view, read.column, level.arena, row[read.slot]);
  return true;
}

reactor::Task<Status> JoinFeed::join_next(Run& run, Level* level, std::vector<Row>* out) {
  const Row outer = level->input[level->position];
  if (!level->begun) {
    const auto begin = [&] { return begin_matches(run, *level); };
    Status status = begin();
    if (run.work.paused()) status = co_await run.resume(begin);
    run.next_row();
    if (status.ok() && level->lateral != nullptr) status = co_await level->lateral->read(&run, outer);
    if (!status.ok()) co_return status;
  }
  std::span<Datum> row = level->arena.copy(outer);
  while (out->size() < kJoinedAtOnce) {
    const std::uint32_t position = level->next_row;
    if (!next_match(run, *level, row)) break;
    bool added = false;
    Status status = co_await add_if(run, level->joined.match.get(), row, out, &added);
    if (added) level->matched = true;
    if (added && level->joined.kind == JoinKind::full) level->row_matched[position] = true;
    if (added && level->joined.filter != nullptr) {
      out->pop_back();
      status = co_await add_if(run, level->joined.filter.get(), row, out, &added);
    }
    if (!status.ok()) co_return status;
    // The next one must not change the one that was given.
    if (added) row = level->arena.copy(outer);
  }
  if (out->size() == kJoinedAtOnce) co_return Status();
  if (level->joined.kind != JoinKind::inner && !level->matched) {
    for (const JoinedSource::Read& read : level->joined.reads) row[read.slot] = Datum();
    bool added = false;
    Status status = co_await add_if(run, level->joined.filter.get(), row, out, &added);
    if (!status.ok()) co_return status;
  }
  level->begun = false;
  ++level->position;
  co_return Status();
}

reactor::Task<Status> JoinFeed::add_if(Run& run, const Expr* condition, Row row, std::vector<Row>* out,
                                       bool* added) {
  *added = true;
  run.work.charge(Work::kRow_units);
  Status status;
  if (condition != nullptr) {
    EvalContext context = run.context();
    context.values = row;
    const auto meets = [&] { return evaluate_condition(*condition, context, *added); };
    status = meets();
    if (run.work.paused()) status = co_await run.resume(meets);
    run.next_row();
  }
  if (status.ok() && *added) out->push_back(row);
  if (status.ok() && run.work.due()) status = co_await run.take_turn();
  co_return status;
}

}  // namespace namdb::sql

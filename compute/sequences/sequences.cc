#include "compute/sequences/sequences.h"

#include <algorithm>
#include <utility>

#include "common/layout/key.h"
#include "compute/api/server_table.h"
#include "compute/sequences/sequence_definition.h"

namespace namdb::txn {
namespace {

// Of an engine's attempts: many workers may take numbers of one sequence.
constexpr std::uint32_t kMoreAttempts = 16;
// Sequences that a worker has once used and that may be gone.
constexpr std::size_t kMostTaken = 4096;

Status undefined_sequence(const std::string& name) {
  return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
}

Status no_more(const std::string& name, const SequenceDefinition& definition) {
  const bool ascends = definition.increment > 0;
  return Status(ErrorCode::sequence_limit_exceeded,
                std::string("nextval: reached ") + (ascends ? "maximum" : "minimum") +
                    " value of sequence \"" + name + "\" (" +
                    std::to_string(ascends ? definition.most : definition.least) + ")");
}

// Epochs are odd once the sequence was changed, and never 0.
constexpr std::int64_t kChanged = 1;

std::int64_t draw_epoch(Random& random) {
  return static_cast<std::int64_t>(random.next() >> 2 | 1) * 2;
}

// Workers may have blocks: they have taken some since it was created, or a change of it may still be waiting
// for those of before.
bool may_have_blocks(const SequenceState& state) {
  return state.definition.block_numbers > 1 && (state.is_given || (state.epoch & kChanged) != 0);
}

Status alter_state(const SequenceChange& change, SequenceState& state) {
  const auto definition = apply_change(state.definition, change, /*is_new=*/false);
  if (!definition.ok()) return definition.status();
  state.definition = *definition;
  if (change.restarts) {
    state.last = change.restart.value_or(definition->start);
    state.is_given = false;
  }
  return check_restart(*definition, state.last);
}

Status set_value(const std::string& name, std::int64_t value, bool is_given, SequenceState& state) {
  const SequenceDefinition& definition = state.definition;
  if (value < definition.least || value > definition.most) {
    return Status(ErrorCode::numeric_out_of_range, "setval: value " + std::to_string(value) +
                                                       " is out of bounds for sequence \"" + name + "\" (" +
                                                       std::to_string(definition.least) + ".." +
                                                       std::to_string(definition.most) + ")");
  }
  state.last = value;
  state.is_given = is_given;
  return {};
}

}  // namespace

template <typename Once>
reactor::Task<Status> Sequences::retry(bool repeatable, Once once) {
  Status status;
  for (std::uint32_t attempt = 1; attempt <= kMoreAttempts * engine_.retry_options().max_attempts;
       ++attempt) {
    status = co_await once();
    const bool unknown = !status.ok() && status.code() == ErrorCode::unknown_outcome;
    if (status.ok() || !(status.info().retry || (repeatable && unknown))) break;
    co_await engine_.backoff(attempt);
  }
  co_return status;
}

reactor::Task<Status> Sequences::open(std::string name, Purpose purpose, Open* row) {
  row->transaction.reset();
  row->session.reset();
  row->found = false;
  std::string table_name = kTable;
  const auto place = co_await engine_.table(std::move(table_name));
  if (!place.ok() && place.status().code() == ErrorCode::undefined_table) co_return Status();
  if (!place.ok()) co_return place.status();
  row->session = engine_.open_session();
  row->transaction = engine_.begin(*row->session);
  const layout::Key key = std::move(layout::Key((*place)->schema).text(name));
  row->id = purpose == Purpose::reads ? row->transaction->read(*place, key.bytes())
                                      : row->transaction->get(*place, key.bytes());
  Status status = co_await row->transaction->fetch();
  if (!status.ok()) co_return status;
  row->found = row->transaction->found(row->id);
  if (row->found) row->state = read_sequence(row->transaction->row(row->id));
  co_return Status();
}

template <typename Change>
reactor::Task<Status> Sequences::change_once(const std::string* name, Change change) {
  Open row;
  std::string wanted = *name;
  Status status = co_await open(std::move(wanted), Purpose::writes, &row);
  if (!status.ok()) co_return status;
  if (!row.found) co_return undefined_sequence(*name);
  if (Status changed = change(row.state); !changed.ok()) co_return changed;
  status = write_sequence(row.transaction->update(row.id), row.state);
  if (!status.ok()) co_return status;
  co_return co_await row.transaction->commit();
}

template <typename Change>
reactor::Task<Status> Sequences::change_all(const std::string* name, Change change, bool* outlasts) {
  const auto once = [this, name, change, outlasts] {
    return change_once(name, [this, change, outlasts](SequenceState& state) {
      const bool before = may_have_blocks(state);
      Status status = change(state);
      if (status.ok()) *outlasts = *outlasts || before;
      state.epoch = draw_epoch(engine_.executor().random()) | kChanged;
      return status;
    });
  };
  co_return co_await retry(/*repeatable=*/true, once);
}

// Time passes, too, where it is not known whether the change was made.
reactor::Task<Status> Sequences::outlast(Status status, bool is_needed) {
  if (is_needed) co_await engine_.executor().sleep_until(engine_.executor().fresh_now_ns() + kOutlasts_ns);
  co_return status;
}

reactor::Task<Status> Sequences::create(std::string name, SequenceDefinition definition) {
  const auto once = [this, &name, &definition] { return insert(name, definition); };
  Status status = co_await retry(/*repeatable=*/false, once);
  if (!status.ok() && status.code() == ErrorCode::duplicate_key)
    co_return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
  co_return status;
}

reactor::Task<Status> Sequences::insert(std::string name, SequenceDefinition definition) {
  const auto place = co_await find_or_create(&engine_, sequences_definition());
  if (!place.ok()) co_return place.status();
  layout::Row row((*place)->schema);
  const SequenceState state{.definition = definition,
                            .last = definition.start,
                            .is_given = false,
                            .epoch = draw_epoch(engine_.executor().random())};
  if (Status status = write_sequence_name(row.writer(), name); !status.ok()) co_return status;
  if (Status status = write_sequence(row.writer(), state); !status.ok()) co_return status;
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  transaction->insert(*place, row.bytes());
  co_return co_await fetch_and_commit(transaction.get());
}

reactor::Task<Status> Sequences::drop(std::vector<std::string> names) {
  Status status;
  bool outlasts = false;
  const auto distrust = [this](const std::string& name) {
    if (const auto taken = taken_.find(name); taken != taken_.end()) taken->second->trusted_until_ns = 0;
  };
  auto name = names.begin();
  for (; name != names.end() && status.ok(); ++name) {
    const auto once = [this, name, &outlasts] { return erase(&*name, &outlasts); };
    status = co_await retry(/*repeatable=*/true, once);
    distrust(*name);
  }
  std::for_each(name, names.end(), distrust);
  co_return co_await outlast(std::move(status), outlasts);
}

reactor::Task<Status> Sequences::erase(const std::string* name, bool* outlasts) {
  Open row;
  std::string wanted = *name;
  Status status = co_await open(std::move(wanted), Purpose::writes, &row);
  if (!status.ok() || !row.found) co_return status;
  *outlasts = *outlasts || may_have_blocks(row.state);
  row.transaction->erase(row.id);
  co_return co_await row.transaction->commit();
}

bool Sequences::trusts(const Taken& taken) const {
  return engine_.executor().fresh_now_ns() < taken.trusted_until_ns;
}

std::shared_ptr<Sequences::Taken> Sequences::taken_of(const std::string& name) {
  if (const auto known = taken_.find(name); known != taken_.end()) return known->second;
  if (taken_.size() >= kMostTaken)
    absl::erase_if(taken_,
                   [this](const auto& each) { return !each.second->is_busy && !trusts(*each.second); });
  return taken_.emplace(name, std::make_shared<Taken>(engine_.executor())).first->second;
}

reactor::Task<Result<std::int64_t>> Sequences::next(std::string name) {
  const std::shared_ptr<Taken> taken = taken_of(name);
  while (taken->block.left == 0 || !trusts(*taken)) {
    if (taken->is_busy) {
      ++taken->waiting;
      co_await taken->changed.wait();
      --taken->waiting;
      continue;
    }
    taken->is_busy = true;
    Status status = co_await look(&name, taken.get());
    taken->is_busy = false;
    taken->changed.notify_all();
    if (!status.ok()) co_return status;
    if (taken->block.left != 0) break;  // one of them is trusted, however long it took
  }
  co_return taken->block.take();
}

reactor::Task<Status> Sequences::look(const std::string* name, Taken* taken) {
  std::uint64_t since_ns = engine_.executor().fresh_now_ns();
  if (taken->block.left != 0) {
    Open row;
    Status status = co_await find(name, &row);
    if (!status.ok()) co_return status;
    if (!row.found) co_return undefined_sequence(*name);
    taken->trusted_until_ns = since_ns + kTrusted_ns;
    if (row.state.epoch == taken->epoch && row.state.epoch != 0) co_return Status();
    taken->block.left = 0;
  }
  // A block whose commit may have happened is lost, and another one is taken.
  SequenceState state;
  SequenceBlock block;
  const auto take = [&](SequenceState& now) {
    const auto some = take_block(now, std::max(now.definition.block_numbers, taken->waiting + 1));
    if (!some) return no_more(*name, now.definition);
    block = *some;
    state = now;
    return Status();
  };
  const auto once = [&] {
    since_ns = engine_.executor().fresh_now_ns();
    return change_once(name, take);
  };
  Status status = co_await retry(/*repeatable=*/true, once);
  if (!status.ok()) co_return status;
  taken->block = block;
  taken->epoch = state.epoch;
  taken->trusted_until_ns = since_ns + kTrusted_ns;
  co_return status;
}

reactor::Task<Status> Sequences::restart(std::string name, std::int64_t value, bool is_given) {
  bool outlasts = false;
  const auto set = [&](SequenceState& state) { return set_value(name, value, is_given, state); };
  Status status = co_await change_all(&name, set, &outlasts);
  co_return co_await outlast(std::move(status), outlasts);
}

reactor::Task<Status> Sequences::alter(std::string name, SequenceChange change) {
  bool outlasts = false;
  const auto apply = [&](SequenceState& state) { return alter_state(change, state); };
  Status status = co_await change_all(&name, apply, &outlasts);
  co_return co_await outlast(std::move(status), outlasts);
}

reactor::Task<Status> Sequences::restart_all(std::vector<std::string> names) {
  SequenceChange change;
  change.restarts = true;
  const auto apply = [&](SequenceState& state) { return alter_state(change, state); };
  bool outlasts = false;
  Status status;
  for (std::size_t i = 0; i < names.size() && status.ok(); ++i)
    status = co_await change_all(&names[i], apply, &outlasts);
  co_return co_await outlast(std::move(status), outlasts);
}

reactor::Task<Status> Sequences::find(const std::string* name, Open* row) {
  const auto once = [this, name, row] { return find_once(name, row); };
  co_return co_await retry(/*repeatable=*/true, once);
}

reactor::Task<Status> Sequences::find_once(const std::string* name, Open* row) {
  std::string wanted = *name;
  Status status = co_await open(std::move(wanted), Purpose::reads, row);
  if (status.ok() && row->transaction != nullptr) status = co_await row->transaction->commit();
  co_return status;
}

reactor::Task<Result<bool>> Sequences::exists(std::string name) {
  if (const auto known = taken_.find(name); known != taken_.end() && trusts(*known->second)) co_return true;
  Open row;
  const Status status = co_await find(&name, &row);
  if (!status.ok()) co_return status;
  co_return row.found;
}

reactor::Task<Result<std::vector<NamedSequence>>> Sequences::list() {
  std::vector<NamedSequence> found;
  const auto once = [this, &found] { return list_once(&found); };
  const Status status = co_await retry(/*repeatable=*/true, once);
  if (!status.ok()) co_return status;
  co_return found;
}

reactor::Task<Status> Sequences::list_once(std::vector<NamedSequence>* found) {
  found->clear();
  std::string table_name = kTable;
  const auto place = co_await engine_.table(std::move(table_name));
  if (!place.ok() && place.status().code() == ErrorCode::undefined_table) co_return Status();
  if (!place.ok()) co_return place.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  const auto scan = transaction->scan(*place);
  std::vector<layout::Row> rows;
  do {
    Status status = co_await scan->next(rows);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : rows)
      found->push_back({read_sequence_name(row.view()), read_sequence(row.view())});
  } while (!rows.empty());
  co_return co_await transaction->commit();
}

}  // namespace namdb::txn

#include "compute/sequences/sequences.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/layout/key.h"
#include "compute/api/server_table.h"
#include "compute/sequences/sequence_definition.h"

namespace namdb::txn {
namespace {

enum SequenceColumn : std::uint32_t {
  kName,
  kNext,
  kLast,
  // Tables of a time when sequences had no options lack the others.
  kLeast,
  kIncrement,
  kStart,
  kBlock,
  kValueBytes,
  kCycles,
  kEnded,  // there is no next number: `next` was the last one
};

TableDefinition sequences_definition() {
  using layout::ColumnType;
  std::vector<layout::Column> columns = {{.name = "name", .type = ColumnType::varchar, .length_bytes = 63},
                                         {.name = "next", .not_null = true},
                                         {.name = "last", .not_null = true},
                                         {.name = "least", .not_null = true},
                                         {.name = "increment", .not_null = true},
                                         {.name = "start", .not_null = true},
                                         {.name = "block", .not_null = true},
                                         {.name = "value_bytes", .not_null = true},
                                         {.name = "cycles", .type = ColumnType::boolean, .not_null = true},
                                         {.name = "ended", .type = ColumnType::boolean, .not_null = true}};
  TableDefinition made;
  made.name = Sequences::kTable;
  made.schema = std::move(*layout::Schema::create(std::move(columns), {kName}));
  return made;
}

Status undefined_sequence(const std::string& name) {
  return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
}

bool has_options(const layout::Schema& schema) {
  return schema.columns().size() > kEnded;
}

std::uint32_t bytes_for(std::int64_t last) {
  constexpr std::int64_t kSmall = 32'767;
  constexpr std::int64_t kMiddle = 2'147'483'647;
  return last <= kSmall ? 2 : last <= kMiddle ? 4 : 8;
}

// A sequence, as its row has it.
struct State {
  SequenceDefinition definition;
  std::int64_t next = 0;
  bool ended = false;
};

State read_state(const layout::RowView& row) {
  State state;
  state.next = row.integer(kNext);
  SequenceDefinition& definition = state.definition;
  definition.most = row.integer(kLast);
  if (!has_options(row.schema())) {
    definition.block_numbers = Sequences::kBlockNumbers;
    definition.value_bytes = bytes_for(definition.most);
    // Such a row has the number behind the last one.
    state.ended = state.next > definition.most || state.next == std::numeric_limits<std::int64_t>::max();
    return state;
  }
  definition.least = row.integer(kLeast);
  definition.increment = row.integer(kIncrement);
  definition.start = row.integer(kStart);
  definition.block_numbers = row.integer(kBlock);
  definition.value_bytes = static_cast<std::uint32_t>(row.integer(kValueBytes));
  definition.cycles = row.integer(kCycles) != 0;
  state.ended = row.integer(kEnded) != 0;
  return state;
}

Status write_state(layout::RowWriter row, const State& state) {
  const SequenceDefinition& definition = state.definition;
  const bool options = has_options(row.view().schema());
  const bool plain = definition.increment == 1 && definition.least == 1 && !definition.cycles;
  if (!options && !plain) {
    return Status(ErrorCode::feature_not_supported,
                  "sequences with options are not supported in a database whose first sequence had none");
  }
  const bool behind = !options && state.ended && state.next != std::numeric_limits<std::int64_t>::max();
  Status status = row.set_integer(kNext, behind ? state.next + 1 : state.next);
  if (status.ok()) status = row.set_integer(kLast, definition.most);
  if (!options) return status;
  const std::pair<SequenceColumn, std::int64_t> values[] = {{kLeast, definition.least},
                                                            {kIncrement, definition.increment},
                                                            {kStart, definition.start},
                                                            {kBlock, definition.block_numbers},
                                                            {kValueBytes, definition.value_bytes},
                                                            {kCycles, definition.cycles ? 1 : 0},
                                                            {kEnded, state.ended ? 1 : 0}};
  for (const auto& [column, value] : values) {
    if (status.ok()) status = row.set_integer(column, value);
  }
  return status;
}

// The next number is the one behind `given`, or there is none.
void set_behind(State& state, std::int64_t given) {
  const SequenceDefinition& definition = state.definition;
  const bool ascends = definition.increment > 0;
  const std::int64_t bound = ascends ? definition.most : definition.least;
  const auto room = ascends ? static_cast<std::uint64_t>(bound) - static_cast<std::uint64_t>(given)
                            : static_cast<std::uint64_t>(given) - static_cast<std::uint64_t>(bound);
  const auto step = ascends ? static_cast<std::uint64_t>(definition.increment)
                            : -static_cast<std::uint64_t>(definition.increment);
  state.ended = step > room;
  state.next = state.ended ? given : given + definition.increment;
}

Status no_more(const std::string& name, const SequenceDefinition& definition) {
  const bool ascends = definition.increment > 0;
  return Status(ErrorCode::sequence_limit_exceeded,
                std::string("nextval: reached ") + (ascends ? "maximum" : "minimum") +
                    " value of sequence \"" + name + "\" (" +
                    std::to_string(ascends ? definition.most : definition.least) + ")");
}

}  // namespace

template <typename Once>
reactor::Task<Status> Sequences::retry(bool repeatable, Once once) {
  Status status;
  for (std::uint32_t attempt = 1; attempt <= engine_.retry_options().max_attempts; ++attempt) {
    status = co_await once();
    const bool unknown = !status.ok() && status.code() == ErrorCode::unknown_outcome;
    if (status.ok() || !(status.info().retry || (repeatable && unknown))) break;
    co_await engine_.backoff(attempt);
  }
  co_return status;
}

reactor::Task<Status> Sequences::create(std::string name, std::int64_t first, std::int64_t last) {
  SequenceDefinition definition;
  definition.start = first;
  definition.most = last;
  definition.value_bytes = bytes_for(last);
  definition.block_numbers = kBlockNumbers;
  return create(std::move(name), definition);
}

reactor::Task<Status> Sequences::create(std::string name, SequenceDefinition definition) {
  const auto once = [this, &name, &definition] { return insert(name, definition); };
  Status status = co_await retry(/*repeatable=*/false, once);
  if (!status.ok() && status.code() == ErrorCode::duplicate_key)
    co_return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
  if (status.ok()) blocks_.erase(name);
  co_return status;
}

reactor::Task<Status> Sequences::insert(std::string name, SequenceDefinition definition) {
  const auto place = co_await find_or_create(&engine_, sequences_definition());
  if (!place.ok()) co_return place.status();
  layout::Row row((*place)->schema);
  layout::RowWriter writer = row.writer();
  Status status = writer.set_text(kName, name);
  if (status.ok()) status = write_state(writer, {definition, definition.start});
  if (!status.ok()) co_return status;
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  transaction->insert(*place, row.bytes());
  status = co_await transaction->fetch();
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

reactor::Task<Status> Sequences::drop(std::vector<std::string> names) {
  for (const std::string& name : names) blocks_.erase(name);
  const auto once = [this, &names] { return erase(&names); };
  co_return co_await retry(/*repeatable=*/false, once);
}

reactor::Task<Status> Sequences::erase(const std::vector<std::string>* names) {
  const auto place = co_await find_or_create(&engine_, sequences_definition());
  if (!place.ok()) co_return place.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  std::vector<RowId> rows;
  for (const std::string& name : *names)
    rows.push_back(transaction->get(*place, layout::Key((*place)->schema).text(name).bytes()));
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  for (const RowId row : rows) {
    if (transaction->found(row)) transaction->erase(row);
  }
  co_return co_await transaction->commit();
}

reactor::Task<Result<std::int64_t>> Sequences::next(std::string name) {
  if (const auto known = blocks_.find(name); known != blocks_.end() && known->second.left != 0)
    co_return known->second.take();
  Change taken{.name = name};
  Status status = co_await change(&taken);
  if (!status.ok()) co_return status;
  // Another task of this worker may have taken a block meanwhile. The rest of that one is not given.
  Block& block = blocks_[name];
  block = taken.block;
  co_return block.take();
}

reactor::Task<Status> Sequences::restart(std::string name, std::int64_t value, bool is_given) {
  Change set{.name = name, .value = value, .is_given = is_given};
  Status status = co_await change(&set);
  if (status.ok()) blocks_.erase(name);
  co_return status;
}

reactor::Task<Status> Sequences::alter(std::string name, SequenceChange change) {
  const auto once = [this, &name, &change] { return alter_once(&name, &change); };
  Status status = co_await retry(/*repeatable=*/true, once);
  if (status.ok()) blocks_.erase(name);
  co_return status;
}

reactor::Task<Status> Sequences::alter_once(const std::string* name, const SequenceChange* change) {
  std::string table_name = kTable;
  const auto place = co_await engine_.table(std::move(table_name));
  if (!place.ok() && place.status().code() == ErrorCode::undefined_table) co_return undefined_sequence(*name);
  if (!place.ok()) co_return place.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  const RowId id = transaction->get(*place, layout::Key((*place)->schema).text(*name).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  if (!transaction->found(id)) co_return undefined_sequence(*name);
  State state = read_state(transaction->row(id));
  const auto definition = apply_change(state.definition, *change, /*is_new=*/false);
  if (!definition.ok()) co_return definition.status();
  state.definition = *definition;
  if (change->restarts) {
    state.next = change->restart.value_or(definition->start);
    state.ended = false;
  } else if (state.ended) {
    set_behind(state, state.next);
  }
  status = check_restart(*definition, state.next);
  if (status.ok()) status = write_state(transaction->update(id), state);
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

reactor::Task<Result<bool>> Sequences::exists(std::string name) {
  bool found = false;
  const auto once = [this, &name, &found] { return find_once(&name, &found); };
  const Status status = co_await retry(/*repeatable=*/true, once);
  if (!status.ok()) co_return status;
  co_return found;
}

reactor::Task<Status> Sequences::find_once(const std::string* name, bool* found) {
  *found = false;
  std::string table_name = kTable;
  const auto place = co_await engine_.table(std::move(table_name));
  if (!place.ok() && place.status().code() == ErrorCode::undefined_table) co_return Status();
  if (!place.ok()) co_return place.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  const RowId id = transaction->read(*place, layout::Key((*place)->schema).text(*name).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  *found = transaction->found(id);
  co_return co_await transaction->commit();
}

reactor::Task<Status> Sequences::change(Change* change) {
  // A block whose commit may have happened is lost, and another one is taken.
  const auto once = [this, change] { return change_once(change); };
  co_return co_await retry(/*repeatable=*/true, once);
}

reactor::Task<Status> Sequences::change_once(Change* change) {
  std::string table_name = kTable;
  const auto place = co_await engine_.table(std::move(table_name));
  if (!place.ok() && place.status().code() == ErrorCode::undefined_table)
    co_return undefined_sequence(change->name);
  if (!place.ok()) co_return place.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  const RowId id = transaction->get(*place, layout::Key((*place)->schema).text(change->name).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  if (!transaction->found(id)) co_return undefined_sequence(change->name);
  State state = read_state(transaction->row(id));
  const SequenceDefinition& definition = state.definition;
  if (change->value) {
    const std::int64_t value = *change->value;
    if (value < definition.least || value > definition.most) {
      co_return Status(ErrorCode::numeric_out_of_range,
                       "setval: value " + std::to_string(value) + " is out of bounds for sequence \"" +
                           change->name + "\" (" + std::to_string(definition.least) + ".." +
                           std::to_string(definition.most) + ")");
    }
    state.next = value;
    state.ended = false;
    if (change->is_given) set_behind(state, value);
  } else {
    if (state.ended && !definition.cycles) co_return no_more(change->name, definition);
    if (state.ended) state.next = definition.increment > 0 ? definition.least : definition.most;
    change->block = {state.next, 0, definition.increment};
    state.ended = false;
    while (change->block.left < definition.block_numbers && !state.ended) {
      ++change->block.left;
      set_behind(state, state.next);
    }
  }
  status = write_state(transaction->update(id), state);
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

}  // namespace namdb::txn

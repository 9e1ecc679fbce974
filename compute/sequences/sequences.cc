#include "compute/sequences/sequences.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/base/check.h"
#include "common/layout/key.h"
#include "compute/api/server_table.h"

namespace namdb::txn {
namespace {

enum SequenceColumn : std::uint32_t { kName, kNext, kLast };

TableDefinition sequences_definition() {
  using layout::ColumnType;
  std::vector<layout::Column> columns = {{.name = "name", .type = ColumnType::varchar, .length_bytes = 63},
                                         {.name = "next", .not_null = true},
                                         {.name = "last", .not_null = true}};
  TableDefinition made;
  made.name = Sequences::kTable;
  made.schema = std::move(*layout::Schema::create(std::move(columns), {kName}));
  return made;
}

Status undefined_sequence(const std::string& name) {
  return Status(ErrorCode::undefined_table, "relation \"" + name + "\" does not exist");
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
  const auto once = [this, &name, first, last] { return insert(name, first, last); };
  Status status = co_await retry(/*repeatable=*/false, once);
  if (!status.ok() && status.code() == ErrorCode::duplicate_key)
    co_return Status(ErrorCode::duplicate_table, "relation \"" + name + "\" already exists");
  if (status.ok()) blocks_.erase(name);
  co_return status;
}

reactor::Task<Status> Sequences::insert(std::string name, std::int64_t first, std::int64_t last) {
  const auto place = co_await find_or_create(&engine_, sequences_definition());
  if (!place.ok()) co_return place.status();
  layout::Row row((*place)->schema);
  layout::RowWriter writer = row.writer();
  Status status = writer.set_text(kName, name);
  if (status.ok()) status = writer.set_integer(kNext, first);
  if (status.ok()) status = writer.set_integer(kLast, last);
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
  if (const auto known = blocks_.find(name); known != blocks_.end() && known->second.next < known->second.end)
    co_return known->second.next++;
  Change taken{.name = name};
  Status status = co_await change(&taken);
  if (!status.ok()) co_return status;
  // Another task of this worker may have taken a block meanwhile. The rest of that one is not given.
  Block& block = blocks_[name];
  block = taken.block;
  co_return block.next++;
}

reactor::Task<Status> Sequences::restart(std::string name, std::int64_t value, bool is_given) {
  Change set{.name = name, .value = value, .is_given = is_given};
  Status status = co_await change(&set);
  if (status.ok()) blocks_.erase(name);
  co_return status;
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
  const std::int64_t next = transaction->row(id).integer(kNext);
  const std::int64_t last = transaction->row(id).integer(kLast);
  std::int64_t then = 0;
  if (change->value) {
    then = *change->value;
    if (then < 1 || then > last) {
      co_return Status(ErrorCode::numeric_out_of_range,
                       "setval: value " + std::to_string(then) + " is out of bounds for sequence \"" +
                           change->name + "\" (1.." + std::to_string(last) + ")");
    }
    if (change->is_given && then != std::numeric_limits<std::int64_t>::max()) ++then;
  } else {
    if (next > last || next == std::numeric_limits<std::int64_t>::max()) {
      co_return Status(ErrorCode::sequence_limit_exceeded, "nextval: reached maximum value of sequence \"" +
                                                               change->name + "\" (" + std::to_string(last) +
                                                               ")");
    }
    then = next +
           std::min(kBlockNumbers, std::min(last, std::numeric_limits<std::int64_t>::max() - 1) - next + 1);
    change->block = {next, then};
  }
  status = transaction->update(id).set_integer(kNext, then);
  if (status.ok()) status = co_await transaction->commit();
  co_return status;
}

}  // namespace namdb::txn

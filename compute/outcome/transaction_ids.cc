#include "compute/outcome/transaction_ids.h"

#include <string>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/layout/index_key.h"
#include "common/layout/key.h"
#include "compute/api/server_table.h"

namespace namdb::txn {

namespace {

enum Column : std::uint32_t { kId, kPart, kSlot, kGiven, kCommitted };
constexpr std::int64_t kGivenPart = 0;
constexpr std::int64_t kEndedPart = 1;
constexpr const char* kByAge = "namdb_transactions_by_age";
constexpr std::uint64_t kErasedAtOnce = 256;

TableDefinition definition() {
  using layout::ColumnType;
  std::vector<layout::Column> columns = {
      {.name = "id"},
      {.name = "part"},
      {.name = "slot", .not_null = true},
      {.name = "given", .type = ColumnType::timestamp, .not_null = true},
      {.name = "committed", .type = ColumnType::boolean, .not_null = true}};
  TableDefinition made;
  made.name = TransactionIds::kTable;
  made.schema = std::move(*layout::Schema::create(std::move(columns), {kId, kPart}));
  made.unique.push_back({kByAge, {kGiven, kId, kPart}});
  return made;
}

layout::Key key_of(const storage::Table& table, std::int64_t id, std::int64_t part) {
  return std::move(layout::Key(table.schema).integer(id).integer(part));
}

storage::IndexRef index_by_age(const storage::Table& table) {
  for (const storage::IndexRef& index : table.indexes) {
    if (index->name == kByAge && !index->replaced()) return index;
  }
  return nullptr;
}

}  // namespace

bool TransactionIds::fits(const storage::Table& table) {
  const TableDefinition wanted = definition();
  const auto& columns = table.schema.columns();
  if (columns.size() != wanted.schema.columns().size() || table.schema.key() != wanted.schema.key())
    return false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name != wanted.schema.columns()[i].name ||
        columns[i].type != wanted.schema.columns()[i].type)
      return false;
  }
  return true;
}

layout::Row TransactionIds::row_of(const storage::Table& table, const Given& given, std::int64_t part,
                                   bool committed) {
  layout::Row row(table.schema);
  layout::RowWriter writer = row.writer();
  NAMDB_CHECK(writer.set_integer(kId, given.id).ok());
  NAMDB_CHECK(writer.set_integer(kPart, part).ok());
  NAMDB_CHECK(writer.set_integer(kSlot, given.slot).ok());
  NAMDB_CHECK(writer.set_integer(kGiven, given.given_us).ok());
  NAMDB_CHECK(writer.set_integer(kCommitted, committed ? 1 : 0).ok());
  return row;
}

reactor::Task<Result<storage::TableRef>> TransactionIds::table() {
  auto found = co_await find_or_create(&engine_, definition());
  if (found.ok() && *found != fitting_) {
    if (!fits(**found))
      co_return Status(ErrorCode::wrong_object_type,
                       std::string("table \"") + kTable + "\" is not the one that keeps outcomes",
                       "drop it: the server makes its own");
    fitting_ = *found;
  }
  co_return found;
}

// --- giving ids ---

reactor::Task<Result<std::int64_t>> TransactionIds::give(Transaction* transaction) {
  const auto slot = co_await engine_.commit_slot();
  if (!slot.ok()) co_return slot.status();
  Given given{.slot = *slot, .given_us = now_us()};
  Status status;
  for (std::uint32_t attempt = 1; attempt <= engine_.retry_options().max_attempts; ++attempt) {
    // An attempt whose outcome is unknown, or whose id is taken, is followed by another id.
    given.id = static_cast<std::int64_t>(engine_.executor().random().next() >> 1);
    if (given.id == 0) continue;
    status = co_await record_given(given);
    if (status.ok()) break;
    const bool other_id =
        status.code() == ErrorCode::duplicate_key || status.code() == ErrorCode::unknown_outcome;
    if (!other_id && !status.info().retry) co_return status;
    co_await engine_.backoff(attempt);
  }
  if (!status.ok()) co_return status;
  const auto place = co_await table();
  if (!place.ok()) co_return place.status();
  transaction->insert(*place, row_of(**place, given, kEndedPart, true).bytes());
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  if (!erasing_ && !gate_.closing() && given.given_us - erased_us_ >= kErasePause_us) {
    erasing_ = true;
    erased_us_ = given.given_us;
    engine_.executor().spawn(gate_, erase_old());
  }
  co_return given.id;
}

reactor::Task<Status> TransactionIds::record_given(Given given) {
  const auto place = co_await table();
  if (!place.ok()) co_return place.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  transaction->insert(*place, row_of(**place, given, kGivenPart, false).bytes());
  co_return co_await fetch_and_commit(transaction.get());
}

// --- outcomes ---

reactor::Task<Result<std::optional<TransactionIds::Rows>>> TransactionIds::read(std::int64_t id) {
  std::string name = kTable;
  const auto place = co_await engine_.table(std::move(name));
  if (!place.ok() && place.status().code() == ErrorCode::undefined_table) co_return std::optional<Rows>();
  if (!place.ok()) co_return place.status();
  if (!fits(**place)) co_return std::optional<Rows>();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  const RowId given = transaction->read(*place, key_of(**place, id, kGivenPart).bytes());
  const RowId ended = transaction->read(*place, key_of(**place, id, kEndedPart).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  std::optional<Rows> rows;
  if (transaction->found(given)) {
    const layout::RowView row = transaction->row(given);
    rows = Rows{{id, row.integer(kSlot), row.integer(kGiven)}, std::nullopt};
    if (transaction->found(ended)) rows->committed = transaction->row(ended).integer(kCommitted) != 0;
  }
  status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return rows;
}

reactor::Task<Result<std::optional<TransactionOutcome>>> TransactionIds::outcome(std::int64_t id) {
  using Known = std::optional<TransactionOutcome>;
  Status status;
  for (std::uint32_t attempt = 1; attempt <= engine_.retry_options().max_attempts; ++attempt) {
    if (!status.ok()) co_await engine_.backoff(attempt - 1);
    const auto rows = co_await read(id);
    if (!rows.ok()) {
      status = rows.status();
      if (!status.info().retry) co_return status;
      continue;
    }
    if (!rows->has_value()) co_return Known();
    const Rows& found = **rows;
    if (found.committed)
      co_return Known(*found.committed ? TransactionOutcome::committed : TransactionOutcome::aborted);
    const auto ended = co_await engine_.slot_ended(static_cast<std::uint32_t>(found.given.slot));
    if (!ended.ok()) co_return ended.status();
    if (!*ended) co_return Known(TransactionOutcome::in_progress);
    // The snapshot above may be older than the end of the slot: the next look has what is recorded now.
    status = co_await record_aborted(id);
    if (!status.ok() && !status.info().retry && status.code() != ErrorCode::duplicate_key &&
        status.code() != ErrorCode::unknown_outcome)
      co_return status;
  }
  if (!status.ok()) co_return status;
  co_return Status(ErrorCode::serialization_failure,
                   "the outcome of a transaction is recorded, and cannot be read yet");
}

reactor::Task<Status> TransactionIds::record_aborted(std::int64_t id) {
  const auto place = co_await table();
  if (!place.ok()) co_return place.status();
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  const RowId given = transaction->read(*place, key_of(**place, id, kGivenPart).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  if (!transaction->found(given)) co_return Status();
  const layout::RowView row = transaction->row(given);
  const Given found{id, row.integer(kSlot), row.integer(kGiven)};
  transaction->insert(*place, row_of(**place, found, kEndedPart, false).bytes());
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

void TransactionIds::aborted(std::int64_t id) {
  if (!gate_.closing()) engine_.executor().spawn(gate_, record_in_background(id));
}

reactor::Task<void> TransactionIds::record_in_background(std::int64_t id) {
  for (std::uint32_t attempt = 1; attempt <= engine_.retry_options().max_attempts; ++attempt) {
    const Status status = co_await record_aborted(id);
    // Without a connection the slot ends, which says the same.
    if (status.ok() || !status.info().retry || gate_.closing()) co_return;
    co_await engine_.backoff(attempt);
  }
}

// --- erasing ---

reactor::Task<void> TransactionIds::erase_old() {
  const std::int64_t before_us = erased_us_ - kKept_us;
  while (!gate_.closing()) {
    const auto more = co_await erase_some(before_us);
    // After an error there is another time.
    if (!more.ok() || !*more) break;
  }
  erasing_ = false;
}

// Part 0 goes first, or with part 1: without part 1 its id would be taken for one of an open transaction.
reactor::Task<Result<bool>> TransactionIds::erase_some(std::int64_t before_us) {
  const auto place = co_await table();
  if (!place.ok()) co_return place.status();
  const storage::IndexRef index = index_by_age(**place);
  if (index == nullptr) co_return false;
  layout::IndexPrefix end(index->shape);
  end.integer(before_us);
  IndexRange range{.low = {}, .high = std::string(end.bytes()), .descending = false, .limit = kErasedAtOnce};
  const auto session = engine_.open_session();
  const auto transaction = engine_.begin(*session);
  std::vector<RowId> rows;
  Status status = co_await transaction->find(*place, index, std::move(range), rows);
  if (!status.ok()) co_return status;
  for (const RowId row : rows) {
    if (transaction->found(row)) transaction->erase(row);
  }
  const bool more = rows.size() >= kErasedAtOnce;
  if (!rows.empty()) status = co_await transaction->commit();
  if (!status.ok()) co_return status;
  co_return more;
}

reactor::Task<void> TransactionIds::close() {
  co_await gate_.close();
}

}  // namespace namdb::txn

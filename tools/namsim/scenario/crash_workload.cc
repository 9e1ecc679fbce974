#include "tools/namsim/scenario/crash_workload.h"

#include <algorithm>
#include <utility>

#include "common/base/clock.h"
#include "tools/namsim/workloads/tables.h"
#include "tools/namsim/workloads/workload.h"

namespace namdb::sim {
namespace {

enum Column : std::uint32_t { kId, kBits, kTag };

// Between attempts, doubled up to the longest. A lock of the dead stays for tens of milliseconds after it was
// met, and a transaction may meet several, one after the other; but an attempt is a bit of a row.
constexpr std::uint64_t kPause_ns = kMillisecond_ns / 2;
constexpr std::uint64_t kLongestPause_ns = 8 * kMillisecond_ns;

layout::Row row_of(const layout::Schema& schema, std::int64_t id, std::int64_t bits, std::int64_t tag) {
  layout::Row row(schema);
  Status status = row.writer().set_integer(kId, id);
  if (status.ok()) status = row.writer().set_integer(kBits, bits);
  if (status.ok()) status = row.writer().set_integer(kTag, tag);
  NAMDB_CHECK(status.ok());
  return row;
}

std::string name_of(std::uint64_t attempt) {
  return "attempt " + std::to_string(attempt);
}

}  // namespace

layout::Schema CrashWorkload::schema() {
  return bigints({"id", "bits", "tag"});
}

reactor::Task<Status> CrashWorkload::load(txn::Engine* engine) {
  const layout::Schema columns = schema();
  Status status = co_await create_table(*engine, kTable, columns, 32, 2);
  if (!status.ok()) co_return status;
  txn::IndexDefinition by_tag{.name = kByTag, .table = kTable, .columns = {{kTag, false}}};
  status = co_await engine->create_index(std::move(by_tag));
  if (!status.ok()) co_return status;
  txn::IndexDefinition by_hash{.name = kByTagHash, .table = kTable, .columns = {{kTag, false}}, .hash = true};
  status = co_await engine->create_index(std::move(by_hash));
  if (!status.ok()) co_return status;
  std::vector<layout::Row> rows;
  for (std::int64_t id = 0; id < kShared; ++id) rows.push_back(row_of(columns, id, 0, -1));
  for (std::uint64_t i = 0; i < kClients * kTransactions; ++i)
    rows.push_back(row_of(columns, kErased + static_cast<std::int64_t>(i), 0, -1));
  co_return co_await put_rows(*engine, kTable, &rows);
}

reactor::Task<Status> CrashWorkload::create_another(txn::Engine* engine) {
  co_return co_await create_table(*engine, kAnother, schema(), 32, 2);
}

reactor::Task<Status> CrashWorkload::attempt(txn::Engine* engine, txn::Session* session,
                                             std::uint64_t number) {
  auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  const layout::Schema& columns = (*table)->schema;
  const auto transaction = engine->begin(*session);
  if (with_ids_) {
    // Without a clock it erases nothing, and so nothing of it is left when the compute server ends.
    txn::TransactionIds ids(*engine, {});
    const auto id = co_await ids.give(transaction.get());
    if (!id.ok()) co_return id.status();
    attempts_[number].id = *id;
  }
  transaction->answer_when_logged(attempts_[number].early);
  if (attempts_[number].follows) {
    Status status = co_await look_back(transaction.get(), *table, number);
    if (!status.ok()) co_return status;
  }
  std::vector<txn::RowId> shared;
  for (std::int64_t id = 0; id < kShared; ++id) {
    if (touches(number, id)) shared.push_back(transaction->get(*table, key_of(columns, id).bytes()));
  }
  const auto own = static_cast<std::int64_t>(attempts_[number].transaction);
  const txn::RowId erased = transaction->get(*table, key_of(columns, kErased + own).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  const auto bit = std::int64_t{1} << number;
  const auto tag = static_cast<std::int64_t>(number);
  for (const txn::RowId row : shared) {
    if (!transaction->found(row)) co_return Status(ErrorCode::internal, "a shared row is gone");
    const std::int64_t bits = transaction->row(row).integer(kBits);
    layout::RowWriter writer = transaction->update(row);
    status = writer.set_integer(kBits, bits | bit);
    if (status.ok()) status = writer.set_integer(kTag, tag);
    if (!status.ok()) co_return status;
  }
  if (!transaction->found(erased)) co_return Status(ErrorCode::internal, "a row was erased by nobody");
  transaction->erase(erased);
  transaction->insert(*table, row_of(columns, kInserted + tag, bit, tag).bytes());
  status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  co_return co_await transaction->commit();
}

reactor::Task<Status> CrashWorkload::look_back(txn::Transaction* transaction, storage::TableRef table,
                                               std::uint64_t number) {
  const auto tag = static_cast<std::int64_t>(attempts_[number].previous);
  const txn::RowId last = transaction->get(table, key_of(table->schema, kInserted + tag).bytes());
  Status status = co_await transaction->fetch();
  if (!status.ok()) co_return status;
  std::size_t found = transaction->found(last) ? 1 : 0;
  std::size_t places = 1;
  // Others have changed nothing that has this tag, but the row itself.
  for (const storage::IndexRef& index : table->indexes) {
    ++places;
    layout::IndexPrefix prefix(index->shape);
    const auto tagged = transaction->scan_index(table, index, layout::index_range(prefix.integer(tag)));
    Rows rows;
    status = co_await scan(tagged.get(), &rows);
    if (!status.ok()) co_return status;
    found += rows.contains(kInserted + tag) ? 1 : 0;
  }
  status = co_await transaction->confirm_reads();
  if (status.ok() && found != places)
    complaint_ = name_of(number) + " does not see " + name_of(attempts_[number].previous) + " of its session";
  co_return status;
}

reactor::Task<void> CrashWorkload::give_up(txn::Engine* engine, txn::Session* session) {
  auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return;
  const auto transaction = engine->begin(*session);
  const txn::RowId row = transaction->get(*table, key_of((*table)->schema, 0).bytes());
  const Status status = co_await transaction->fetch();
  if (status.ok() && transaction->found(row)) transaction->update(row);
  transaction->abort();
}

reactor::Task<void> CrashWorkload::run_client(txn::Engine* engine, std::uint64_t client, Ready ready) {
  auto session = engine->open_session();
  std::uint64_t last = kMostAttempts;  // that the session committed
  for (std::uint64_t i = 0; i < kTransactions && complaint_.empty() && !winding_up_; ++i) {
    if (i == 1) co_await give_up(engine, session.get());
    std::uint64_t number = kMostAttempts;
    std::uint64_t pause_ns = kPause_ns;
    while (complaint_.empty()) {
      while (!ready(*engine)) co_await engine->executor().sleep_for(kPause_ns);
      // Without a connection an attempt does nothing at all: its number serves for the next one.
      if (number == kMostAttempts) {
        if (attempts_.size() == kMostAttempts) {
          complaint_ = "the clients abort each other for ever";
          co_return;
        }
        number = attempts_.size();
        attempts_.push_back({.transaction = client * kTransactions + i,
                             .early = early_ && i + 1 < kTransactions,
                             .follows = last != kMostAttempts,
                             .previous = last});
      }
      attempts_[number].outcome = Outcome::running;
      const Status status = co_await attempt(engine, session.get(), number);
      if (status.ok()) {
        attempts_[number].outcome = attempts_[number].early ? Outcome::answered_early : Outcome::acknowledged;
        last = number;
        break;
      }
      if (status.code() == ErrorCode::unknown_outcome) {
        attempts_[number].outcome = Outcome::unknown;
        session = engine->open_session();
        last = kMostAttempts;
        break;
      }
      attempts_[number].outcome = Outcome::aborted;
      const bool told = status.code() == ErrorCode::commits_lost;
      if (told) {
        // The attempt did nothing, either.
        ++told_;
        last = kMostAttempts;
        attempts_[number].follows = false;
      }
      const bool nothing_done = told || lost_connection(status);
      if (!status.info().retry && !nothing_done) complaint_ = status.to_string();
      if (!nothing_done) number = kMostAttempts;
      co_await engine->executor().sleep_for(pause_ns);
      pause_ns = std::min(2 * pause_ns, kLongestPause_ns);
    }
  }
}

reactor::Task<Status> CrashWorkload::scan(txn::TableScan* scan, Rows* rows) {
  std::vector<layout::Row> some;
  do {
    Status status = co_await scan->next(some);
    if (!status.ok()) co_return status;
    for (const layout::Row& row : some) {
      const layout::RowView view = row.view();
      if (!rows->emplace(view.integer(kId), Row{view.integer(kBits), view.integer(kTag)}).second)
        co_return Status(ErrorCode::internal, "row " + std::to_string(view.integer(kId)) + " is there twice");
    }
  } while (!some.empty());
  co_return Status();
}

reactor::Task<Status> CrashWorkload::read_all(txn::Engine* engine) {
  auto table = co_await engine->table(kTable);
  if (!table.ok()) co_return table.status();
  const auto session = engine->open_session();
  const auto transaction = engine->begin(*session);
  by_table_.clear();
  by_index_.clear();
  const auto whole = transaction->scan(*table);
  Status status = co_await scan(whole.get(), &by_table_);
  for (const storage::IndexRef& index : (*table)->indexes) {
    if (!status.ok()) co_return status;
    Rows& rows = by_index_[index->name];
    if (!index->hash) {
      const auto all = transaction->scan_index(*table, index, {});
      status = co_await scan(all.get(), &rows);
      continue;
    }
    // A hash index is asked for each tag that there may be.
    for (std::int64_t tag = -1; tag < static_cast<std::int64_t>(attempts_.size()) && status.ok(); ++tag) {
      layout::IndexPrefix prefix(index->shape);
      const auto some = transaction->scan_index(*table, index, layout::index_range(prefix.integer(tag)));
      status = co_await scan(some.get(), &rows);
    }
  }
  if (status.ok()) status = co_await transaction->confirm_reads();
  co_return status;
}

reactor::Task<Status> CrashWorkload::read_outcomes(txn::Engine* engine) {
  txn::TransactionIds ids(*engine, {});
  for (Attempt& attempt : attempts_) {
    if (attempt.id == 0) continue;
    const auto outcome = co_await ids.outcome(attempt.id);
    if (!outcome.ok()) co_return outcome.status();
    attempt.asked = *outcome;
  }
  co_return Status();
}

std::string CrashWorkload::check_outcomes(bool ended) const {
  using txn::TransactionOutcome;
  for (std::uint64_t n = 0; n < attempts_.size(); ++n) {
    const Attempt& attempt = attempts_[n];
    if (attempt.id == 0) continue;
    if (!attempt.asked) return name_of(n) + " was given an id that nobody knows";
    const bool there = by_table_.contains(kInserted + static_cast<std::int64_t>(n));
    if ((attempt.asked == TransactionOutcome::committed) != there)
      return name_of(n) + (there ? " is there, and is not said to be committed"
                                 : " is not there, and is said to be committed");
    if (ended && attempt.asked == TransactionOutcome::in_progress)
      return name_of(n) + " is said to be in progress";
  }
  return {};
}

reactor::Task<Status> CrashWorkload::touch_all(txn::Engine* engine) {
  Status status = co_await touch_rows(*engine, kTable);
  if (status.ok()) status = co_await touch_hash_entries(*engine, kTable);
  if (!status.ok() || !with_ids_) co_return status;
  status = co_await touch_rows(*engine, txn::TransactionIds::kTable);
  // Perhaps no attempt came as far as to make it.
  co_return !status.ok() && status.code() == ErrorCode::undefined_table ? Status() : std::move(status);
}

std::uint64_t CrashWorkload::count(Outcome outcome) const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(attempts_, [outcome](const Attempt& one) { return one.outcome == outcome; }));
}

std::uint64_t CrashWorkload::unknown_there() const {
  std::uint64_t there = 0;
  for (std::uint64_t n = 0; n < attempts_.size(); ++n) {
    const bool unknown = attempts_[n].outcome == Outcome::unknown || attempts_[n].outcome == Outcome::running;
    if (unknown && by_table_.contains(kInserted + static_cast<std::int64_t>(n))) ++there;
  }
  return there;
}

// `there`: the attempts whose row was inserted.
std::string CrashWorkload::check_shared(const std::set<std::uint64_t>& there) const {
  for (std::int64_t id = 0; id < kShared; ++id) {
    const auto found = by_table_.find(id);
    if (found == by_table_.end()) return "row " + std::to_string(id) + " is gone";
    const Row& row = found->second;
    for (std::uint64_t n = 0; n < attempts_.size(); ++n) {
      const bool has = (row.bits >> n & 1) != 0;
      if (has != (there.contains(n) && touches(n, id)))
        return name_of(n) + (has ? " changed row " : " did not change row ") + std::to_string(id) + " and " +
               (there.contains(n) ? "inserted a row" : "inserted none");
    }
    const bool first = row.bits == 0;
    if (first ? row.tag != -1 : row.tag < 0 || (row.bits >> row.tag & 1) == 0)
      return "row " + std::to_string(id) + " has the tag " + std::to_string(row.tag) + " of another attempt";
  }
  return {};
}

// An attempt that was acknowledged, and not early, is not there without the earlier ones of its session.
std::string CrashWorkload::check_order(const std::set<std::uint64_t>& there) const {
  for (std::uint64_t n = 0; n < attempts_.size(); ++n) {
    if (attempts_[n].outcome != Outcome::acknowledged || !attempts_[n].follows) continue;
    for (std::uint64_t before = n; attempts_[before].follows;) {
      before = attempts_[before].previous;
      if (!there.contains(before)) return name_of(n) + " is there without " + name_of(before);
    }
  }
  return {};
}

std::string CrashWorkload::check() {
  std::set<std::uint64_t> there;
  std::set<std::uint64_t> erased;  // transactions
  for (std::uint64_t n = 0; n < attempts_.size(); ++n) {
    const bool has = by_table_.contains(kInserted + static_cast<std::int64_t>(n));
    const Outcome outcome = attempts_[n].outcome;
    if (outcome == Outcome::acknowledged && !has) return name_of(n) + " was acknowledged and is lost";
    if (outcome == Outcome::answered_early && !has && !memory_ended_)
      return name_of(n) + " was answered, and is lost with its compute server";
    if (attempts_[n].shown && !has) return name_of(n) + " was shown and is lost";
    if (outcome == Outcome::aborted && has) return name_of(n) + " was aborted and is there";
    if (!has) continue;
    there.insert(n);
    if (!erased.insert(attempts_[n].transaction).second) return name_of(n) + " happened after another one";
  }
  std::string wrong = check_shared(there);
  if (wrong.empty()) wrong = check_order(there);
  if (!wrong.empty()) return wrong;
  for (std::uint64_t i = 0; i < kClients * kTransactions; ++i) {
    const std::int64_t id = kErased + static_cast<std::int64_t>(i);
    if (by_table_.contains(id) == erased.contains(i))
      return "row " + std::to_string(id) +
             (erased.contains(i) ? " is there after it was erased" : " was erased by no commit");
  }
  const std::size_t rows =
      static_cast<std::size_t>(kShared) + kClients * kTransactions - erased.size() + there.size();
  if (by_table_.size() != rows) return "there are rows that nobody inserted: " + rows_text();
  if (by_index_.size() != 2) return "there are " + std::to_string(by_index_.size()) + " indexes instead of 2";
  for (const auto& [name, found] : by_index_) {
    if (found != by_table_) return "index " + name + " and the table have other rows: " + rows_text();
  }
  for (const std::uint64_t n : there) attempts_[n].shown = true;
  return {};
}

std::string CrashWorkload::rows_text() const {
  std::string text;
  const auto add = [&text](const std::string& name, const Rows& rows) {
    text += (text.empty() ? "" : "; ") + name + ":";
    for (const auto& [id, row] : rows)
      text += " " + std::to_string(id) + "=" + std::to_string(row.bits) + "/" + std::to_string(row.tag);
  };
  add("table", by_table_);
  for (const auto& [name, rows] : by_index_) add(name, rows);
  return text;
}

}  // namespace namdb::sim

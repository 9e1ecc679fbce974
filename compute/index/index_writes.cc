#include "compute/index/index_writes.h"

#include "common/layout/index_page.h"
#include "common/layout/same_fields.h"
#include "compute/txn/backoff.h"
#include "compute/txn/errors.h"
#include "compute/txn/transaction_state.h"
#include "compute/txn/validation.h"
#include "compute/txn/verdict_queue.h"

namespace namdb::protocol {

using calls::IndexChange;

namespace {

// A request, and its reply, fit a channel's pipe (common/fabric/shm/wire.h) with room to spare: a longer one
// goes through it bit by bit, a bit with each turn of both sides.
constexpr std::size_t kRequest_bytes = 24U << 10;
// Ahead of the locks there is one request to a memory server, and nothing else to be done.
constexpr std::size_t kAhead_bytes = fabric::kMaxCall_bytes / 4;
// Requests at once: the memory server has the next one when it has answered one.
constexpr std::size_t kRequestsAtOnce = 2;
// Of a change in a request, or of its result in the reply, beside its key.
constexpr std::size_t kItem_bytes = 11;
// With more conflicts among a worker's transactions, entries are not sent ahead of locks that may not be had.
constexpr std::uint64_t kMostConflicts = txn::Backoff::kAll / 4;

}  // namespace

IndexWrites::IndexWrites(TransactionState& transaction)
    : transaction_(transaction), worker_(transaction.worker()) {}

Status IndexWrites::duplicate(const Change& change) {
  const storage::TableRef& table = change.access->table;
  transaction_.note_violation(table, *change.index,
                              layout::RowView(table->schema, change.access->image_row()));
  return Status(ErrorCode::duplicate_key,
                "duplicate key value violates unique constraint \"" + change.index->name + "\"");
}

void IndexWrites::plan(const Access& access, const storage::IndexRef& index) {
  const layout::Schema& schema = access.table->schema;
  // Most updates change no column of an index.
  if (access.stored() && access.found() &&
      layout::has_same_fields(index->shape, layout::RowView(schema, access.lookup.payload()),
                              layout::RowView(schema, access.image_row()))) {
    return;
  }
  std::optional<layout::IndexKey> before;
  std::optional<layout::IndexKey> after;
  if (access.stored()) {
    before = layout::index_key(index->shape, layout::RowView(schema, access.lookup.payload()));
  }
  if (access.found()) after = layout::index_key(index->shape, layout::RowView(schema, access.image_row()));
  if (before == after) return;
  const auto add = [&](IndexChange::Kind kind, layout::IndexKey key) {
    const layout::ServerId server = index->parts[index->part_of(key.bytes)].server;
    changes_.push_back(
        {.access = &access, .index = index, .key = std::move(key), .kind = kind, .server = server});
  };
  if (before) add(IndexChange::Kind::mark, std::move(*before));
  if (after) add(IndexChange::Kind::add, std::move(*after));
}

void IndexWrites::plan() {
  constexpr std::size_t kMany = 64;
  if (transaction_.accesses().size() >= kMany) changes_.reserve(transaction_.accesses().size());
  for (const Access& access : transaction_.accesses()) {
    if (access.write == WriteKind::none) continue;
    // The indexes of the current catalog: the builder of an index waits for transactions that may not know of
    // it.
    for (const storage::IndexRef& index : access.table->indexes) {
      if (!index->hash && !index->replaced()) plan(access, index);
    }
  }
}

bool IndexWrites::leaves_entries() const {
  return std::ranges::any_of(changes_,
                             [](const Change& change) { return change.kind == IndexChange::Kind::mark; });
}

Status IndexWrites::add_requests(const Some& changes, bool ahead, txn::CallSet& calls) {
  std::size_t bytes = 0;
  for (const Change* change : changes) bytes += kItem_bytes + change->key.bytes.size();
  for (const Change* change : changes) {
    const auto declared = static_cast<std::uint16_t>(change->checked() ? change->key.declared_bytes : 0);
    if (change->key.bytes.size() > layout::kMaxIndexPage_bytes) {
      return Status(ErrorCode::limit_exceeded, "a key of index \"" + change->index->name + "\" is too long");
    }
    std::string& request = calls.request(change->server);
    if (request.empty()) request.reserve(bytes);
    append(request, IndexChange{change->kind, change->index->id, declared, change->key.bytes, ahead});
  }
  return Status();
}

void IndexWrites::post_ahead() {
  if (!worker_.cluster.optimisations().outstanding_requests ||
      worker_.backoff.contention() >= kMostConflicts || std::ranges::any_of(changes_, &Change::checked)) {
    return;
  }
  std::size_t bytes = 0;
  for (Change& change : changes_) {
    if (bytes >= kAhead_bytes) break;
    ahead_.push_back(&change);
    bytes += kItem_bytes + change.key.bytes.size();
  }
  if (ahead_.empty()) return;
  ahead_calls_.emplace(worker_.cluster);
  if (!add_requests(ahead_, true, *ahead_calls_).ok()) {
    // The error is reported under the locks.
    ahead_.clear();
    ahead_calls_.reset();
    return;
  }
  ahead_since_ns_ = worker_.executor.fresh_now_ns();
  ahead_calls_->post(calls::kIndexWriteMethod, transaction_.mutable_counters());
}

reactor::Task<Status> IndexWrites::finish_ahead() {
  if (!ahead_calls_) co_return Status();
  Status status = co_await ahead_calls_->finish(transaction_.mutable_counters());
  status = take_results(std::move(status), ahead_, *ahead_calls_);
  ahead_calls_.reset();
  co_return status;
}

Status IndexWrites::outcome(Status status) const {
  if (worker_.cluster.failed()) return lost_connection(status);
  if (status.ok() || status.code() != ErrorCode::undefined_object) return status;
  return Status(ErrorCode::catalog_changed, "an index was dropped while the transaction ran");
}

std::unique_ptr<IndexWrites::Request> IndexWrites::next_request(std::size_t& next, bool again) {
  std::unique_ptr<Request> request;
  for (std::size_t bytes = 0; next != changes_.size() && bytes < kRequest_bytes; ++next) {
    Change& change = changes_[next];
    if (change.sent && !again) continue;
    if (request == nullptr) request = std::make_unique<Request>(worker_.cluster);
    request->changes.push_back(&change);
    bytes += kItem_bytes + change.key.bytes.size();
  }
  return request;
}

reactor::Task<Status> IndexWrites::answer(Request* request, const Meanwhile* meanwhile) {
  // The first turn sends the call.
  for (bool more = true; more && request->calls.pending();) {
    co_await worker_.executor.yield();
    more = request->calls.pending() && (*meanwhile)();
  }
  Status status = co_await request->calls.finish(transaction_.mutable_counters());
  co_return take_results(std::move(status), request->changes, request->calls);
}

reactor::Task<Status> IndexWrites::send(bool again, const Meanwhile* meanwhile) {
  fabric::OperationCounters& counters = transaction_.mutable_counters();
  std::deque<std::unique_ptr<Request>> posted;
  Status status;
  std::size_t next = 0;
  while (true) {
    while (status.ok() && posted.size() < kRequestsAtOnce) {
      std::unique_ptr<Request> request = next_request(next, again);
      if (request == nullptr) break;
      status = add_requests(request->changes, false, request->calls);
      if (!status.ok()) break;
      request->calls.post(calls::kIndexWriteMethod, counters);
      ++counters.round_trips;
      posted.push_back(std::move(request));
    }
    if (posted.empty()) break;
    // After an error, too: a call belongs to its channel until it has ended.
    Status answered = co_await answer(posted.front().get(), meanwhile);
    posted.pop_front();
    if (status.ok()) status = std::move(answered);
  }
  co_return status;
}

reactor::Task<Status> IndexWrites::run(layout::Stamp stamp, const Meanwhile* meanwhile) {
  const bool late = worker_.executor.fresh_now_ns() - ahead_since_ns_ > calls::kAheadOfLocks_ns;
  Status status = co_await send(late, meanwhile);
  if (!status.ok()) co_return status;
  if (rivals_.empty()) co_return Status();
  co_return co_await check_rivals(stamp);
}

Status IndexWrites::take_results(Status of_call, const Some& changes, const txn::CallSet& calls) {
  if (Status status = outcome(std::move(of_call)); !status.ok()) return status;
  reactor::PooledInlinedVector<std::vector<calls::IndexChangeResult>, 1> results;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    auto decoded = calls::decode_index_results(calls.reply(static_cast<layout::ServerId>(i)));
    results.push_back(decoded ? std::move(*decoded) : std::vector<calls::IndexChangeResult>());
  }
  reactor::PooledInlinedVector<std::size_t, 1> taken(results.size());
  for (Change* change : changes) {
    const layout::ServerId server = change->server;
    if (taken[server] == results[server].size()) {
      return Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
    }
    Status status = take_result(*change, results[server][taken[server]++]);
    if (!status.ok()) return status;
  }
  return Status();
}

Status IndexWrites::take_result(Change& change, const calls::IndexChangeResult& result) {
  change.sent = true;
  change.sequence = result.sequence;
  if (!change.checked()) return Status();
  if (result.more_candidates) {
    return Status(ErrorCode::serialization_failure,
                  "too many rows came and went under one key of index \"" + change.index->name + "\"");
  }
  const storage::Index& index = *change.index;
  for (const std::string_view candidate : result.candidates) {
    auto key = layout::primary_key_of(index.shape, candidate);
    if (!key) return Status(ErrorCode::corrupt_data, "an entry of index \"" + index.name + "\" is malformed");
    // This transaction's own version of a row counts, not the one that others see.
    const storage::TableRef& table = change.access->table;
    const Access* own = transaction_.rows().find(*table, *key);
    if (own != nullptr && own->write != WriteKind::none) {
      if (!own->found()) continue;
      const layout::RowView row(table->schema, own->image_row());
      if (layout::index_key(index.shape, row).declared() == change.key.declared()) return duplicate(change);
      continue;
    }
    if (rows_ == nullptr) rows_ = std::make_unique<std::deque<LatestRow>>();
    rivals_.push_back({&change, &rows_->emplace_back(table, std::move(*key))});
  }
  return Status();
}

reactor::Task<Status> IndexWrites::check_rivals(layout::Stamp stamp) {
  Status status = co_await read_latest(&transaction_, rows_.get(), layout::HeaderWord(stamp, false, true));
  if (!status.ok()) co_return status;
  Validation* const validation = transaction_.control().validation();
  for (const Rival& rival : rivals_) {
    if (validation != nullptr) validation->saw_latest(rival.row->lookup);
    if (rival.row->state == LatestRow::State::absent) continue;
    // It is being written, or is newer than the snapshot.
    if (rival.row->state == LatestRow::State::undecided)
      co_return write_conflict(*rival.change->access->table);
    const storage::Index& index = *rival.change->index;
    if (layout::index_key(index.shape, rival.row->row()).declared() == rival.change->key.declared()) {
      co_return duplicate(*rival.change);
    }
  }
  co_return Status();
}

void IndexWrites::confirm() {
  for (const Change& change : changes_) {
    if (change.sequence != 0) worker_.verdicts.add(change.server, change.verdict());
  }
}

std::vector<std::pair<layout::ServerId, calls::IndexVerdict>> IndexWrites::verdicts() const {
  std::vector<std::pair<layout::ServerId, calls::IndexVerdict>> verdicts;
  verdicts.reserve(changes_.size());
  for (const Change& change : changes_) {
    if (change.sequence != 0) verdicts.emplace_back(change.server, change.verdict());
  }
  return verdicts;
}

}  // namespace namdb::protocol

#include "compute/index/find_each.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "compute/index/index_scan.h"

namespace namdb::protocol {
namespace {

// Each has buffers for its entries.
constexpr std::size_t kRangesAtOnce = 64;
// Records that are requested before others have their turn.
constexpr std::size_t kRecordsInTurn = 4096;

struct Part {
  Part(StagedTransaction& transaction, storage::TableRef table, storage::IndexRef index,
       txn::IndexRange range, std::vector<txn::RowId>* into)
      : limit(range.limit == 0 ? ~std::uint64_t{0} : range.limit),
        rows(into),
        scan(transaction, std::move(table), std::move(index), std::move(range)) {}
  bool done() const { return scan.ended() || rows->size() >= limit; }

  std::uint64_t limit;
  std::vector<txn::RowId>* rows;
  IndexScan scan;
};

// One step of all that are not done: their next entries, and the records of these.
reactor::Task<Status> step(StagedTransaction* transaction, txn::RowUse use, const std::vector<Part*>* parts) {
  bool waits = false;
  for (Part* const part : *parts) {
    if (part->scan.post_entries()) waits = true;
  }
  if (waits) ++transaction->mutable_counters().round_trips;
  Status status;
  for (Part* const part : *parts) {
    Status finished = co_await part->scan.finish_entries();
    if (status.ok()) status = std::move(finished);
  }
  std::size_t requested = 0;
  for (Part* const part : *parts) {
    if (!status.ok()) break;
    status = part->scan.request_records(use);
    requested += part->scan.requested();
    if (requested < kRecordsInTurn) continue;
    requested = 0;
    co_await transaction->worker().executor.yield();
  }
  if (!status.ok()) co_return status;
  if (Status fetched = co_await transaction->fetch(); !fetched.ok()) co_return fetched;
  for (Part* const part : *parts) {
    part->scan.take_records(part->rows);
    if (part->rows->size() > part->limit) part->rows->resize(part->limit);
  }
  co_return Status();
}

reactor::Task<Status> run(StagedTransaction* transaction, txn::RowUse use, std::deque<Part>* parts) {
  for (Part& part : *parts) {
    Status status = co_await part.scan.begin();
    if (!status.ok()) co_return status;
  }
  while (true) {
    std::vector<Part*> left;
    for (Part& part : *parts) {
      if (!part.done()) left.push_back(&part);
    }
    if (left.empty()) co_return Status();
    Status status = co_await step(transaction, use, &left);
    if (!status.ok()) co_return status;
  }
}

}  // namespace

reactor::Task<Status> find_each(StagedTransaction* transaction, storage::TableRef table,
                                storage::IndexRef index, std::vector<txn::IndexRange> ranges, txn::RowUse use,
                                std::vector<std::vector<txn::RowId>>* rows) {
  const TransactionState::Busy busy(*transaction);
  rows->assign(ranges.size(), {});
  Status status = transaction->check_open();
  for (std::size_t begin = 0; begin < ranges.size() && status.ok(); begin += kRangesAtOnce) {
    std::deque<Part> parts;
    for (std::size_t i = begin; i < std::min(begin + kRangesAtOnce, ranges.size()); ++i) {
      parts.emplace_back(*transaction, table, index, std::move(ranges[i]), &(*rows)[i]);
    }
    status = co_await run(transaction, use, &parts);
  }
  if (!status.ok()) co_return status;
  // The transaction's own rows among them, which came without entries.
  co_return co_await transaction->fetch();
}

}  // namespace namdb::protocol

#include "compute/index/index_janitor.h"

#include "common/calls/index_calls.h"
#include "compute/cluster/catalog_cache.h"
#include "compute/index/latest_rows.h"
#include "compute/txn/lookup_runner.h"

namespace namdb::protocol {

using calls::IndexVerdict;

namespace {

constexpr std::uint32_t kDoubtsAtOnce = 256;

struct Look {
  const calls::IndexDoubt* doubt;
  storage::IndexRef index;
  const LatestRow* row;
};

IndexVerdict::Kind verdict_of(const Look& look) {
  switch (look.row->state) {
    case LatestRow::State::undecided:
      return IndexVerdict::Kind::open;
    case LatestRow::State::absent:
      return IndexVerdict::Kind::dead;
    case LatestRow::State::present:
      break;
  }
  return layout::index_key(look.index->shape, look.row->row()).bytes == look.doubt->key
             ? IndexVerdict::Kind::live
             : IndexVerdict::Kind::dead;
}

}  // namespace

reactor::Task<Result<bool>> settle_doubts(TransactionState* transaction, layout::ServerId server) {
  txn::WorkerState& worker = transaction->worker();
  const std::uint32_t limit = kDoubtsAtOnce;
  std::string request(reinterpret_cast<const char*>(&limit), sizeof limit);
  // Before the snapshot, so that the version of a record that it shows is newer than the doubt.
  const auto taken =
      co_await worker.cluster.call_bytes(server, calls::kIndexDoubtsMethod, std::move(request));
  if (!taken.ok()) co_return taken.status();
  const auto doubts = calls::decode_index_doubts(*taken);
  if (!doubts) co_return Status(ErrorCode::protocol_violation, "a list of doubts that cannot be read");
  if (doubts->empty()) co_return false;
  Status status = co_await begin_reading(transaction);
  if (!status.ok()) co_return status;

  std::deque<LatestRow> rows;
  std::vector<Look> looks;
  const std::vector<storage::TableRef> known = worker.catalog.all();
  for (const calls::IndexDoubt& doubt : *doubts) {
    // An index that is not in the catalog is being dropped, or was just begun: its doubts can wait.
    for (const storage::TableRef& table : known) {
      for (const storage::IndexRef& index : table->indexes) {
        if (index->id != doubt.index) continue;
        auto key = layout::primary_key_of(index->shape, doubt.key);
        if (key && worker.cluster.lacks(table->server_of(table->hash_of(*key)))) continue;  // later
        if (key) looks.push_back({&doubt, index, &rows.emplace_back(table, std::move(*key))});
      }
    }
  }
  status = co_await read_latest(transaction, &rows, layout::HeaderWord());
  if (!status.ok()) co_return status;
  std::string verdicts;
  for (const Look& look : looks) {
    append(verdicts,
           IndexVerdict{verdict_of(look), look.doubt->index, look.doubt->sequence, look.doubt->key});
  }
  if (verdicts.empty()) co_return false;
  const auto settled =
      co_await worker.cluster.call_bytes(server, calls::kIndexSettleMethod, std::move(verdicts));
  if (!settled.ok()) co_return settled.status();
  co_return doubts->size() == kDoubtsAtOnce;
}

}  // namespace namdb::protocol

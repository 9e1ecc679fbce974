#include "compute/index/index_fill.h"

#include "common/calls/index_calls.h"
#include "common/layout/index_page.h"
#include "compute/cluster/call_set.h"
#include "compute/index/latest_rows.h"

namespace namdb::protocol {

using calls::IndexChange;

reactor::Task<Status> load_entries(txn::WorkerState* worker, storage::IndexRef index,
                                   const std::vector<layout::Row>* rows, std::vector<IndexRivals>* rivals,
                                   fabric::OperationCounters* counters) {
  txn::CallSet calls(worker->cluster);
  std::vector<layout::IndexKey> keys;
  std::vector<layout::ServerId> servers;
  for (const layout::Row& row : *rows) {
    const layout::IndexKey& key = keys.emplace_back(layout::index_key(index->shape, row.view()));
    if (key.bytes.size() > layout::kMaxIndexPage_bytes) {
      co_return Status(ErrorCode::limit_exceeded, "a key of index \"" + index->name + "\" is too long");
    }
    const bool checked = index->unique && !key.has_null;
    servers.push_back(index->parts[index->part_of(key.bytes)].server);
    append(calls.request(servers.back()),
           IndexChange{IndexChange::Kind::load, index->id,
                       static_cast<std::uint16_t>(checked ? key.declared_bytes : 0), key.bytes});
  }
  Status status = co_await calls.run(calls::kIndexWriteMethod, *counters);
  if (!status.ok() || !index->unique) co_return status;
  std::vector<std::vector<calls::IndexChangeResult>> results(worker->cluster.server_count());
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto decoded = calls::decode_index_results(calls.reply(static_cast<layout::ServerId>(i)));
    if (decoded) results[i] = std::move(*decoded);
  }
  std::vector<std::size_t> taken(results.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const layout::ServerId server = servers[i];
    if (taken[server] == results[server].size()) {
      co_return Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
    }
    const calls::IndexChangeResult& result = results[server][taken[server]++];
    for (const std::string_view candidate : result.candidates) {
      auto rival = layout::primary_key_of(index->shape, candidate);
      if (!rival) co_return Status(ErrorCode::corrupt_data, "an entry of an index is malformed");
      const auto own = (*rows)[i].key();
      rivals->push_back({std::string(keys[i].declared()),
                         {own.begin(), own.end()},
                         std::move(*rival),
                         result.more_candidates});
    }
  }
  co_return Status();
}

reactor::Task<Status> settle_rivals(TransactionState* transaction, storage::TableRef table,
                                    storage::IndexRef index, std::vector<IndexRivals>* rivals,
                                    txn::Violation* violation) {
  std::deque<LatestRow> rows;
  for (const IndexRivals& pair : *rivals) {
    rows.emplace_back(table, pair.first);
    rows.emplace_back(table, pair.second);
  }
  Status status = co_await read_latest(transaction, &rows, layout::HeaderWord());
  if (!status.ok()) co_return status;
  const auto has_values = [&](const LatestRow& row, const IndexRivals& pair) {
    return row.state == LatestRow::State::present &&
           layout::index_key(index->shape, row.row()).declared() == pair.declared;
  };
  std::vector<IndexRivals> undecided;
  bool more = false;
  for (std::size_t i = 0; i < rivals->size(); ++i) {
    const LatestRow& first = rows[2 * i];
    const LatestRow& second = rows[2 * i + 1];
    IndexRivals& pair = (*rivals)[i];
    if (has_values(first, pair) && has_values(second, pair)) {
      if (violation != nullptr) *violation = txn::violation_of(table, *index, second.row());
      co_return Status(ErrorCode::duplicate_key, "could not create unique index \"" + index->name + "\"",
                       "two rows have the same values in its columns");
    }
    // A row that is decided and has other values cannot become a rival unseen: its next commit checks for
    // itself.
    const bool first_open = first.state == LatestRow::State::undecided;
    const bool second_open = second.state == LatestRow::State::undecided;
    if ((first_open && (second_open || has_values(second, pair))) ||
        (second_open && has_values(first, pair))) {
      undecided.push_back(std::move(pair));
    } else {
      more = more || pair.more;
    }
  }
  if (more && undecided.empty()) {
    co_return Status(ErrorCode::serialization_failure,
                     "too many rows came and went under one key of index \"" + index->name + "\"");
  }
  *rivals = std::move(undecided);
  co_return Status();
}

}  // namespace namdb::protocol

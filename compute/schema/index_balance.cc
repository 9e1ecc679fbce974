#include "compute/schema/index_balance.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "compute/cluster/catalog_cache.h"
#include "compute/schema/index_split.h"
#include "proto/control.pb.h"

namespace namdb::schema {

using storage::TableRef;

namespace {

constexpr std::uint64_t kMebibyte = 1U << 20;

// The bytes of each index on each memory server, by the index's id. Of very many indexes a memory server
// tells the largest.
using Sizes = std::map<std::uint32_t, std::vector<std::uint64_t>>;

// Another worker rebuilds the index or has just done so, or it was dropped.
bool done_by_others(const Status& error) {
  return error.code() == ErrorCode::portal_not_ready || error.code() == ErrorCode::undefined_object ||
         error.code() == ErrorCode::undefined_table;
}

reactor::Task<Status> read_sizes(txn::Cluster* cluster, Sizes* sizes) {
  const std::size_t servers = cluster->server_count();
  for (std::size_t server = 0; server < servers; ++server) {
    control::StatusReply reply;
    const control::StatusRequest request;
    Status status =
        co_await cluster->call(static_cast<layout::ServerId>(server), control::STATUS, request, &reply);
    if (!status.ok()) co_return status;
    for (const control::IndexUse& use : reply.indexes()) {
      std::vector<std::uint64_t>& bytes = (*sizes)[use.id()];
      bytes.resize(servers);
      bytes[server] = use.page_bytes();
    }
  }
  co_return Status();
}

}  // namespace

bool IndexBalance::is_due(SchemaWorker& worker) const {
  const txn::WorkerState& state = worker.worker_state();
  return options_.least_bytes != 0 && state.cluster.server_count() != 1 && state.cluster.whole().ok() &&
         !worker.stopping() && !running_ && state.executor.now_ns() >= due_ns_;
}

void IndexBalance::run_if_due(std::shared_ptr<SchemaWorker> worker, TreeIndexBuilder& builder,
                              reactor::Gate& gate) {
  if (!is_due(*worker)) return;
  running_ = true;
  reactor::Executor& executor = worker->worker_state().executor;
  executor.spawn(gate, run(std::move(worker), &builder));
}

reactor::Task<void> IndexBalance::run(std::shared_ptr<SchemaWorker> worker, TreeIndexBuilder* builder) {
  const txn::WorkerState& state = worker->worker_state();
  const Status status = co_await rebuild_one(*worker, *builder);
  if (!status.ok() && !done_by_others(status) && !worker->stopping() && !state.cluster.has_lost())
    log_("indexes could not be balanced: " + status.to_string());
  due_ns_ = state.executor.now_ns() + options_.interval_ns;
  running_ = false;
}

reactor::Task<Status> IndexBalance::rebuild_one(SchemaWorker& worker, TreeIndexBuilder& builder) {
  txn::WorkerState& state = worker.worker_state();
  // First: an index that is ready by then has its pages when they are counted.
  control::GetCatalogReply catalog;
  control::GetCatalogRequest request;
  request.set_part(control::CATALOG_VERSION);
  Status status = co_await state.cluster.call(0, control::GET_CATALOG, request, &catalog);
  if (!status.ok()) co_return status;
  const std::uint64_t version = catalog.version();
  Sizes sizes;
  status = co_await read_sizes(&state.cluster, &sizes);
  if (!status.ok()) co_return status;
  status = co_await state.catalog.refresh();
  if (!status.ok()) co_return status;
  std::optional<control::IndexDescriptor> index;
  TableRef table;
  for (const auto& [id, each] : sizes) {
    const auto failed = failed_bytes_.find(id);
    const std::uint64_t failed_bytes = failed == failed_bytes_.end() ? 0 : failed->second;
    if (!out_of_balance(each, failed_bytes, options_.least_bytes)) continue;
    table = state.catalog.table_of_index(id);
    if (table == nullptr) continue;
    request.set_part(control::CATALOG_TABLE);
    request.set_table(table->id);
    status = co_await state.cluster.call(0, control::GET_CATALOG, request, &catalog);
    if (!status.ok()) co_return status;
    const auto found =
        std::ranges::find(catalog.indexes(), id, [](const auto& described) { return described.id(); });
    if (found == catalog.indexes().end() || found->state() != control::INDEX_READY ||
        found->ready_version() > version || found->replaced_version() != 0)
      continue;
    const std::uint64_t former_bytes = std::max(found->balanced_bytes(), failed_bytes);
    if (!out_of_balance(each, former_bytes, options_.least_bytes)) continue;
    index = *found;
    break;
  }
  if (!index) co_return Status();
  const std::vector<std::uint64_t>& bytes = sizes[index->id()];
  const std::uint64_t sum = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  const std::uint64_t largest = *std::ranges::max_element(bytes);
  control::IndexDescriptor wanted;
  wanted.set_replaces(index->id());
  wanted.set_balanced_bytes(sum);
  status = co_await builder.build(table, &wanted, nullptr);
  if (!status.ok()) {
    failed_bytes_[index->id()] = sum;
    co_return status;
  }
  log_("index \"" + index->name() + "\" was rebuilt: of its " + std::to_string(sum / kMebibyte) +
       " MiB one of " + std::to_string(bytes.size()) + " memory servers had " +
       std::to_string(largest / kMebibyte));
  co_return Status();
}

}  // namespace namdb::schema

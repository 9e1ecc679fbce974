// Rebuilding indexes whose parts are uneven.
//
// Each compute server that is told to looks now and then at what the memory servers have of the indexes. The
// catalog lets one of them rebuild an index at a time; and who comes later asks for an index that has been
// replaced, and is refused. The catalog also remembers how large it was, so nobody does so again soon,
// whoever starts anew.
#include <algorithm>
#include <map>
#include <numeric>

#include "compute/schema/index_split.h"
#include "compute/worker/connection.h"
#include "proto/control.pb.h"

namespace namdb::compute {

using storage::TableRef;

namespace {

constexpr std::uint64_t kRunning_ns = ~std::uint64_t{0};
constexpr std::uint64_t kMebibyte = 1U << 20;

// What each memory server has of each index, by id.
using Sizes = std::map<std::uint32_t, std::vector<std::uint64_t>>;

// Or have just done it; or the index was dropped.
bool others_do_it(const Status& error) {
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

void Worker::balance_when_due(const std::shared_ptr<Connection>& connection) {
  const bool wanted = options_.balance_bytes != 0 && connection->cluster.server_count() > 1;
  if (!wanted || stopping_ || executor_.now_ns() < balance_due_ns_) return;
  balance_due_ns_ = kRunning_ns;
  executor_.spawn(gate_, balance_indexes(connection));
}

reactor::Task<void> Worker::balance_indexes(std::shared_ptr<Connection> connection) {
  const Status status = co_await balance_one(connection);
  if (!status.ok() && !others_do_it(status) && !stopping_ && !connection->cluster.failed())
    log_("indexes could not be balanced: " + status.to_string());
  balance_due_ns_ = executor_.now_ns() + options_.balance_interval_ns;
}

reactor::Task<Status> Worker::balance_one(std::shared_ptr<Connection> connection) {
  // First: an index that is ready by then has its pages when they are counted.
  control::GetCatalogReply catalog;
  const control::GetCatalogRequest request;
  Status status = co_await connection->cluster.call(0, control::GET_CATALOG, request, &catalog);
  Sizes sizes;
  if (status.ok()) status = co_await read_sizes(&connection->cluster, &sizes);
  if (status.ok()) status = co_await connection->catalog.refresh();
  if (!status.ok()) co_return status;
  const control::IndexDescriptor* index = nullptr;
  for (const control::IndexDescriptor& each : catalog.indexes()) {
    if (each.state() != control::INDEX_READY || each.replaced_version() != 0) continue;
    const auto tried = unbalanced_bytes_.find(each.id());
    const std::uint64_t tried_bytes = tried == unbalanced_bytes_.end() ? 0 : tried->second;
    const std::uint64_t former_bytes = std::max(each.balanced_bytes(), tried_bytes);
    if (storage::out_of_balance(sizes[each.id()], former_bytes, options_.balance_bytes)) index = &each;
  }
  if (index == nullptr) co_return Status();
  const TableRef table = connection->catalog.find_id(index->table());
  if (table == nullptr) co_return Status();
  const std::vector<std::uint64_t>& bytes = sizes[index->id()];
  const std::uint64_t sum = std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
  const std::uint64_t largest = *std::ranges::max_element(bytes);
  control::IndexDescriptor wanted;
  wanted.set_replaces(index->id());
  wanted.set_balanced_bytes(sum);
  status = co_await begin_index(connection, table, &wanted);
  if (!status.ok()) {
    unbalanced_bytes_[index->id()] = sum;
    co_return status;
  }
  log_("index \"" + index->name() + "\" was rebuilt: of its " + std::to_string(sum / kMebibyte) +
       " MiB one of " + std::to_string(bytes.size()) + " memory servers had " +
       std::to_string(largest / kMebibyte));
  co_return Status();
}

}  // namespace namdb::compute

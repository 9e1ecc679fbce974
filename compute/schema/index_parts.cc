#include "compute/schema/index_parts.h"

#include "proto/control.pb.h"

namespace namdb::schema {

reactor::Task<Status> prepare_parts(txn::Cluster& cluster, control::IndexDescriptor* index,
                                    std::vector<std::string> splits) {
  // The first parts of small indexes are not all on the same server.
  const auto servers = static_cast<std::uint32_t>(cluster.server_count());
  for (std::uint32_t i = 0; i <= splits.size(); ++i) {
    control::IndexPart& part = *index->add_parts();
    part.set_server((index->id() + i) % servers);
    if (i > 0) part.set_low(splits[i - 1]);
  }
  for (std::size_t i = 0; i <= splits.size(); ++i) {
    const control::IndexPart& part = index->parts(static_cast<int>(i));
    control::PrepareIndexRequest prepare;
    *prepare.mutable_index() = *index;
    prepare.set_low(part.low());
    if (i < splits.size()) prepare.set_high(splits[i]);
    Status status = co_await cluster.call(static_cast<layout::ServerId>(part.server()),
                                          control::PREPARE_INDEX, prepare, nullptr);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> finish_parts(txn::Cluster& cluster, const control::IndexDescriptor* index) {
  for (const control::IndexPart& part : index->parts()) {
    control::BuiltIndexRequest built;
    built.set_index(index->id());
    Status status = co_await cluster.call(static_cast<layout::ServerId>(part.server()), control::BUILT_INDEX,
                                          built, nullptr);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

reactor::Task<Status> discard_part(txn::Cluster& cluster, layout::ServerId server, std::uint32_t index) {
  control::DiscardIndexRequest discard;
  discard.set_index(index);
  Status status = co_await cluster.call(server, control::DISCARD_INDEX, discard, nullptr);
  // Not every server has a part, and another worker may have been faster.
  const bool gone = !status.ok() && status.code() == ErrorCode::undefined_object;
  co_return gone ? Status() : std::move(status);
}

reactor::Task<Status> discard_parts(txn::Cluster& cluster, std::uint32_t index) {
  for (std::size_t server = 0; server < cluster.server_count(); ++server) {
    Status status = co_await discard_part(cluster, static_cast<layout::ServerId>(server), index);
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

storage::IndexRef find_index(const storage::Table& table, std::uint32_t id) {
  for (const storage::IndexRef& index : table.indexes) {
    if (index->id == id) return index;
  }
  return nullptr;
}

}  // namespace namdb::schema

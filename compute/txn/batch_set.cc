#include "compute/txn/batch_set.h"

#include <algorithm>
#include <cstring>

#include "common/layout/stage_calls.h"
#include "compute/txn/call_set.h"

namespace namdb::txn {
namespace {

// Of one message; what has more goes on in the next.
constexpr std::size_t kMostOfCall_bytes = fabric::kMaxCall_bytes / 2;

layout::StageOperation stage_operation(const fabric::Operation& operation) {
  layout::StageOperation out{.length_bytes = operation.length_bytes,
                             .offset = operation.remote_offset,
                             .bytes = {},
                             .expected = operation.expected,
                             .desired = operation.operand};
  switch (operation.kind) {
    case fabric::OperationKind::read:
      out.kind = layout::StageOperation::Kind::read;
      break;
    case fabric::OperationKind::write:
      out.kind = layout::StageOperation::Kind::write;
      out.bytes = {reinterpret_cast<const char*>(operation.local), operation.length_bytes};
      break;
    case fabric::OperationKind::compare_and_swap:
      out.kind = layout::StageOperation::Kind::compare_and_swap;
      break;
    case fabric::OperationKind::fetch_add:
      NAMDB_CHECK(!"no stage has a FETCH-ADD");
  }
  return out;
}

}  // namespace

bool BatchSet::empty() const {
  return std::all_of(batches_.begin(), batches_.end(),
                     [](const fabric::Batch& batch) { return batch.empty(); });
}

bool BatchSet::only(layout::ServerId server) const {
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (i != server && !batches_[i].empty()) return false;
  }
  return true;
}

reactor::Task<Status> BatchSet::run(fabric::OperationCounters& counters, layout::Stage stage) {
  const bool two_sided =
      cluster_.stages().two_sided(stage) && std::ranges::none_of(batches_, [](const fabric::Batch& batch) {
        return std::ranges::any_of(batch.operations(), [](const fabric::Operation& each) {
          return each.length_bytes > kMostOfCall_bytes;
        });
      });
  if (two_sided) co_return co_await run_by_calls(counters);
  co_return co_await run(counters);
}

reactor::Task<Status> BatchSet::run_by_calls(fabric::OperationCounters& counters) {
  CallSet calls(cluster_);
  reactor::PooledVector<std::size_t> done(batches_.size());  // operations of each server
  Status status;
  for (bool more = true; more && status.ok();) {
    reactor::PooledVector<std::size_t> asked = done;
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      std::string& request = calls.request(static_cast<layout::ServerId>(i));
      std::size_t reply_bytes = 0;
      for (; asked[i] < batches_[i].operations().size(); ++asked[i]) {
        const layout::StageOperation operation = stage_operation(batches_[i].operations()[asked[i]]);
        reply_bytes += operation.reply_bytes();
        const bool fits = request.size() + operation.request_bytes() <= fabric::kMaxCall_bytes &&
                          reply_bytes <= fabric::kMaxCall_bytes;
        if (!fits) break;
        append(request, operation);
      }
    }
    status = co_await calls.run(layout::kStageMethod, counters);
    more = false;
    for (std::size_t i = 0; i < batches_.size() && status.ok(); ++i) {
      std::string_view reply = calls.reply(static_cast<layout::ServerId>(i));
      for (; done[i] < asked[i]; ++done[i]) {
        const fabric::Operation& operation = batches_[i].operations()[done[i]];
        if (operation.kind == fabric::OperationKind::write) continue;
        if (reply.size() < operation.length_bytes) {
          status = Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
          break;
        }
        std::memcpy(operation.local, reply.data(), operation.length_bytes);
        reply.remove_prefix(operation.length_bytes);
      }
      more = more || done[i] < batches_[i].operations().size();
    }
  }
  for (fabric::Batch& batch : batches_) batch.clear();
  co_return status;
}

reactor::Task<Status> BatchSet::run(fabric::OperationCounters& counters) {
  bool posted = false;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (batches_[i].empty()) continue;
    counters.count(batches_[i].operations());
    cluster_.channel(static_cast<layout::ServerId>(i)).post(batches_[i]);
    posted = true;
  }
  if (posted) ++counters.round_trips;
  Status first;
  for (fabric::Batch& batch : batches_) {
    if (batch.empty()) continue;
    // Every batch is awaited, failed or not: its buffers belong to the channel until then.
    const Status& status = co_await batch.done();
    if (!status.ok() && first.ok()) first = status;
    batch.clear();
  }
  co_return first;
}

}  // namespace namdb::txn

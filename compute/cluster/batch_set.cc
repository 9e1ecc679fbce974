#include "compute/cluster/batch_set.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "common/calls/batch_calls.h"
#include "common/layout/words.h"
#include "compute/cluster/call_set.h"
#include "compute/cluster/stage_times.h"

namespace namdb::txn {
namespace {

// Of one message; a batch with more operations is continued in the next.
constexpr std::size_t kMostOfCall_bytes = fabric::kMaxCall_bytes / 2;
static_assert(kMostOfCall_bytes <= calls::BatchOperation::kMost_bytes);

calls::BatchOperation batch_operation(const fabric::Operation& operation) {
  calls::BatchOperation out{.length_bytes = operation.length_bytes,
                            .offset = operation.remote_offset,
                            .bytes = {},
                            .expected = operation.expected,
                            .desired = operation.operand};
  const bool changes_nothing = operation.expected == operation.operand;
  switch (operation.kind) {
    case fabric::OperationKind::read:
      out.kind = calls::BatchOperation::Kind::read;
      break;
    case fabric::OperationKind::write:
      out.kind = calls::BatchOperation::Kind::write;
      out.bytes = {reinterpret_cast<const char*>(operation.local), operation.length_bytes};
      break;
    case fabric::OperationKind::compare_and_swap:
      out.kind = changes_nothing ? calls::BatchOperation::Kind::fenced_read
                                 : calls::BatchOperation::Kind::compare_and_swap;
      break;
    case fabric::OperationKind::fetch_add:
      NAMDB_CHECK(!"no stage has a FETCH-ADD");
  }
  return out;
}

bool too_long(const fabric::Operation& operation) {
  return operation.length_bytes > kMostOfCall_bytes;
}

// The reply of a lock: `from` gets the header word from which it was taken, or 0.
void note_lock(const calls::BatchOperation& operation, std::byte* bytes, std::byte* from) {
  const layout::HeaderWord found(layout::load_word(bytes));
  const bool taken = found.moved();
  layout::store_word(from, taken ? layout::HeaderWord(found.stamp(), found.deleted()).value() : 0);
  if (taken) layout::store_word(bytes, operation.desired);
}

bool swaps(const fabric::Operation& operation) {
  return operation.kind != fabric::OperationKind::read && operation.kind != fabric::OperationKind::write;
}

}  // namespace

bool BatchSet::empty() const {
  return named_.empty() && std::all_of(batches_.begin(), batches_.end(),
                                       [](const fabric::Batch& batch) { return batch.empty(); });
}

void BatchSet::clear() {
  NAMDB_CHECK(!posted_);
  for (fabric::Batch& batch : batches_) batch.clear();
  named_.clear();
}

void BatchSet::clear_lacking() {
  NAMDB_CHECK(!posted_);
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (cluster_.lacks(static_cast<layout::ServerId>(i))) batches_[i].clear();
  }
}

bool BatchSet::only(layout::ServerId server) const {
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (i != server && !batches_[i].empty()) return false;
  }
  return std::ranges::all_of(named_, [server](const Named& each) { return each.server == server; });
}

std::optional<layout::ServerId> BatchSet::only_server() const {
  const auto used = std::ranges::find_if(batches_, [](const fabric::Batch& each) { return !each.empty(); });
  if (used == batches_.end()) return std::nullopt;
  const auto server = static_cast<layout::ServerId>(used - batches_.begin());
  return only(server) ? std::optional(server) : std::nullopt;
}

reactor::Task<Status> BatchSet::run(fabric::OperationCounters& counters, layout::Stage stage) {
  return cluster_.stage_times() == nullptr ? run_in_background(counters, stage) : run_timed(counters, stage);
}

reactor::Task<Status> BatchSet::run_timed(fabric::OperationCounters& counters, layout::Stage stage) {
  const StageTimer timer(cluster_.stage_times(), cluster_.executor(), counters);
  // READs that are posted with lookups by memory servers are awaited together with them.
  const bool finds = finds_ != nullptr && !finds_->empty();
  Status status = co_await run_in_background(counters, stage);
  timer.end(finds ? layout::Stage::find : stage);
  co_return status;
}

reactor::Task<Status> BatchSet::run_in_background(fabric::OperationCounters& counters, layout::Stage stage) {
  const auto any = [this](const auto& is) {
    return std::ranges::any_of(
        batches_, [&is](const fabric::Batch& batch) { return std::ranges::any_of(batch.operations(), is); });
  };
  const bool two_sided =
      cluster_.stages().two_sided(stage) && (!any(too_long) || any(swaps) || !named_.empty());
  if (finds_ != nullptr && !finds_->empty()) return run_with_finds(counters, stage);
  NAMDB_CHECK(two_sided || named_.empty());
  return two_sided ? run_by_calls(counters) : run(counters);
}

reactor::Task<Status> BatchSet::run_with_finds(fabric::OperationCounters& counters, layout::Stage stage) {
  std::unique_ptr<FindSet> finds = std::move(finds_);
  finds->post(counters);
  if (empty()) ++counters.round_trips;
  Status status = co_await run_in_background(counters, stage);
  const Status found = co_await finds->finish(counters);
  finds_ = std::move(finds);
  co_return status.ok() ? found : status;
}

bool BatchSet::only_writes() const {
  const bool installs = std::ranges::all_of(
      named_, [](const Named& each) { return each.operation.kind == calls::BatchOperation::Kind::install; });
  return installs && std::ranges::all_of(batches_, [](const fabric::Batch& batch) {
           return std::ranges::all_of(batch.operations(), [](const fabric::Operation& each) {
             return each.kind == fabric::OperationKind::write;
           });
         });
}

std::size_t BatchSet::written_bytes() const {
  std::size_t bytes = 0;
  for (const fabric::Batch& batch : batches_) {
    for (const fabric::Operation& operation : batch.operations()) bytes += operation.length_bytes;
  }
  return bytes;
}

void BatchSet::copy_sources() {
  if (written_bytes() == 0) return;
  sources_ = fabric::LocalBuffer(cluster_.pool(), written_bytes());
  std::byte* place = sources_.data();
  for (fabric::Batch& batch : batches_) {
    reactor::PooledVector<fabric::Operation> operations(batch.operations().begin(), batch.operations().end());
    for (fabric::Operation& operation : operations) {
      NAMDB_CHECK(operation.kind == fabric::OperationKind::write);
      std::memcpy(place, operation.local, operation.length_bytes);
      operation.local = std::exchange(place, place + operation.length_bytes);
    }
    batch.assign(operations);
  }
}

void BatchSet::count(fabric::OperationCounters& counters) const {
  for (const fabric::Batch& batch : batches_) counters.count(batch.operations());
}

void BatchSet::post(fabric::OperationCounters& counters) {
  const bool together = cluster_.optimisations().doorbell_batching;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (batches_[i].empty()) continue;
    fabric::Channel& channel = cluster_.channel(static_cast<layout::ServerId>(i));
    if (together) [[likely]] {
      counters.count(batches_[i].operations());
      channel.post(batches_[i]);
      continue;
    }
    for (const fabric::Operation& operation : batches_[i].operations()) {
      fabric::Batch& single = singles_.emplace_back();
      single.assign({&operation, 1});
      counters.count(single.operations());
      channel.post(single);
    }
    batches_[i].clear();
  }
  posted_ = true;
  complete_at_once_ = together && std::ranges::none_of(batches_, &fabric::Batch::pending);
}

reactor::PooledVector<BatchSet::Asked> BatchSet::operations_of_call(layout::ServerId server) const {
  reactor::PooledVector<Asked> asked;
  const std::span<const fabric::Operation> operations = batches_[server].operations();
  auto named = named_.begin();
  for (std::size_t i = 0;; ++i) {
    for (; named != named_.end(); ++named) {
      if (named->server != server) continue;
      if (named->behind > i) break;
      asked.push_back({named->operation, named->reply, named->word});
    }
    if (i == operations.size()) return asked;
    const bool replies = operations[i].kind != fabric::OperationKind::write;
    for (std::uint32_t begin = 0; begin < operations[i].length_bytes; begin += kMostOfCall_bytes) {
      fabric::Operation piece = operations[i];
      piece.remote_offset += begin;
      piece.local += begin;
      piece.length_bytes = std::min<std::uint32_t>(operations[i].length_bytes - begin, kMostOfCall_bytes);
      asked.push_back({batch_operation(piece), replies ? piece.local : nullptr, nullptr});
    }
  }
}

reactor::Task<Status> BatchSet::run_by_calls(fabric::OperationCounters& counters) {
  CallSet calls(cluster_);
  reactor::PooledVector<reactor::PooledVector<Asked>> operations(batches_.size());
  for (std::size_t i = 0; i < batches_.size(); ++i)
    operations[i] = operations_of_call(static_cast<layout::ServerId>(i));
  reactor::PooledVector<std::size_t> done(batches_.size());  // operations of each server
  Status status;
  for (bool more = true; more;) {
    reactor::PooledVector<std::size_t> asked = done;
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      std::string& request = calls.request(static_cast<layout::ServerId>(i));
      std::size_t bound_bytes = 0;  // of the reply, and of what is installed
      std::uint64_t lock_word = 0;  // in the request
      for (; asked[i] < operations[i].size(); ++asked[i]) {
        calls::BatchOperation operation = operations[i][asked[i]].operation;
        if (operation.kind == calls::BatchOperation::Kind::lock &&
            std::exchange(lock_word, operation.desired) == operation.desired)
          operation.kind = calls::BatchOperation::Kind::lock_another;
        const bool installs = operation.kind == calls::BatchOperation::Kind::install;
        bound_bytes += installs ? operation.length_bytes : operation.reply_bytes();
        const bool fits = request.size() + operation.request_bytes() <= fabric::kMaxCall_bytes &&
                          bound_bytes <= fabric::kMaxCall_bytes;
        if (!fits) break;
        append(request, operation);
      }
    }
    Status ran = co_await calls.run(calls::kBatchCallMethod, counters);
    const bool failed = !ran.ok();
    if (failed) calls.give_up();
    if (status.ok()) status = std::move(ran);
    more = false;
    for (std::size_t i = 0; i < batches_.size(); ++i) {
      std::string_view reply = calls.reply(static_cast<layout::ServerId>(i));
      for (; done[i] < asked[i]; ++done[i]) {
        const Asked& each = operations[i][done[i]];
        if (each.reply == nullptr) continue;
        if (reply.size() < each.operation.reply_bytes()) break;
        std::memcpy(each.reply, reply.data(), each.operation.length_bytes);
        reply.remove_prefix(each.operation.length_bytes);
        if (each.word != nullptr) note_lock(each.operation, each.reply, each.word);
      }
      if (done[i] < asked[i] || calls.failed(static_cast<layout::ServerId>(i))) {
        // After a failure others have answered all the same, and are asked for the rest.
        operations[i].clear();
        done[i] = 0;
        if (!failed && status.ok())
          status = Status(ErrorCode::protocol_violation, "memory server sent a reply that cannot be read");
      }
      more = more || done[i] < operations[i].size();
    }
  }
  clear();
  co_return status;
}

reactor::Task<Status> BatchSet::run(fabric::OperationCounters& counters) {
  if (!posted_) {
    if (!cluster_.optimisations().outstanding_requests) [[unlikely]]
      co_return co_await run_one_by_one(counters);
    if (empty()) co_return Status();
    post(counters);
    ++counters.round_trips;
  }
  posted_ = false;
  Status first;
  for (fabric::Batch& batch : batches_) {
    if (batch.empty()) continue;
    // Every batch is awaited, failed or not: its buffers belong to the channel until then.
    const Status& status = co_await batch.done();
    if (!status.ok() && first.ok())
      first = cluster_.named(static_cast<layout::ServerId>(&batch - batches_.data()), status);
    batch.clear();
  }
  for (fabric::Batch& batch : singles_) {
    const Status& status = co_await batch.done();
    if (!status.ok() && first.ok()) first = status;
  }
  singles_.clear();
  co_return first;
}

reactor::Task<Status> BatchSet::run_one_by_one(fabric::OperationCounters& counters) {
  Status status;
  fabric::Batch single;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    for (const fabric::Operation& operation : batches_[i].operations()) {
      if (!status.ok()) break;
      single.assign({&operation, 1});
      counters.count(single.operations());
      ++counters.round_trips;
      const auto server = static_cast<layout::ServerId>(i);
      cluster_.channel(server).post(single);
      status = co_await single.done();
      if (!status.ok()) status = cluster_.named(server, status);
    }
    batches_[i].clear();
  }
  co_return status;
}

}  // namespace namdb::txn

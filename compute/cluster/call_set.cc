#include "compute/cluster/call_set.h"

#include <algorithm>

namespace namdb::txn {

bool CallSet::empty() const {
  return std::ranges::all_of(calls_, [](const fabric::Call& call) { return call.request.empty(); });
}

bool CallSet::pending() const {
  return std::ranges::any_of(calls_, &fabric::Call::pending);
}

void CallSet::post(std::uint16_t method, fabric::OperationCounters& counters) {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    fabric::Call& call = calls_[i];
    call.reply.clear();
    if (call.request.empty()) continue;
    call.method = method;
    ++counters.calls;
    counters.call_bytes += call.request.size();
    cluster_.channel(static_cast<layout::ServerId>(i)).post(call);
  }
}

reactor::Task<Status> CallSet::run(std::uint16_t method, fabric::OperationCounters& counters) {
  if (empty()) co_return Status();
  post(method, counters);
  ++counters.round_trips;
  co_return co_await finish(counters);
}

void CallSet::give_up() {
  for (const auto& [server, status] : failed_) cluster_.channel(server).give_up(status);
}

bool CallSet::failed(layout::ServerId server) const {
  return std::ranges::any_of(failed_, [server](const auto& each) { return each.first == server; });
}

reactor::Task<Status> CallSet::finish(fabric::OperationCounters& counters) {
  Status first;
  failed_.clear();
  for (fabric::Call& call : calls_) {
    if (call.request.empty()) continue;
    // Every call is awaited, failed or not: it belongs to the channel until then.
    const Status& status = co_await call.done();
    if (!status.ok()) {
      const auto server = static_cast<layout::ServerId>(&call - calls_.data());
      if (first.ok()) first = cluster_.named(server, status);
      failed_.emplace_back(server, status);
    }
    counters.call_bytes += call.reply.size();
    call.request.clear();
  }
  co_return first;
}

}  // namespace namdb::txn

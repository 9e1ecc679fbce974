#include "common/placement/ask.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace namdb::placement {
namespace {

constexpr std::uint64_t kFirstLook_ns = 20 * kMicrosecond_ns;
constexpr std::uint64_t kLongestLook_ns = 10 * kMillisecond_ns;

}  // namespace

reactor::Task<Status> call_in_time(reactor::Executor* executor, fabric::Channel* channel, fabric::Call* call,
                                   std::uint64_t patience_ns) {
  const std::uint64_t deadline_ns = executor->now_ns() + patience_ns;
  channel->post(*call);
  std::uint64_t pause_ns = kFirstLook_ns;
  while (call->pending() && executor->now_ns() < deadline_ns) {
    co_await executor->sleep_for(pause_ns);
    pause_ns = std::min(2 * pause_ns, kLongestLook_ns);
  }
  if (!call->pending()) co_return call->status();
  const Status late(ErrorCode::connection_failure,
                    "it has not answered within " + std::to_string(patience_ns / kMillisecond_ns) + " ms");
  channel->give_up(late);  // completes the call
  co_await call->done();
  co_return late;
}

reactor::Task<Result<std::string>> call_once(reactor::Executor* executor, fabric::ClientFabric* fabric,
                                             std::string address, std::string hello, std::uint16_t method,
                                             std::string request, std::uint64_t patience_ns) {
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  auto channel = co_await fabric->connect(address, std::move(hello), nullptr);
  if (!channel.ok()) co_return channel.status();
  const Status status = co_await call_in_time(executor, channel->get(), &call, patience_ns);
  if (!status.ok() && status.code() == ErrorCode::connection_failure)
    co_return Status(status.code(), address + ": " + status.message());
  if (!status.ok()) co_return status;
  co_return std::move(call.reply);
}

}  // namespace namdb::placement

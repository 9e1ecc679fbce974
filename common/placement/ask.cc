#include "common/placement/ask.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "common/placement/move_calls.h"

namespace namdb::placement {
namespace {

constexpr std::uint64_t kFirstLook_ns = 20 * kMicrosecond_ns;
constexpr std::uint64_t kLongestLook_ns = 10 * kMillisecond_ns;
// Of one of many hosts that are asked.
constexpr std::uint64_t kShortAnswer_ns = 500 * kMillisecond_ns;

}  // namespace

reactor::Task<Result<std::string>> call_once(reactor::Executor* executor, fabric::ClientFabric* fabric,
                                             std::string address, std::string hello, std::uint16_t method,
                                             std::string request, std::uint64_t patience_ns) {
  fabric::Call call;
  call.method = method;
  call.request = std::move(request);
  auto channel = co_await fabric->connect(address, std::move(hello), nullptr);
  if (!channel.ok()) co_return channel.status();
  const std::uint64_t deadline_ns = executor->now_ns() + patience_ns;
  (*channel)->post(call);
  std::uint64_t pause_ns = kFirstLook_ns;
  while (call.pending() && executor->now_ns() < deadline_ns) {
    co_await executor->sleep_for(pause_ns);
    pause_ns = std::min(2 * pause_ns, kLongestLook_ns);
  }
  const bool late = call.pending();
  channel->reset();  // completes the call
  co_await call.done();
  if (late) {
    co_return Status(
        ErrorCode::connection_failure,
        address + " has not answered within " + std::to_string(patience_ns / kMillisecond_ns) + " ms");
  }
  if (!call.status().ok()) co_return call.status();
  co_return std::move(call.reply);
}

reactor::Task<bool> ask(reactor::Executor* executor, fabric::ClientFabric* fabric, MakeHello make_hello,
                        std::vector<std::string> addresses, Configuration* known) {
  std::set<std::string> asked;
  for (const std::string& address : addresses) {
    if (address.empty() || !asked.insert(address).second) continue;
    std::string hello = make_hello();
    std::string request = known->encode();
    const auto reply = co_await call_once(executor, fabric, address, std::move(hello), kConfigurationMethod,
                                          std::move(request), kShortAnswer_ns);
    if (!reply.ok()) continue;
    const auto told = Configuration::decode(*reply);
    if (told && known->learn(*told)) co_return true;
  }
  co_return false;
}

}  // namespace namdb::placement

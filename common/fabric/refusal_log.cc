#include "common/fabric/refusal_log.h"

#include <algorithm>
#include <utility>

namespace namdb::fabric {
namespace {

constexpr std::uint64_t kInterval_ns = kSecond_ns;
// Further ones are counted together.
constexpr std::size_t kAddresses = 256;
constexpr const char* kOthers = "other addresses";

std::string host_of(const std::string& peer) {
  return peer.substr(0, peer.rfind(':'));
}

}  // namespace

RefusalLog::RefusalLog(reactor::Executor& executor, LogLine log)
    : executor_(executor), log_(std::move(log)), closing_(executor) {}

void RefusalLog::refuse(const std::string& peer, const std::string& reason) {
  std::string host = host_of(peer);
  if (addresses_.size() >= kAddresses && !addresses_.contains(host)) host = kOthers;
  const auto [address, is_first] =
      addresses_.try_emplace(host, Address{executor_.now_ns() + kInterval_ns, 0, {}});
  if (is_first) {
    log_(peer + " is refused: " + reason);
  } else {
    ++address->second.left_out;
    address->second.last_reason = reason;
  }
  if (std::exchange(telling_, true)) return;
  executor_.spawn(gate_, tell_later());
}

void RefusalLog::tell(bool all) {
  const std::uint64_t now_ns = executor_.now_ns();
  for (auto entry = addresses_.begin(); entry != addresses_.end();) {
    Address& address = entry->second;
    if (!all && address.quiet_until_ns > now_ns) {
      ++entry;
    } else if (address.left_out == 0) {
      entry = addresses_.erase(entry);
    } else {
      log_(entry->first + ": " + std::to_string(address.left_out) +
           " more refused, the last one: " + address.last_reason);
      address = {now_ns + kInterval_ns, 0, {}};
      ++entry;
    }
  }
}

reactor::Task<void> RefusalLog::tell_later() {
  while (!addresses_.empty() && !gate_.closing()) {
    std::uint64_t next_ns = ~std::uint64_t{0};
    for (const auto& [host, address] : addresses_) next_ns = std::min(next_ns, address.quiet_until_ns);
    co_await closing_.wait_until(next_ns);
    tell(false);
  }
  tell(gate_.closing());
  telling_ = false;
}

reactor::Task<void> RefusalLog::close() {
  auto all_told = gate_.close();
  closing_.notify_all();
  co_await all_told;
}

}  // namespace namdb::fabric

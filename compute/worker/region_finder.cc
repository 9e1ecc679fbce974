#include "compute/worker/region_finder.h"

#include <string_view>
#include <utility>

#include "common/placement/move_calls.h"
#include "compute/cluster/cluster.h"

namespace namdb::compute {
namespace {

// Between two looks; the shorter one while a primary does not answer.
constexpr std::uint64_t kLook_ns = kSecond_ns;
constexpr std::uint64_t kLookEverywhere_ns = 100 * kMillisecond_ns;

reactor::Task<Result<std::string>> ask_over(std::shared_ptr<txn::Cluster> cluster, layout::ServerId server,
                                            std::string request) {
  co_return co_await cluster->call_bytes(server, placement::kConfigurationMethod, std::move(request));
}

// Among addresses of hosts.
constexpr std::string_view kStore = "the configuration store";

reactor::Task<Result<std::string>> ask_for(
    std::function<reactor::Task<Result<placement::Configuration>>()> ask_store) {
  const auto stored = co_await ask_store();
  if (!stored.ok()) co_return stored.status();
  co_return stored->encode();
}

}  // namespace

RegionFinder::RegionFinder(reactor::Executor& executor, fabric::PatientClient& fabric,
                           std::vector<std::string> configured, Callbacks callbacks)
    : executor_(executor),
      fabric_(fabric),
      configured_(std::move(configured)),
      addresses_(configured_),
      callbacks_(std::move(callbacks)),
      search_(executor, callbacks_.hello, placement::Configuration(configured_)) {
  search_.on_learned([this] { learned(); });
}

void RegionFinder::know_database(std::uint64_t database_id) {
  if (database_id != 0) search_.know_database(database_id);
}

bool RegionFinder::knows_copies() const {
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    if (!search_.places().place(i).copies.empty()) return true;
  }
  return false;
}

std::vector<placement::PlaceSearch::Host> RegionFinder::reached(
    const std::shared_ptr<txn::Cluster>& living) const {
  std::vector<placement::PlaceSearch::Host> hosts;
  for (std::size_t i = 0; living != nullptr && i < addresses_.size(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (living->lacks(server)) continue;
    hosts.push_back({living->address(server), [living, server](std::string request) {
                       return ask_over(living, server, std::move(request));
                     }});
  }
  return hosts;
}

void RegionFinder::add_known(std::vector<placement::PlaceSearch::Host>& hosts) const {
  for (const std::string& address : addresses_) hosts.push_back({address, {}});
  for (const std::string& address : configured_) hosts.push_back({address, {}});
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    for (const std::string& address : search_.places().place(i).copies) hosts.push_back({address, {}});
  }
}

reactor::Task<bool> RegionFinder::find(std::shared_ptr<txn::Cluster> living) {
  std::vector<placement::PlaceSearch::Host> hosts = reached(living);
  add_known(hosts);
  if (callbacks_.ask_store) {
    hosts.push_back({std::string(kStore),
                     [this](const std::string& /*known*/) { return ask_for(callbacks_.ask_store); }});
  }
  return search_.ask(&fabric_, std::move(hosts));
}

void RegionFinder::keep_up(std::shared_ptr<txn::Cluster> living, bool everywhere, reactor::Gate& gate) {
  if (looking_) return;
  const bool lost = everywhere;
  // A host that hangs may have lost its region.
  everywhere = everywhere || search_.lacks_answers();
  const std::uint64_t pause_ns = everywhere ? kLookEverywhere_ns : kLook_ns;
  if (looked_ns_ != 0 && executor_.now_ns() < looked_ns_ + pause_ns) return;
  looking_ = true;
  executor_.spawn(gate, look(std::move(living), everywhere, lost));
}

reactor::Task<void> RegionFinder::look(std::shared_ptr<txn::Cluster> living, bool everywhere, bool lost) {
  if (lost) {
    static_cast<void>(co_await find(living));
  } else {
    std::vector<placement::PlaceSearch::Host> hosts = reached(living);
    if (everywhere) add_known(hosts);
    static_cast<void>(co_await search_.ask(&fabric_, std::move(hosts)));
  }
  looked_ns_ = executor_.now_ns();
  looking_ = false;
}

bool RegionFinder::is_old(const txn::Cluster& cluster, layout::ServerId server) const {
  return !cluster.lacks(server) && cluster.address(server) != addresses_[server];
}

bool RegionFinder::reaches_old(const txn::Cluster& cluster) const {
  for (std::size_t server = 0; server < addresses_.size(); ++server) {
    if (is_old(cluster, static_cast<layout::ServerId>(server))) return true;
  }
  return false;
}

bool RegionFinder::leave_old(txn::Cluster& cluster) const {
  bool left = false;
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const auto server = static_cast<layout::ServerId>(i);
    if (!is_old(cluster, server)) continue;
    cluster.channel(server).give_up(
        Status(ErrorCode::connection_failure, "its region is at " + addresses_[i] + " now"));
    left = true;
  }
  return left;
}

void RegionFinder::learned() {
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    const placement::Place& place = search_.places().place(i);
    if (place.number == 0 || place.address == addresses_[i]) continue;
    callbacks_.log("memory server " + std::to_string(i) + " is at " + place.address + " now, not at " +
                   addresses_[i]);
    const std::string old = std::exchange(addresses_[i], place.address);
    fabric_.give_up(old);
  }
  if (callbacks_.moved) callbacks_.moved();
}

}  // namespace namdb::compute

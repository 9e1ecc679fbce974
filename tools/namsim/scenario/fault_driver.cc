#include "tools/namsim/scenario/fault_driver.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tools/namsim/cluster/copy_hosts.h"

namespace namdb::sim {

using Kind = Fault::Kind;
using fabric::sim::SimNode;

namespace {

bool of_store(Kind kind) {
  return kind == Kind::cut_store || kind == Kind::lose_store_answer || kind == Kind::delay_store;
}

}  // namespace

FaultDriver::FaultDriver(fabric::sim::SimWorld& world, Cluster& cluster, const Faults& faults,
                         std::uint64_t seed)
    : world_(world), cluster_(cluster), faults_(faults), draw_(seed * 32'452'843) {}

void FaultDriver::begin() {
  begun_ns_ = world_.now_ns();
  for (const Fault& fault : faults_) {
    if (fault.kind == Kind::clock_rate || fault.kind == Kind::set) count(fault);
    if (fault.kind == Kind::clock_rate) {
      SimNode* const node = fault.compute ? &cluster_.node(pick_compute(fault)) : memory_node(fault);
      if (node != nullptr) world_.set_clock_rate(*node, fault.ppm);
    } else if (fault.kind != Kind::set) {
      pending_.push_back({&fault, fault.times});
    }
  }
}

bool FaultDriver::due(std::uint64_t transactions) {
  if (pending_.empty()) return false;
  for (Pending& pending : pending_) {
    const Fault& fault = *pending.fault;
    const bool now = fault.probability ? draw_.chance(*fault.probability)
                     : fault.at_ns     ? world_.now_ns() >= begun_ns_ + *fault.at_ns
                                       : transactions >= fault.after_transactions.value_or(0);
    if (!now) continue;
    due_.push_back(&fault);
    --pending.left;
  }
  std::erase_if(pending_, [](const Pending& pending) { return pending.left == 0; });
  return !due_.empty();
}

void FaultDriver::fire(FaultActions& actions) {
  for (const Fault* fault : std::exchange(due_, {})) {
    // None could be started behind one that crashed.
    if (living().empty()) return;
    if (happen(*fault, actions)) count(*fault);
  }
}

void FaultDriver::heal() {
  pending_.clear();
  due_.clear();
  for (const auto& end : std::exchange(ends_, {})) end();
}

std::vector<std::size_t> FaultDriver::living() const {
  std::vector<std::size_t> living;
  for (std::size_t i = 0; i < cluster_.computes(); ++i) {
    if (cluster_.alive(i)) living.push_back(i);
  }
  return living;
}

std::size_t FaultDriver::pick_compute(const Fault& fault) {
  const std::vector<std::size_t> all = living();
  return all[(fault.compute ? *fault.compute : draw_.below(all.size())) % all.size()];
}

std::size_t FaultDriver::pick_memory(const Fault& fault) {
  const std::uint64_t count = cluster_.options().memory_servers;
  return (fault.memory ? *fault.memory : draw_.below(count)) % count;
}

std::size_t FaultDriver::pick_host(const Fault& fault) {
  const CopyHosts& hosts = cluster_.hosts();
  const std::size_t server = pick_memory(fault);
  const std::size_t copies = cluster_.options().copies;
  const bool of_copy = fault.host == Fault::Host::copy && copies > 0;
  return of_copy ? hosts.copy(server, draw_.below(copies)) : hosts.primary(server);
}

std::vector<std::size_t> FaultDriver::pick_hosts(const Fault& fault) {
  const bool of_all = fault.kind == Kind::lose_power || (!fault.host && of_store(fault.kind));
  if (!of_all) return {pick_host(fault)};
  std::vector<std::size_t> all(cluster_.hosts().count());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

SimNode* FaultDriver::memory_node(const Fault& fault) {
  if (!cluster_.options().has_store) return cluster_.memory(pick_memory(fault)).node;
  return cluster_.hosts().node(pick_host(fault));
}

void FaultDriver::end_at(std::uint64_t time_ns, std::function<void()> end) {
  ends_.push_back(end);
  world_.at(time_ns, std::move(end));
}

bool FaultDriver::happen(const Fault& fault, FaultActions& actions) {
  const bool of_hosts = cluster_.options().has_store;
  switch (fault.kind) {
    case Kind::crash_compute:
      actions.crash_compute(pick_compute(fault));
      return true;
    case Kind::pause_compute:
      world_.pause(cluster_.node(pick_compute(fault)), fault.duration_ns);
      return true;
    case Kind::pause_memory: {
      SimNode* const node = memory_node(fault);
      if (node != nullptr) world_.pause(*node, fault.duration_ns);
      return node != nullptr;
    }
    case Kind::crash_memory:
      actions.restart_cluster(pick_memory(fault));
      return true;
    case Kind::restart_memory:
      if (of_hosts) return actions.disturb_hosts(fault, pick_hosts(fault));
      actions.restart_memory(pick_memory(fault));
      return true;
    case Kind::lose_power:
      if (of_hosts) return actions.disturb_hosts(fault, pick_hosts(fault));
      actions.lose_power();
      return true;
    case Kind::lose_host:
    case Kind::split_host:
    case Kind::cut_store:
    case Kind::lose_store_answer:
    case Kind::delay_store:
      return actions.disturb_hosts(fault, pick_hosts(fault));
    case Kind::cut_link:
    case Kind::delay_link: {
      SimNode* const client = &cluster_.node(pick_compute(fault));
      SimNode* const server = memory_node(fault);
      if (server != nullptr) disturb_link(fault, client, server);
      return server != nullptr;
    }
    case Kind::slow_node:
      return slow(fault);
    case Kind::abandon_session:
      actions.abandon_session(pick_compute(fault), fault.duration_ns);
      return true;
    case Kind::clock_rate:
    case Kind::set:
      return false;
  }
  return false;
}

bool FaultDriver::slow(const Fault& fault) {
  SimNode* const node = fault.compute ? &cluster_.node(pick_compute(fault)) : memory_node(fault);
  if (node == nullptr) return false;
  world_.slow(*node, {0, fault.delay_ns, 0, 0});
  end_at(world_.now_ns() + fault.duration_ns, [this, node] { world_.slow(*node, {}); });
  return true;
}

void FaultDriver::disturb_link(const Fault& fault, SimNode* client, SimNode* server) {
  const std::uint64_t end_ns = world_.now_ns() + fault.duration_ns;
  if (fault.kind == Kind::cut_link && fault.direction == Fault::Direction::both) {
    world_.block(*client, *server, true);
    end_at(end_ns, [this, client, server] { world_.block(*client, *server, false); });
    return;
  }
  const std::uint64_t longer_ns = fault.kind == Kind::cut_link ? fault.duration_ns : fault.delay_ns;
  world_.delay(*client, *server, fault.direction != Fault::Direction::reply ? longer_ns : 0,
               fault.direction != Fault::Direction::request ? longer_ns : 0);
  end_at(end_ns, [this, client, server] { world_.delay(*client, *server, 0, 0); });
}

}  // namespace namdb::sim

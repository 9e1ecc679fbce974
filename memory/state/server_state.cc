#include "memory/state/server_state.h"

#include <algorithm>
#include <vector>

namespace namdb::memory {
namespace {

// After the system had no memory for the region, it is asked again.
constexpr std::uint64_t kRefusal_ns = kSecond_ns;

}  // namespace

Status database_opens() {
  return Status(ErrorCode::cannot_connect_now, "the memory servers open the database",
                "the compute server connects again by itself");
}

ServerState::ServerState(reactor::Executor& server_executor, std::unique_ptr<Region> server_region,
                         Options server_options, RegionGrowth growth_of_region)
    : executor(server_executor),
      options(std::move(server_options)),
      region(std::move(server_region)),
      region_growth(std::move(growth_of_region)),
      started_ns(executor.now_ns()),
      fenced(executor),
      shut_down(executor),
      settled(executor),
      identity(options.server_id, options.server_count, region->map().epoch),
      links(executor, {.server_id = options.server_id,
                       .server_count = options.server_count,
                       .asks_places = options.opens_together()}),
      lock_waiters(executor),
      journals(executor, *region, options, peers),
      slots(options.server_id == 0 ? std::make_unique<Slots>(*region, options, copies) : nullptr),
      catalog(options.server_id == 0 ? std::make_unique<Catalog>(*region, options) : nullptr),
      control(catalog ? std::make_unique<ControlChanges>(executor, options, *catalog, *slots) : nullptr),
      tables(executor, *region, options),
      entry_check(*region, tables, options),
      indexes(executor, *region, options, tables, version_epoch),
      growth(executor, *region, options, tables, locks, reclaimer),
      disconnected_peers(peers),
      reservations(*region, tables),
      overflow(*region),
      old_versions(executor, *region, options, tables, overflow, visibility(), version_epoch),
      mover(executor, *region, options, tables, overflow, old_versions),
      tombstones(executor, *region, options, tables, locks, visibility(), version_epoch, reclaimer),
      rings(executor, *region, options, tables),
      collector(executor, options,
                Collector::Duties{old_versions, tombstones, reclaimer, tables, indexes, peers,
                                  disconnected_peers, reservations, slots.get(),
                                  [this](const std::set<std::string>& ended) { journals.settle(ended); },
                                  [this](const std::string& compute_id) {
                                    notice("a worker is silent: its compute server is fenced");
                                    start_fence(compute_id);
                                  }}) {
  journals.check_entries(entry_check);
  if (options.opens_together() && options.memory_servers.size() == options.server_count) {
    // Epochs tell nothing: a server that restarted has its data.
    const Status learned =
        links.learn(options.memory_servers, std::vector<std::uint64_t>(options.server_count));
    NAMDB_CHECK(learned.ok());
  }
  if (region->limit_bytes() == region->bytes()) return;
  region->set_lengthen([this](std::uint64_t length_bytes) { return lengthen_region(length_bytes); });
}

const Visibility& ServerState::visibility() const {
  if (slots) return *slots;
  return copies;
}

void ServerState::notice(const std::string& line) const {
  if (options.notice) options.notice(line);
}

void ServerState::follow_timestamp(std::uint64_t timestamp) {
  const std::uint64_t now_ns = clock_ns();
  if (timestamp > now_ns) clock_ahead_ns += timestamp - now_ns;
}

void ServerState::discard(std::uint32_t id) {
  for (const std::uint32_t index : indexes.of_table(id)) discard(index);
  for (const std::uint32_t index : tables.hash_indexes_of(id)) discard(index);
  if (!tables.discard(id) && !indexes.discard(id)) return;
  reclaimer.defer({id, 0});
  collector.wake();
}

void ServerState::undo_creations(fabric::PeerId peer) {
  // Behind the server's end nothing waits for it: the next process undoes unfinished work.
  if (gate.closing()) return;
  if (control->logged()) return executor.spawn(gate, undo_logged_creations(peer));
  for (const std::uint32_t undone : catalog->disconnected(peer)) discard(undone);
  settled.notify_all();
}

reactor::Task<void> ServerState::undo_logged_creations(fabric::PeerId peer) {
  std::vector<std::uint32_t> undone;
  const ControlChanges::Change undo = [&undone, peer](Catalog& changed) {
    undone = changed.disconnected(peer);
    return Status();
  };
  co_await control->change_anyway(undo);
  for (const std::uint32_t id : undone) discard(id);
  settled.notify_all();
}

void ServerState::erase_replaced_indexes() {
  if (catalog->indexes_beside().empty() || gate.closing()) return;
  const std::uint64_t acknowledged = peers.acknowledged().catalog;
  if (!catalog->has_replaced(acknowledged)) return;
  if (!control->logged()) return catalog->acknowledged(acknowledged);
  if (!erasing_replaced) executor.spawn(gate, erase_logged_indexes());
  erasing_replaced = true;
}

reactor::Task<void> ServerState::erase_logged_indexes() {
  const ControlChanges::Change erase = [this](Catalog& changed) {
    changed.acknowledged(peers.acknowledged().catalog);
    return Status();
  };
  co_await control->change_anyway(erase);
  erasing_replaced = false;
}

bool ServerState::admits(const std::set<std::uint32_t>& without) const {
  return admits_workers || (!admits_without.empty() && std::ranges::includes(without, admits_without));
}

reactor::Task<Status> ServerState::dismiss_workers(std::uint64_t patience_ns,
                                                   std::set<std::uint32_t> restarted) {
  admits_workers = false;
  admits_without = std::move(restarted);
  // A worker that has not joined yet has done nothing, and is judged when it joins.
  const auto first_worker = [this] {
    return std::ranges::find_if(peers.all(), [this](const auto& entry) {
      const Peer& peer = entry.second;
      if (peer.tool || (!admits_without.empty() && !peer.joined)) return false;
      return !admits(peer.without);
    });
  };
  const std::uint64_t deadline_ns = executor.now_ns() + patience_ns;
  while (first_worker() != peers.all().end()) {
    if (stopping || shutdown)
      co_return Status(ErrorCode::admin_shutdown, "the memory server is shutting down");
    if (executor.now_ns() < deadline_ns) {
      co_await fenced.wait_until(deadline_ns);
      continue;
    }
    notice("a worker does not leave a database that opens again: its compute server is fenced");
    const std::string compute_id = first_worker()->second.compute_id;
    start_fence(compute_id);
    while (!peers.of(compute_id).empty() && !stopping) co_await fenced.wait();
  }
  co_return Status();
}

void ServerState::request_shutdown() {
  shutdown = true;
  shut_down.notify_all();
  fenced.notify_all();
  settled.notify_all();
}

void ServerState::start_fence(const std::string& compute_id) {
  peers.remember_fenced(compute_id);
  fenced.notify_all();  // a fence that this compute server waits for must not hold up its own
  if (!peers.of(compute_id).empty() && !gate.closing()) executor.spawn(gate, fence_peers(compute_id));
}

reactor::Task<void> ServerState::fence_peers(std::string compute_id) {
  for (const fabric::PeerId id : peers.of(compute_id)) {
    const Peer* const peer = peers.find(id);
    if (peer != nullptr && peer->process.id != 0) peers.remember_lost_lease(peer->process.id, peer->worker);
    co_await server_fabric->fence(id);
  }
  fenced.notify_all();
}

Result<std::uint64_t> ServerState::lengthen_region(std::uint64_t length_bytes) {
  const std::uint64_t now_ns = executor.now_ns();
  const bool early = server_fabric == nullptr && !opening;
  if (early || (region_refused_ns != 0 && now_ns < region_refused_ns + kRefusal_ns)) {
    return Status(ErrorCode::out_of_memory, "the region does not grow now");
  }
  const Result<std::uint64_t> longer = region_growth.lengthen(length_bytes);
  if (!longer.ok()) {
    if (region_refused_ns == 0) notice("the region does not grow: " + longer.status().to_string());
    region_refused_ns = std::max<std::uint64_t>(now_ns, 1);
    return longer;
  }
  region_refused_ns = 0;
  // Before any peer is given an address there.
  if (server_fabric != nullptr) server_fabric->grow(*longer);
  if (*longer == region->limit_bytes()) notice("the region has grown to its limit");
  return longer;
}

}  // namespace namdb::memory

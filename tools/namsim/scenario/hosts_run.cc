#include "tools/namsim/scenario/hosts_run.h"

#include <algorithm>
#include <utility>

namespace namdb::sim {

using fabric::sim::SimNode;

namespace {

constexpr std::uint64_t kConnectLimit_ns = 600 * kSecond_ns;
constexpr std::uint64_t kClientPause_ns = 20 * kMillisecond_ns;

}  // namespace

HostsRun::HostsRun(std::uint64_t seed, std::uint64_t draw_seed, const Setup& setup, CopiesVerdict& verdict)
    : SeededRun(seed, draw_seed, setup, verdict.anomaly), verdict_(verdict), hosts_(cluster_.hosts()) {
  for (std::size_t server = 0; server < servers(); ++server) primaries_.push_back(hosts_.primary(server));
}

void HostsRun::use_workload(const std::string& name, const WorkloadOptions& options) {
  history_ = history::History(model_of(name));
  workload_ = make_workload(name, world_, history_, options);
}

void HostsRun::complain() {
  if (!sound() || workload_->complaint().empty()) return;
  fail(workload_->complaint());
  verdict_.wrong_data = true;
}

void HostsRun::load() {
  Status loaded(ErrorCode::connection_failure, "not connected");
  for (int attempt = 0; !loaded.ok() && attempt < 50; ++attempt) {
    if (attempt != 0) world_.run_for(100 * kMillisecond_ns);
    loaded = await(0, workload_->load(cluster_.worker(0)));
  }
  check(loaded, "load");
}

// --- clients ---

reactor::Task<void> HostsRun::client(compute::Worker* worker, std::uint64_t session_id, std::uint64_t most,
                                     std::uint64_t think_ns) {
  auto client = workload_->open_client(*worker);
  while (!over_ && most > 0 && workload_->complaint().empty()) {
    if (!worker->ready()) {
      co_await worker->executor().sleep_for(kClientPause_ns);
      continue;
    }
    --most;
    const history::Outcome outcome = co_await client->run_one(session_id);
    if (outcome == history::Outcome::committed) {
      ++verdict_.committed;
    } else {
      co_await worker->backoff(1);
    }
    if (outcome == history::Outcome::unknown) {
      // It may still take effect, after what comes next: a session ends with it.
      client = workload_->open_client(*worker);
      session_id = sessions_++;
    }
    const std::uint64_t pause_ns = worker->executor().random().below(think_ns);
    co_await worker->executor().sleep_for(pause_ns);
  }
}

void HostsRun::add_client(std::size_t compute, std::uint64_t most, std::uint64_t think_ns) {
  start_client(compute, client(&cluster_.worker(compute), sessions_++, most, think_ns));
}

// --- faults ---

void HostsRun::count_takeovers() {
  for (std::size_t server = 0; server < servers(); ++server) {
    const std::size_t now = hosts_.primary(server);
    if (now != primaries_[server]) ++verdict_.takeovers;
    primaries_[server] = now;
  }
}

void HostsRun::revive() {
  for (std::size_t host = 0; host < hosts_.count(); ++host) {
    const HostProcess* const process = hosts_.machine(host).process.get();
    if (process != nullptr && process->ended) hosts_.start(host, DiskAfter::killed);
  }
}

void HostsRun::end_later(std::uint64_t duration_ns, std::function<void()> end) {
  world_.at(world_.now_ns() + duration_ns, [this, end] {
    if (!healed_) end();
  });
  ends_.push_back(std::move(end));
}

void HostsRun::start_later(std::size_t host, DiskAfter disk, std::uint64_t pause_ns) {
  end_later(pause_ns, [this, host, disk] {
    if (hosts_.machine(host).process == nullptr) hosts_.start(host, disk);
  });
}

bool HostsRun::may_lose_primary(std::size_t server) {
  const placement::Place& place = hosts_.stored().place(server);
  return std::ranges::any_of(place.copies, [this](const std::string& address) {
    return hosts_.machine(hosts_.at(address)).disk != nullptr;
  });
}

void HostsRun::leave_store(std::size_t host, std::uint64_t duration_ns) {
  HostProcess* const process = hosts_.machine(host).process.get();
  if (process == nullptr) return;
  process->way->set_reachable(false);
  end_later(duration_ns, [this, host] {
    HostProcess* const now = hosts_.machine(host).process.get();
    if (now != nullptr) now->way->set_reachable(true);
  });
}

void HostsRun::part(std::vector<SimNode*> left, std::vector<SimNode*> right, Direction direction,
                    std::uint64_t duration_ns) {
  for (SimNode* const here : left) {
    for (SimNode* const there : right) {
      if (direction == Direction::both) {
        world_.block(*here, *there, true);
        continue;
      }
      SimNode* const from = direction == Direction::from_left ? here : there;
      SimNode* const to = direction == Direction::from_left ? there : here;
      world_.delay(*from, *to, duration_ns, 0);
      world_.delay(*to, *from, 0, duration_ns);
    }
  }
  end_later(duration_ns, [this, left = std::move(left), right = std::move(right)] {
    for (SimNode* const here : left) {
      for (SimNode* const there : right) {
        world_.block(*here, *there, false);
        world_.delay(*here, *there, 0, 0);
        world_.delay(*there, *here, 0, 0);
      }
    }
  });
}

bool HostsRun::replace_compute(std::size_t victim) {
  workload_->died(cluster_.worker(victim));
  kill(victim);
  Status started(ErrorCode::connection_failure, "not tried");
  for (int again = 0; !started.ok() && again < 200; ++again) {
    if (again != 0) world_.run_for(300 * kMillisecond_ns);
    revive();
    started = cluster_.try_add_compute();
  }
  check(started, "a compute server cannot start");
  return sound();
}

void HostsRun::heal() {
  healed_ = true;
  for (const auto& end : ends_) end();
  ends_.clear();
  for (std::size_t host = 0; host < hosts_.count(); ++host) {
    if (hosts_.machine(host).process == nullptr) hosts_.start(host, DiskAfter::killed);
  }
}

// --- the end ---

void HostsRun::await_sync() {
  const std::uint64_t end_ns = world_.now_ns() + 120 * kSecond_ns;
  while (!hosts_.all_in_sync() && world_.now_ns() < end_ns) {
    revive();
    world_.run_until([this] { return hosts_.all_in_sync(); }, kSecond_ns);
  }
  count_takeovers();
  if (hosts_.all_in_sync()) return;
  fail("regions do not come back with their copies" + hosts_.describe());
}

void HostsRun::take_over_all() {
  std::vector<std::size_t> old;
  for (std::size_t server = 0; server < servers(); ++server) old.push_back(hosts_.primary(server));
  for (const std::size_t host : old) hosts_.kill(host, true);
  verdict_.lost += old.size();
  if (!world_.run_until([this] { return hosts_.all_serve(); }, 120 * kSecond_ns))
    return fail("a copy does not take over" + hosts_.describe());
  for (const std::size_t host : old) hosts_.start(host, DiskAfter::replaced);
  await_sync();
}

void HostsRun::touch() {
  const auto connected = [this] {
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (cluster_.alive(i) && !cluster_.worker(i).ready()) return false;
    }
    return true;
  };
  if (!world_.run_until(connected, kConnectLimit_ns))
    return fail("a compute server does not connect again" + hosts_.describe());
  check(await(survivor(), workload_->touch_all(cluster_.worker(survivor()))), "a row stays out of reach");
}

void HostsRun::check_regions() {
  stop_and_check_regions();
  verdict_.wrong_data = !sound();
}

void HostsRun::check_history(const history::CheckOptions& options) {
  fail(history::first_anomaly(history::check(history_, options), history_));
  verdict_.wrong_data = !sound();
}

}  // namespace namdb::sim

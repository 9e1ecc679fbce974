#include "tools/namsim/scenario/seeded_run.h"

#include <optional>

namespace namdb::sim {
namespace {

reactor::Task<void> store(reactor::Task<Status> task, std::shared_ptr<std::optional<Status>> result) {
  *result = co_await std::move(task);
}

ClusterOptions with_interposer(ClusterOptions options, Interposer* interposer) {
  options.interposer = interposer;
  return options;
}

}  // namespace

SeededRun::SeededRun(std::uint64_t seed, std::uint64_t draw_seed, const Setup& setup, std::string& anomaly)
    : draw_(draw_seed),
      world_(seed, setup.network(draw_)),
      cluster_(world_, with_interposer(setup.cluster(draw_), setup.interposer)),
      limit_ns_(setup.limit_ns),
      anomaly_(anomaly) {}

SeededRun::~SeededRun() {
  if (sound()) return;
  for (std::size_t i = 0; i < cluster_.computes(); ++i) {
    if (cluster_.alive(i)) cluster_.kill_compute(i);
  }
  for (auto& [compute, gate] : client_gates_) fabric::sim::SimWorld::bury(std::move(gate));
  for (auto& gate : gates_) fabric::sim::SimWorld::bury(std::move(gate));
}

void SeededRun::fail(const std::string& what) {
  if (sound()) anomaly_ = what;
}

void SeededRun::check(const Status& status, const std::string& what) {
  if (!status.ok()) fail(what + ": " + status.to_string());
}

Status SeededRun::await(std::size_t compute, reactor::Task<Status> task) {
  const auto result = std::make_shared<std::optional<Status>>();
  gates_.push_back(std::make_unique<reactor::Gate>());
  cluster_.node(compute).spawn(*gates_.back(), store(std::move(task), result));
  world_.run_until([&] { return result->has_value(); }, limit_ns_);
  return result->value_or(Status(ErrorCode::internal, "it does not end"));
}

reactor::Task<void> SeededRun::counted(reactor::Task<void> client) {
  co_await std::move(client);
  --running_;
}

void SeededRun::start_client(std::size_t compute, reactor::Task<void> client) {
  std::unique_ptr<reactor::Gate>& gate = client_gates_[compute];
  if (gate == nullptr) gate = std::make_unique<reactor::Gate>();
  ++running_;
  cluster_.node(compute).spawn(*gate, counted(std::move(client)));
}

void SeededRun::await_clients() {
  if (!world_.run_until([&] { return running_ == 0; }, limit_ns_)) fail("the clients did not finish");
}

void SeededRun::go_on(const Progress& ended) {
  const std::uint64_t enough = ended() + draw_.between(1, 30);
  world_.run_until([&] { return ended() >= enough || running_ == 0; }, limit_ns_);
  world_.run_for(draw_.below(50'000));
}

void SeededRun::kill(std::size_t victim) {
  auto clients = client_gates_.extract(victim);
  running_ -= clients.mapped()->count();
  cluster_.kill_compute(victim);
  fabric::sim::SimWorld::bury(std::move(clients.mapped()));
}

std::size_t SeededRun::replace(std::size_t victim) {
  kill(victim);
  return cluster_.add_compute();
}

void SeededRun::kill_some(std::size_t computes, const Progress& ended,
                          const std::function<void(std::size_t)>& start_clients) {
  for (int kill = 0; kill < 2; ++kill) {
    const std::size_t victim = kill == 0 ? 0 : computes;
    go_on(ended);
    if (running_ == 0) return;
    start_clients(replace(victim));
  }
}

void SeededRun::pause_some(std::size_t computes, const Progress& ended, std::uint64_t longest_ns) {
  for (int pause = 0; pause < 6 && running_ > 0; ++pause) {
    go_on(ended);
    world_.pause(cluster_.node(draw_.below(computes)),
                 draw_.between(1, longest_ns / kMillisecond_ns) * kMillisecond_ns);
  }
}

std::size_t SeededRun::survivor() const {
  std::size_t survivor = 0;
  while (!cluster_.alive(survivor)) ++survivor;
  return survivor;
}

void SeededRun::stop_computes() {
  for (std::size_t i = 0; i < cluster_.computes() && sound(); ++i) {
    if (!cluster_.alive(i) || cluster_.stop_compute(i, limit_ns_)) continue;
    fail("a compute server does not stop");
  }
}

void SeededRun::stop_and_check_regions() {
  stop_computes();
  if (sound()) fail(cluster_.check_at_rest(limit_ns_));
}

}  // namespace namdb::sim

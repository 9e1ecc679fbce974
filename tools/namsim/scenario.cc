#include "tools/namsim/scenario.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "memory/region.h"
#include "tools/namsim/append_workload.h"
#include "tools/namsim/bank_workload.h"
#include "tools/namsim/fault_driver.h"
#include "tools/namsim/fault_options.h"
#include "tools/namsim/register_workload.h"

namespace namdb::sim {
namespace {

std::unique_ptr<Workload> make_workload(const Scenario& scenario, fabric::sim::SimWorld& world,
                                        history::History& history) {
  WorkloadOptions options = scenario.workload_options;
  options.keys = *scenario.size.keys;
  if (scenario.workload == "append") return std::make_unique<AppendWorkload>(world, history, options);
  if (scenario.workload == "bank") return std::make_unique<BankWorkload>(world, history, options);
  return std::make_unique<RegisterWorkload>(world, history, options);
}

// More than a run has clients.
constexpr std::uint64_t kSessions = 10'000'000;

reactor::Task<void> client(Workload* workload, compute::Worker* worker, std::uint64_t session_id,
                           std::uint64_t transactions, std::uint64_t think_ns, std::uint64_t* committed,
                           std::uint64_t* running) {
  {
    auto session = worker->open_session();
    for (std::uint64_t i = 0; i < transactions && workload->complaint().empty(); ++i) {
      while (!worker->ready() || workload->gone()) co_await worker->executor().sleep_for(5 * kMillisecond_ns);
      const history::Outcome outcome = co_await workload->run_one(*worker, *session, session_id);
      if (outcome == history::Outcome::committed) {
        ++*committed;
      } else {
        co_await worker->backoff(1);
      }
      if (outcome == history::Outcome::unknown) {
        // It may still take effect, after what comes next: a session ends with it.
        session = worker->open_session();
        session_id += kSessions;
      }
      if (think_ns == 0) continue;
      const std::uint64_t pause_ns = worker->executor().random().below(think_ns);
      co_await worker->executor().sleep_for(pause_ns);
    }
  }
  --*running;
}

reactor::Task<void> touch(Workload* workload, compute::Worker* worker, std::optional<Status>* result) {
  *result = co_await workload->touch_all(*worker);
}

reactor::Task<void> abandon(Workload* workload, compute::Worker* worker, std::uint64_t duration_ns) {
  co_await workload->abandon_one(*worker, duration_ns);
}

class Run final : public FaultActions {
 public:
  Run(const Scenario& scenario, Verdict& verdict)
      : scenario_(scenario),
        size_(scenario.size),
        draw_(scenario.draw),
        verdict_(verdict),
        world_(scenario.seed, scenario.network),
        cluster_(world_, scenario.cluster),
        workload_(make_workload(scenario, world_, verdict.history)),
        faults_(world_, cluster_, scenario.faults, scenario.seed) {}
  ~Run() {
    for (auto& [compute, gate] : abandoned_) {
      if (!cluster_.alive(compute) && gate->count() > 0) fabric::sim::SimWorld::bury(std::move(gate));
    }
    if (verdict_.anomaly.empty()) return;
    // Something may wait for ever: it cannot be stopped in order.
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (cluster_.alive(i)) cluster_.kill_compute(i);
    }
    for (auto& gate : gates_) fabric::sim::SimWorld::bury(std::move(gate));
    for (auto& abandoned : abandoned_) fabric::sim::SimWorld::bury(std::move(abandoned.second));
  }

  const std::vector<std::size_t>& lives() const { return workload_->lives(); }
  void go() {
    for (std::uint64_t i = 0; i < *size_.computes; ++i) cluster_.add_compute();
    const Status loaded = world_.run(cluster_.node(0), workload_->load(cluster_.worker(0)));
    if (!loaded.ok()) {
      verdict_.anomaly = "load: " + loaded.to_string();
      return;
    }
    pause_memory_servers();
    faults_.begin();
    for (std::size_t i = 0; i < cluster_.computes(); ++i) start_clients(i);
    for (std::uint64_t i = 0; i < *size_.kills && running_ > 0 && verdict_.anomaly.empty(); ++i) kill_one(i);
    if (verdict_.anomaly.empty() && !run_until([&] { return running_ == 0; }) && verdict_.anomaly.empty())
      verdict_.anomaly = "the clients did not finish";
    faults_.heal();
    settle();
    if (verdict_.anomaly.empty()) await_connections();
    if (verdict_.anomaly.empty()) verdict_.anomaly = workload_->complaint();
    if (verdict_.anomaly.empty()) touch_all();
    if (verdict_.anomaly.empty()) verdict_.anomaly = workload_->complaint();
    if (verdict_.anomaly.empty()) await_repair();
    if (verdict_.anomaly.empty()) stop();
    if (verdict_.anomaly.empty()) verdict_.anomaly = cluster_.check_at_rest(scenario_.limit_ns);
    verdict_.fingerprint = world_.fingerprint();
    verdict_.virtual_ns = world_.now_ns();
  }

 private:
  void start_clients(std::size_t compute) {
    gates_.push_back(std::make_unique<reactor::Gate>());
    const std::uint64_t clients = draw_.between(1, *size_.clients);
    for (std::uint64_t i = 0; i < clients; ++i) {
      ++running_;
      const std::uint64_t most = *size_.transactions;
      const std::uint64_t transactions = draw_.between(std::min<std::uint64_t>(10, most), most);
      cluster_.node(compute).spawn(
          *gates_.back(), client(workload_.get(), &cluster_.worker(compute), sessions_++, transactions,
                                 scenario_.think_ns, &verdict_.committed, &running_));
    }
  }

  // First the oldest, then those that replaced others; a new one takes the place.
  void kill_one(std::uint64_t number) {
    const std::size_t victim = number == 0 ? 0 : cluster_.computes() - 1;
    const std::uint64_t before = verdict_.history.transactions().size() + draw_.between(1, 30);
    run_until([&] { return verdict_.history.transactions().size() >= before || running_ == 0; });
    world_.run_for(draw_.below(20'000));
    if (running_ == 0 || !cluster_.alive(victim)) return;
    crash_compute(victim);
  }

  // While faults happen in between. False when the limit passed or something is wrong.
  template <typename Condition>
  bool run_until(Condition condition) {
    const std::uint64_t end_ns = world_.now_ns() + scenario_.limit_ns;
    bool due = false;
    while (verdict_.anomaly.empty() && !condition()) {
      const auto over = [&] {
        due = faults_.due(verdict_.history.transactions().size());
        return due || condition();
      };
      if (!world_.run_until(over, end_ns - std::min(end_ns, world_.now_ns()))) return false;
      if (std::exchange(due, false)) faults_.fire(*this);
    }
    return verdict_.anomaly.empty();
  }

  void crash_compute(std::size_t victim) override {
    if (!cluster_.alive(victim) || !verdict_.anomaly.empty()) return;
    // Clients of the victim never end: count only those of others.
    running_ -= gates_[victim]->count();
    cluster_.kill_compute(victim);
    fabric::sim::SimWorld::bury(std::move(gates_[victim]));
    Status started = cluster_.try_add_compute();
    // A link that is cut, or a region without room for a journal until others are retired.
    for (int again = 0; !started.ok() && !scenario_.faults.empty() && again < 100; ++again) {
      world_.run_for(300 * kMillisecond_ns);
      gates_.push_back(nullptr);
      started = cluster_.try_add_compute();
    }
    if (!started.ok()) {
      verdict_.anomaly = "a compute server cannot start: " + started.to_string();
      return;
    }
    start_clients(cluster_.computes() - 1);
  }

  // All data is gone: the cluster starts over, and the clients go on with new rows.
  void restart_cluster(std::size_t memory) override {
    workload_->data_is_gone();
    // Which one died first is no matter: alone, a new one is refused.
    for (std::uint64_t i = 0; i < *size_.memory_servers; ++i)
      cluster_.restart_memory((memory + i) % *size_.memory_servers);
    Status loaded(ErrorCode::connection_failure, "no compute server is connected");
    for (int attempt = 0; !loaded.ok() && attempt < 100; ++attempt) {
      const std::size_t survivor = first_alive();
      compute::Worker& worker = cluster_.worker(survivor);
      world_.run_until([&] { return worker.ready(); }, 10 * kSecond_ns);
      world_.run_for(kMillisecond_ns);
      loaded = world_.run(cluster_.node(survivor), workload_->load(worker));
    }
    if (!loaded.ok()) verdict_.anomaly = "load, after all data was gone: " + loaded.to_string();
    workload_->data_is_back();
  }

  void abandon_session(std::size_t compute, std::uint64_t duration_ns) override {
    abandoned_.emplace_back(compute, std::make_unique<reactor::Gate>());
    cluster_.node(compute).spawn(*abandoned_.back().second,
                                 abandon(workload_.get(), &cluster_.worker(compute), duration_ns));
  }

  std::size_t first_alive() const {
    std::size_t survivor = 0;
    while (!cluster_.alive(survivor)) ++survivor;
    return survivor;
  }

  // What hangs in a link that was disturbed arrives at last, and every compute server notices what it has lost.
  void settle() {
    std::uint64_t longest_ns = 0;
    for (const Fault& fault : scenario_.faults)
      longest_ns = std::max({longest_ns, fault.duration_ns, fault.delay_ns});
    if (longest_ns != 0 && verdict_.anomaly.empty()) world_.run_for(2 * longest_ns + 500 * kMillisecond_ns);
  }

  // After the faults every compute server finds its way back.
  void await_connections() {
    const auto connected = [&] {
      for (std::size_t i = 0; i < cluster_.computes(); ++i) {
        if (cluster_.alive(i) && !cluster_.worker(i).ready()) return false;
      }
      return std::all_of(abandoned_.begin(), abandoned_.end(), [&](const auto& one) {
        return !cluster_.alive(one.first) || one.second->count() == 0;
      });
    };
    if (!scenario_.faults.empty() && !world_.run_until(connected, scenario_.limit_ns))
      verdict_.anomaly = "a compute server does not connect again";
  }

  void pause_memory_servers() {
    for (std::uint64_t i = 0; i < scenario_.memory_pauses; ++i) {
      fabric::sim::SimNode* const node = cluster_.memory(i % *size_.memory_servers).node;
      world_.at(world_.now_ns() + (2 * i + 1) * scenario_.memory_pause_ns, [this, node] {
        if (!over_) world_.pause(*node, scenario_.memory_pause_ns);
      });
    }
  }

  void await_repair() {
    std::size_t alive = 0;
    for (std::size_t i = 0; i < cluster_.computes(); ++i) alive += cluster_.alive(i) ? 1 : 0;
    const memory::MemoryServer& server = *cluster_.memory(0).server;
    // The channels of the dead are gone, and with them their slots were found dead.
    const auto repaired = [&] {
      return server.peers().all().size() <= alive && server.slots()->dead_count() == 0;
    };
    if (!world_.run_until(repaired, scenario_.limit_ns))
      verdict_.anomaly = "a dead compute server's slot is never repaired";
  }

  void stop() {
    over_ = true;
    for (std::size_t i = 0; i < cluster_.computes(); ++i) {
      if (!cluster_.alive(i) || cluster_.stop_compute(i, scenario_.limit_ns)) continue;
      verdict_.anomaly = "a compute server does not stop";
      return;
    }
  }

  void touch_all() {
    const std::size_t survivor = first_alive();
    std::optional<Status> touched;
    gates_.push_back(std::make_unique<reactor::Gate>());
    cluster_.node(survivor).spawn(*gates_.back(),
                                  touch(workload_.get(), &cluster_.worker(survivor), &touched));
    world_.run_until([&] { return touched.has_value(); }, scenario_.limit_ns);
    if (!touched) {
      verdict_.anomaly = "a row stays out of reach for ever";
    } else if (!touched->ok()) {
      verdict_.anomaly = "a row stays out of reach: " + touched->to_string();
    }
  }

  const Scenario& scenario_;
  const Size size_;
  Random draw_;
  Verdict& verdict_;
  fabric::sim::SimWorld world_;
  Cluster cluster_;
  std::unique_ptr<Workload> workload_;
  FaultDriver faults_;
  std::uint64_t running_ = 0;
  bool over_ = false;
  std::uint64_t sessions_ = 0;
  std::vector<std::unique_ptr<reactor::Gate>> gates_;  // by compute server
  std::vector<std::pair<std::size_t, std::unique_ptr<reactor::Gate>>> abandoned_;
};

}  // namespace

std::span<const Size::Field> Size::fields() {
  static constexpr std::array kFields{
      Field{"kills", "Compute servers that die on the way", &Size::kills, 0, 100},
      Field{"computes", "Compute servers", &Size::computes, 1, 100},
      Field{"clients", "Clients of a compute server, at most", &Size::clients, 1, 1000},
      Field{"transactions", "Transactions of a client, at most", &Size::transactions, 1, 1'000'000},
      Field{"keys", "Rows", &Size::keys, 2, 1000},
      Field{"memory-servers", "Memory servers", &Size::memory_servers, 1, 16},
  };
  return kFields;
}

Scenario Scenario::of_seed(std::uint64_t seed, std::optional<std::string> workload,
                           std::optional<Emphasis> emphasis) {
  Scenario scenario;
  scenario.seed = seed;
  Random draw(seed * 7919);
  scenario.network = fabric::sim::SimOptions::swarm(draw);
  ClusterOptions& cluster = scenario.cluster;
  scenario.size.memory_servers = draw.between(1, 3);
  cluster.memory = memory::swarm_options(draw, 0.3);
  cluster.memory.extent_bytes = 64U << 10;
  cluster.memory.journal_bytes = 128U << 10;
  cluster.memory.max_transaction_ns = 10 * kSecond_ns;
  cluster.memory.heartbeat_timeout_ns = 0;
  cluster.worker.snapshot_mode =
      draw.chance(0.5) ? txn::SnapshotSource::Mode::call : txn::SnapshotSource::Mode::reads;
  cluster.worker.heartbeat_ns = draw.chance(0.5) ? kMillisecond_ns : 20 * kMillisecond_ns;
  if (draw.chance(0.3)) cluster.worker.slot.counters_per_slot = 3;
  scenario.size.keys = draw.between(2, 8);
  scenario.size.computes = draw.between(1, 3);
  scenario.size.clients = 3;
  scenario.size.transactions = 25;
  scenario.draw = draw;

  // From a generator of its own: what is drawn above does not depend on the workload.
  Random choice(seed * 104'729);
  const std::uint64_t drawn = choice.below(kWorkloads.size());
  scenario.workload = workload.value_or(std::string(kWorkloads[drawn]));
  scenario.size.kills = choice.chance(0.5) ? 0 : choice.between(1, 3);
  const double long_reader = choice.unit() * 0.5;
  WorkloadOptions& options = scenario.workload_options;
  if (scenario.workload == "bank") {
    options.fewest_keys = 2;
    options.long_reader_probability = long_reader;
    options.pause_ns = 200'000;
  } else if (scenario.workload == "write-skew") {
    // Each reads two and writes one of them.
    options.fewest_keys = options.keys_per_transaction = 2;
    options.most_writes = 1;
  }
  scenario.resize({});
  // Emphases narrow the registers' options; the other workloads have theirs.
  Emphasis drawn_emphasis = Emphasis::none;
  if (scenario.workload == "register" && choice.chance(0.5))
    drawn_emphasis = static_cast<Emphasis>(choice.between(1, kEmphases.size() - 1));
  scenario.emphasis = emphasis.value_or(drawn_emphasis);
  emphasise(scenario.emphasis, choice, scenario);
  return scenario;
}

Status Scenario::use_faults(Faults all, std::string from, std::vector<std::size_t> skipped) {
  faults.clear();
  faults_from = std::move(from);
  skipped_faults = std::move(skipped);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::find(skipped_faults.begin(), skipped_faults.end(), i) != skipped_faults.end()) continue;
    faults.push_back(all[i]);
    if (all[i].kind != Fault::Kind::set) continue;
    set_option(cluster, all[i].option, all[i].value);
    if (all[i].option == "region_bytes" || all[i].option == "vector_capacity")
      workload_options.full_region = true;
  }
  std::vector<std::uint64_t> words(cluster.region_bytes / 8);
  const auto region = memory::Region::create(std::as_writable_bytes(std::span(words)), cluster.memory, 1);
  if (!region.ok()) return region.status();
  if (!faults.empty()) limit_ns = std::max(limit_ns, 600 * kSecond_ns);
  for (const Fault& fault : faults) {
    if (fault.kind != Fault::Kind::clock_rate) continue;
    const double apart_ns = 2e-6 * static_cast<double>(std::abs(fault.ppm)) *
                            static_cast<double>(cluster.memory.max_transaction_ns);
    if (apart_ns > static_cast<double>(cluster.memory.slack_ns))
      return Status(ErrorCode::configuration, "a clock rate of " + std::to_string(fault.ppm) +
                                                  " ppm exceeds what slack_ns makes up for");
  }
  return {};
}

void Scenario::resize(const Size& other) {
  for (const Size::Field& field : Size::fields()) {
    if (other.*field.value) size.*field.value = other.*field.value;
  }
  cluster.memory_servers = static_cast<std::uint32_t>(*size.memory_servers);
}

std::string Scenario::flags() const {
  std::string text =
      "--seed " + std::to_string(seed) + " --workload " + (workload_from.empty() ? workload : workload_from);
  for (const Size::Field& field : Size::fields())
    text += std::string(" --") + field.name + " " + std::to_string(*(size.*field.value));
  if (faults_from == "none") return text;
  text += " --faults " + faults_from;
  for (std::size_t i = 0; i < skipped_faults.size(); ++i)
    text += (i == 0 ? " --skip-faults " : ",") + std::to_string(skipped_faults[i]);
  return text;
}

std::string Scenario::describe() const {
  std::string text;
  const auto add = [&](const char* name, double value) {
    std::string number = std::to_string(value);
    number.erase(number.find_last_not_of('0') + 1);
    if (number.back() == '.') number.pop_back();
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + number;
  };
  const auto number = [&](const char* name, std::uint64_t value) {
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(value);
  };
  const auto latency = [&](const char* name, const fabric::sim::Latency& value) {
    text +=
        std::string(", ") + name + " " + std::to_string(value.min_ns) + "+" + std::to_string(value.spread_ns);
    if (value.tail_probability > 0) text += " or +" + std::to_string(value.tail_ns);
    text += " ns";
  };
  text += "emphasis " + std::string(kEmphases[static_cast<std::size_t>(emphasis)]);
  number("tear_steps", network.tear_steps);
  number("tear_gap_ns", network.tear_gap_ns);
  add("long_tear", network.long_tear);
  number("long_tear_gap_ns", network.long_tear_gap_ns);
  latency("request", network.request);
  latency("reply", network.reply);
  latency("turn", network.turn);
  number("link_factor", network.link_factor);
  number("atomics_with_cpu", network.atomics_with_cpu ? 1 : 0);
  add("split_atomics", network.split_atomics);
  add("late_landing", network.late_landing);
  add("scribble", network.scribble);
  number("clock_drift_ppm", network.clock_drift_ppm);
  number("snapshot_by_call", cluster.worker.snapshot_mode == txn::SnapshotSource::Mode::call ? 1 : 0);
  number("heartbeat_ns", cluster.worker.heartbeat_ns);
  number("counters_per_slot", cluster.worker.slot.counters_per_slot);
#define NAMDB_SCENARIO_TUNABLE(type, name, value, hostile) number(#name, cluster.memory.name);
  NAMDB_MEMORY_TUNABLES(NAMDB_SCENARIO_TUNABLE)
#undef NAMDB_SCENARIO_TUNABLE
  for (const Fault& fault : faults) text += "\n  " + fault.text();
  return text;
}

Verdict run_scenario(const Scenario& scenario, const history::Level& level) {
  Verdict verdict;
  if (scenario.workload == "append") verdict.history = history::History(history::Model::lists);
  std::vector<std::size_t> lives;
  {
    Run run(scenario, verdict);
    run.go();
    lives = run.lives();
  }
  verdict.transactions = verdict.history.transactions().size();
  if (verdict.anomaly.empty()) {
    const history::CheckOptions options{.level = level,
                                        .all_reads = level.strength == history::Strength::snapshot};
    // Each life of the data is a history of its own.
    lives.push_back(verdict.history.transactions().size());
    for (std::size_t life = 0; life + 1 < lives.size() && verdict.anomaly.empty(); ++life) {
      history::History part(verdict.history.model());
      for (std::size_t i = lives[life]; i < lives[life + 1]; ++i) part.add(verdict.history.transactions()[i]);
      verdict.anomaly = history::first_anomaly(history::check(part, options), part);
    }
  }
  return verdict;
}

}  // namespace namdb::sim

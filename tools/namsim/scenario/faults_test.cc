// Faults: their files, what seeds draw, that each kind really happens, and that a run under them is its seed.
#include "tools/namsim/scenario/faults.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tools/namsim/scenario/fault_driver.h"
#include "tools/namsim/scenario/fault_options.h"
#include "tools/namsim/scenario/scenario.h"
#include "tools/namsim/scenario/workload_file.h"

namespace namdb::sim {
namespace {

using Kind = Fault::Kind;

std::string error_of(const std::string& fault) {
  const auto faults = parse_faults(R"({"faults": [{"fault": "crash-memory"}, )" + fault + "]}", "f.json");
  return faults.ok() ? "" : faults.status().message();
}

Fault parse_one(const std::string& fault) {
  const auto faults = parse_faults(R"({"faults": [)" + fault + "]}", "f.json");
  INFO((faults.ok() ? "" : faults.status().message()));
  REQUIRE(faults.ok());
  return faults->front();
}

std::uint64_t count_of(const FaultCounts& counts, Kind kind) {
  return counts[static_cast<std::size_t>(kind)];
}

// One memory server, two compute servers, and a driver without clients.
struct Bench final : FaultActions {
  explicit Bench(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) faults.push_back(parse_one(text));
    options.memory.extent_bytes = 64U << 10;
    options.memory.journal_bytes = 64U << 10;
    options.worker.heartbeat_ns = kMillisecond_ns;
    cluster = std::make_unique<Cluster>(world, options);
    cluster->add_compute();
    cluster->add_compute();
    driver = std::make_unique<FaultDriver>(world, *cluster, faults, 1);
    driver->begin();
  }
  void crash_compute(std::size_t compute) override { crashed.push_back(compute); }
  void restart_cluster(std::size_t memory) override { restarted.push_back(memory); }
  void restart_memory(std::size_t memory) override { reopened.push_back(memory); }
  void lose_power() override { ++power_losses; }
  void abandon_session(std::size_t compute, std::uint64_t) override { abandoned.push_back(compute); }

  void fire(std::uint64_t transactions = 0) {
    if (driver->due(transactions)) driver->fire(*this);
  }
  // Virtual time that a look at the catalog takes, which is one call to the memory server.
  std::uint64_t call_ns(std::size_t compute) {
    const std::uint64_t begun_ns = world.now_ns();
    world.run(cluster->node(compute), list(&cluster->worker(compute)));
    return world.now_ns() - begun_ns;
  }
  static reactor::Task<void> list(compute::Worker* worker) {
    const auto tables = co_await worker->tables();
    static_cast<void>(tables);
  }

  fabric::sim::SimWorld world{1};
  ClusterOptions options;
  Faults faults;
  std::unique_ptr<Cluster> cluster;
  std::unique_ptr<FaultDriver> driver;
  std::vector<std::size_t> crashed;
  std::vector<std::size_t> restarted;
  std::vector<std::size_t> abandoned;
  std::vector<std::size_t> reopened;
  std::size_t power_losses = 0;
};

// Longer than any call takes without a fault.
constexpr std::uint64_t kLong_ns = 200 * kMicrosecond_ns;

Scenario registers_with(std::uint64_t seed, const std::string& fault, Emphasis emphasis = Emphasis::none) {
  Scenario scenario = Scenario::of_seed(seed, "register", emphasis);
  scenario.resize({.kills = 0});
  REQUIRE(scenario.use_faults({parse_one(fault)}, "f.json").ok());
  return scenario;
}

Verdict sound_run(const Scenario& scenario) {
  const Verdict verdict = run_scenario(scenario, history::strict_snapshot_isolation());
  INFO("namsim run " << scenario.flags());
  REQUIRE(verdict.anomaly == "");
  return verdict;
}

class PassingService final : public fabric::Service {
 public:
  explicit PassingService(fabric::Service& inner) : inner_(inner) {}
  Result<std::string> on_connect(fabric::PeerId peer, std::string_view hello) override {
    return inner_.on_connect(peer, hello);
  }
  reactor::Task<Status> on_call(fabric::PeerId peer, std::uint16_t method, std::string_view request,
                                std::string& reply) override {
    return inner_.on_call(peer, method, request, reply);
  }
  void on_disconnect(fabric::PeerId peer) override { inner_.on_disconnect(peer); }

 private:
  fabric::Service& inner_;
};

// Draws once more in each run than in the run before.
class Drifting final : public Interposer {
 public:
  void attach(Cluster& cluster) override {
    for (int i = 0; i < runs_; ++i) static_cast<void>(cluster.world().random().next());
    ++runs_;
  }
  std::unique_ptr<fabric::ClientFabric> client(std::size_t,
                                               std::unique_ptr<fabric::ClientFabric> fabric) override {
    return fabric;
  }
  std::unique_ptr<fabric::Service> service(std::size_t, fabric::Service& service) override {
    return std::make_unique<PassingService>(service);
  }

 private:
  int runs_ = 0;
};

}  // namespace

TEST_CASE("a mistake in a file of faults is named with its file and field", "[faults]") {
  CHECK(parse_faults("{", "f.json").status().message() == "f.json: is no JSON");
  CHECK(parse_faults("[]", "f.json").status().message() == "f.json: is no object");
  CHECK(parse_faults(R"({"faults": 1})", "f.json").status().message() == "f.json.faults: must be a list");
  CHECK(parse_faults(R"({"faults": [], "x": 1})", "f.json").status().message() == "f.json.x: unknown field");
  CHECK(read_faults("/nonexistent.json").status().message() == "/nonexistent.json: cannot be read");

  const std::string at = "f.json: faults[1].";
  CHECK(error_of("{}") == at + "fault: is missing");
  CHECK(error_of("7") == "f.json: faults[1]: is no object");
  CHECK(error_of(R"({"fault": "flood"})").starts_with(at + "fault: must be one of crash-compute pause"));
  CHECK(error_of(R"({"fault": "crash-compute", "memory": 0})") == at + "memory: unknown field");
  CHECK(error_of(R"({"fault": "crash-compute", "compute": -1})") ==
        at + "compute: must be a whole number from 0 to 99");
  CHECK(error_of(R"({"fault": "crash-compute", "at_ns": 1, "probability": 0.5})") ==
        at + "fault: has more than one of after_transactions, at_ns, probability");
  CHECK(error_of(R"({"fault": "crash-compute", "times": 2})") == at + "times: unknown field");
  CHECK(error_of(R"({"fault": "crash-compute", "probability": 1.5})") ==
        at + "probability: must be a number from 0 to 1");
  CHECK(error_of(R"({"fault": "pause-memory"})") == at + "duration_ns: is missing");
  CHECK(error_of(R"({"fault": "delay-link", "duration_ns": 1})") == at + "delay_ns: is missing");
  CHECK(error_of(R"({"fault": "cut-link", "duration_ns": 1, "direction": "up"})") ==
        at + "direction: must be one of both request reply");
  CHECK(error_of(R"({"fault": "slow-node", "duration_ns": 1, "delay_ns": 1})") ==
        at + "fault: needs compute or memory");
  CHECK(error_of(R"({"fault": "clock-rate", "compute": 0})") == at + "ppm: is missing");
  CHECK(error_of(R"({"fault": "set", "option": "colour", "value": 1})")
            .starts_with(at + "option: unknown option \"colour\"; there are "));
  CHECK(error_of(R"({"fault": "set", "option": "ring_slots"})") == at + "value: is missing");
  CHECK(error_of(R"({"fault": "set", "option": "ring_slots", "value": "1"})") ==
        at + "value: must be a whole number from 0 to 1099511627776");
}

TEST_CASE("a mistake in a file of a workload is named with its file and field", "[faults]") {
  const auto error = [](const std::string& text) {
    return WorkloadFile::parse(text, "w.json").status().message();
  };
  CHECK(error(R"({"workload": "tpc"})") == "w.json.workload: must be one of " + workload_names());
  CHECK(error(R"({"workload": "bank", "size": {"rows": 3}})") == "w.json: size.rows: unknown field");
  CHECK(error(R"({"workload": "bank", "size": {"keys": 1}})") ==
        "w.json: size.keys: must be a whole number from 2 to 1000");
  CHECK(error(R"({"workload": "bank", "absent_keys": 1})") ==
        "w.json.absent_keys: must be a whole number from 0 to 0");
  CHECK(error(R"({"workload": "bank", "fewest_keys": 9})") ==
        "w.json.fewest_keys: exceeds keys_per_transaction");
  const auto file = WorkloadFile::parse(
      R"({"workload": "register", "size": {"keys": 4}, "write_probability": 0.75})", "w.json");
  REQUIRE(file.ok());
  Scenario scenario = Scenario::of_seed(3, file->workload);
  file->apply(scenario);
  CHECK(scenario.size.keys == 4);
  CHECK(scenario.workload_options.write_probability == 0.75);
}

TEST_CASE("a fault's text reads as the same fault, and seeds draw the same each time", "[faults]") {
  FaultCounts drawn{};
  std::uint64_t without = 0;
  std::uint64_t with_shared_snapshots = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Faults faults = draw_faults(seed);
    const Faults again = draw_faults(seed);
    without += faults.empty() ? 1 : 0;
    REQUIRE(again.size() == faults.size());
    for (std::size_t i = 0; i < faults.size(); ++i) {
      CHECK(again[i].text() == faults[i].text());
      CHECK(parse_one(faults[i].text()).text() == faults[i].text());
      ++drawn[static_cast<std::size_t>(faults[i].kind)];
    }
    Scenario scenario = Scenario::of_seed(seed);
    INFO("seed " << seed);
    CHECK(scenario.use_faults(faults, "seed").ok());
    const bool shared = scenario.cluster.worker.snapshot_sharing != txn::SnapshotSharing::own;
    with_shared_snapshots += shared && !faults.empty() ? 1 : 0;
  }
  CHECK(with_shared_snapshots > 40);
  // Of every cluster: the others are drawn for durable ones only.
  for (std::size_t kind = 0; kind < drawn.size(); ++kind)
    CHECK((kind < Fault::kAnyCluster ? drawn[kind] >= 10 : drawn[kind] == 0));
  CHECK((without > 150 && without < 250));
}

TEST_CASE("faults happen when they are asked to, and as often", "[faults]") {
  Bench bench(
      {R"({"fault": "crash-compute", "after_transactions": 5, "compute": 1})",
       R"({"fault": "crash-memory", "at_ns": 1000000})",
       R"({"fault": "abandon-session", "probability": 1, "times": 2, "compute": 0, "duration_ns": 1})"});
  bench.fire(4);
  CHECK(bench.abandoned == std::vector<std::size_t>{0});
  CHECK(bench.crashed.empty());
  bench.fire(5);
  bench.fire(9);
  CHECK(bench.crashed == std::vector<std::size_t>{1});
  CHECK(bench.abandoned.size() == 2);
  CHECK(bench.restarted.empty());
  bench.world.run_for(kMillisecond_ns);
  bench.fire();
  bench.fire();
  CHECK(bench.restarted == std::vector<std::size_t>{0});
  CHECK(to_text(bench.driver->happened()) == "crash-compute 1, crash-memory 1, abandon-session 2");
}

TEST_CASE("a paused compute server does nothing until the pause is over", "[faults]") {
  Bench bench({R"({"fault": "pause-compute", "compute": 0, "duration_ns": 5000000})"});
  CHECK(bench.call_ns(0) < kLong_ns);
  bench.fire();
  CHECK(bench.call_ns(1) < kLong_ns);
  CHECK(bench.call_ns(0) > 4 * kMillisecond_ns);
  CHECK(bench.call_ns(0) < kLong_ns);
}

TEST_CASE("a paused memory server answers no call until the pause is over", "[faults]") {
  Bench bench({R"({"fault": "pause-memory", "memory": 0, "duration_ns": 5000000})"});
  bench.fire();
  CHECK(bench.call_ns(1) > 4 * kMillisecond_ns);
  CHECK(bench.call_ns(0) < kLong_ns);
}

TEST_CASE("a link that is cut both ways loses its connection and gets none until it is over", "[faults]") {
  Bench bench({R"({"fault": "cut-link", "compute": 0, "memory": 0, "duration_ns": 900000000})"});
  bench.fire();
  bench.world.run_for(800 * kMillisecond_ns);
  CHECK_FALSE(bench.cluster->worker(0).ready());
  CHECK(bench.cluster->worker(1).ready());
  bench.world.run_for(5 * kSecond_ns);
  CHECK(bench.cluster->worker(0).ready());
}

TEST_CASE("healing ends a cut at once", "[faults]") {
  Bench bench({R"({"fault": "cut-link", "compute": 0, "memory": 0, "duration_ns": 60000000000})"});
  bench.fire();
  bench.world.run_for(kMillisecond_ns);
  bench.driver->heal();
  bench.world.run_for(5 * kSecond_ns);
  CHECK(bench.cluster->worker(0).ready());
}

TEST_CASE("a link that is cut or delayed one way holds that way up, and that long", "[faults]") {
  for (const char* direction : {"request", "reply"}) {
    const std::string fields =
        std::string(R"(, "compute": 0, "memory": 0, "direction": ")") + direction + "\"";
    Bench cut({R"({"fault": "cut-link", "duration_ns": 40000000)" + fields + "}"});
    cut.fire();
    CHECK(cut.call_ns(1) < kLong_ns);
    CHECK(cut.call_ns(0) > 39 * kMillisecond_ns);
    CHECK(cut.cluster->worker(0).ready());
    cut.world.run_for(100 * kMillisecond_ns);
    CHECK(cut.call_ns(0) < kLong_ns);

    Bench delayed({R"({"fault": "delay-link", "duration_ns": 40000000, "delay_ns": 1000000)" + fields + "}"});
    delayed.fire();
    const std::uint64_t took_ns = delayed.call_ns(0);
    CHECK(took_ns > kMillisecond_ns);
    CHECK(took_ns < 2 * kMillisecond_ns);
    CHECK(delayed.call_ns(1) < kLong_ns);
    delayed.world.run_for(100 * kMillisecond_ns);
    CHECK(delayed.call_ns(0) < kLong_ns);
  }
}

TEST_CASE("a slow node takes longer for everything", "[faults]") {
  for (const char* node : {"compute", "memory"}) {
    Bench bench({std::string(R"({"fault": "slow-node", "duration_ns": 900000000, "delay_ns": 400000, ")") +
                 node + "\": 0}"});
    std::uint64_t before_ns = 0;
    std::uint64_t slow_ns = 0;
    for (int i = 0; i < 20; ++i) before_ns += bench.call_ns(0);
    bench.fire();
    for (int i = 0; i < 20; ++i) slow_ns += bench.call_ns(0);
    CHECK(slow_ns > 5 * before_ns);
  }
}

TEST_CASE("a clock that runs at another rate goes on from where it is", "[faults]") {
  Bench bench({R"({"fault": "clock-rate", "compute": 1, "ppm": 1000})",
               R"({"fault": "clock-rate", "memory": 0, "ppm": -1000})"});
  const auto clock_ns = [&](fabric::sim::SimNode& node) { return node.now_ns(); };
  fabric::sim::SimNode& fast = bench.cluster->node(1);
  fabric::sim::SimNode& slow = *bench.cluster->memory(0).node;
  const std::uint64_t fast_ns = clock_ns(fast);
  const std::uint64_t slow_ns = clock_ns(slow);
  bench.world.run_for(kSecond_ns);
  CHECK((clock_ns(fast) - fast_ns) / 1000 == 1'001'000);
  CHECK((clock_ns(slow) - slow_ns) / 1000 == 999'000);
  CHECK(count_of(bench.driver->happened(), Kind::clock_rate) == 2);
}

TEST_CASE("a clock that is too wrong for a slack that is given is refused, else slack grows", "[faults]") {
  const Fault fast = parse_one(R"({"fault": "clock-rate", "compute": 0, "ppm": 100})");
  Scenario scenario = Scenario::of_seed(1);
  REQUIRE(scenario.use_faults({fast}, "f.json").ok());
  CHECK(scenario.cluster.memory.slack_ns > scenario.cluster.memory.max_transaction_ns / 5000);
  const Fault slack = parse_one(R"({"fault": "set", "option": "slack_ns", "value": 1000})");
  const Status refused = Scenario::of_seed(1).use_faults({fast, slack}, "f.json");
  CHECK(refused.code() == ErrorCode::configuration);
}

TEST_CASE("every option that swarms draw is set", "[faults]") {
  for (const DrawnOption& option : kDrawnOptions) {
    INFO(option.name);
    ClusterOptions options;
    set_option(options, option.name, option.value);
    const std::string name = option.name;
    const std::uint64_t value = name == "ring_slots"             ? options.memory.ring_slots
                                : name == "extent_bytes"         ? options.memory.extent_bytes
                                : name == "journal_bytes"        ? options.memory.journal_bytes
                                : name == "vector_capacity"      ? options.memory.vector_capacity
                                : name == "max_transaction_ns"   ? options.memory.max_transaction_ns
                                : name == "first_counter"        ? options.memory.first_counter
                                : name == "first_slot"           ? options.memory.first_slot
                                : name == "counters_per_slot"    ? options.worker.slot.counters_per_slot
                                : name == "region_bytes"         ? options.region_bytes
                                : name == "location_cache_bytes" ? options.location_cache_bytes
                                : name == "heartbeat_timeout_ns" ? options.memory.heartbeat_timeout_ns
                                                                 : 0;
    CHECK(value == option.value);
  }
}

TEST_CASE("runs go on with slot ids and counters near their end", "[faults]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Scenario scenario = Scenario::of_seed(seed, "register", Emphasis::none);
    scenario.resize({.kills = 1});
    const Fault counter = parse_one(R"({"fault": "set", "option": "first_counter", "value": 4294901752})");
    const Fault slot = parse_one(R"({"fault": "set", "option": "first_slot", "value": 536865911})");
    REQUIRE(scenario.use_faults({counter, slot}, "f.json").ok());
    CHECK(sound_run(scenario).committed > 0);
  }
}

TEST_CASE("a compute server that crashes leaves outcomes unknown and is replaced", "[faults]") {
  std::uint64_t unknown = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Verdict verdict =
        sound_run(registers_with(seed, R"({"fault": "crash-compute", "after_transactions": 15})"));
    CHECK(count_of(verdict.happened, Kind::crash_compute) == 1);
    for (const history::Transaction& transaction : verdict.history.transactions())
      unknown += transaction.outcome == history::Outcome::unknown ? 1 : 0;
  }
  CHECK(unknown > 0);
}

TEST_CASE("a memory server that crashes takes all data along, and the clients go on with new data",
          "[faults]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Verdict verdict =
        sound_run(registers_with(seed, R"({"fault": "crash-memory", "after_transactions": 15})"));
    CHECK(count_of(verdict.happened, Kind::crash_memory) == 1);
    CHECK(verdict.lives == 2);
    CHECK(verdict.committed > 0);
  }
}

TEST_CASE("sessions that are abandoned do not hold up the others", "[faults]") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Verdict verdict = sound_run(registers_with(
        seed, R"({"fault": "abandon-session", "probability": 0.01, "times": 5, "duration_ns": 300000000})"));
    CHECK(count_of(verdict.happened, Kind::abandon_session) > 0);
  }
}

TEST_CASE("leaving out every fault gives the run without faults", "[faults]") {
  std::uint64_t compared = 0;
  for (std::uint64_t seed = 1; compared < 5; ++seed) {
    const Faults faults = draw_faults(seed);
    if (faults.empty()) continue;
    ++compared;
    std::vector<std::size_t> all(faults.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    Scenario bare = Scenario::of_seed(seed);
    Scenario skipping = bare;
    REQUIRE(skipping.use_faults(faults, "seed", all).ok());
    CHECK(skipping.faults.empty());
    CHECK(skipping.flags().ends_with("--faults seed --skip-faults " + [&] {
      std::string list = "0";
      for (std::size_t i = 1; i < all.size(); ++i) list += "," + std::to_string(i);
      return list;
    }()));
    CHECK(sound_run(skipping).fingerprint == sound_run(bare).fingerprint);
  }
}

TEST_CASE("a run under faults is its seed, and one that is not is noticed", "[faults]") {
  std::uint64_t faults = 0;
  for (std::uint64_t seed = kSeedsOfTwice; seed <= 8 * kSeedsOfTwice; seed += kSeedsOfTwice) {
    Scenario scenario = Scenario::of_seed(seed);
    REQUIRE(scenario.use_faults(draw_faults(seed), "seed").ok());
    INFO("namsim run " << scenario.flags());
    const Verdict verdict = run_and_compare(scenario, history::strict_snapshot_isolation());
    CHECK(verdict.anomaly == "");
    for (const std::uint64_t count : verdict.happened) faults += count;
  }
  CHECK(faults > 3);
  Drifting drifting;
  Scenario scenario = Scenario::of_seed(kSeedsOfTwice, "register");
  scenario.cluster.interposer = &drifting;
  CHECK(run_and_compare(scenario, history::strict_snapshot_isolation()).anomaly ==
        "the same seed gives two different runs");
}

}  // namespace namdb::sim

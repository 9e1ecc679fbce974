#include "tools/namsim/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "common/protocols/presets.h"
#include "tools/namsim/scenario/copies_run.h"

namespace namdb::sim {

int report_error(const Status& status) {
  std::fprintf(stderr, "namsim: %s\n", status.message().c_str());
  if (!status.hint().empty()) std::fprintf(stderr, "  %s\n", status.hint().c_str());
  return kEnvironment;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void add_level(CLI::App& command, LevelFlag& flag) {
  std::string all;
  for (const history::Level& level : history::levels())
    all += (all.empty() ? "" : ", ") + std::string(level.name);
  const auto take = [&flag](const std::string& name) {
    const auto level = history::level_from_name(name);
    if (!level) throw CLI::ValidationError("--level", "no isolation level: " + name);
    flag.level = *level;
    flag.given = true;
  };
  command
      .add_option_function<std::string>("--level", take,
                                        "Isolation level to hold the history against: " + all)
      ->default_str(std::string(flag.level.name));
}

void LevelFlag::follow(std::string_view protocol) {
  if (!given) level = promised_level(protocol);
}

int report_usage(const Status& status) {
  report_error(status);
  return kUsage;
}

Status ScenarioFlags::read_files() {
  // Emphases narrow the registers' options.
  if (emphasis && !workload) workload = "register";
  if (read_locks == "shared" && !protocol::find_protocol(protocol)->locks_rows)
    return Status(ErrorCode::configuration, "--read-locks shared: --protocol " + protocol + " locks no rows");
  const txn::LockTime asked = lock_at == "mixed" ? txn::LockTime::fetch : txn::lock_time_of(lock_at);
  const Status lock_time = txn::check_lock_time(asked, *protocol::find_protocol(protocol));
  if (!lock_time.ok()) return lock_time;
  if (workload && !is_workload(*workload)) {
    auto file = WorkloadFile::read(*workload);
    if (!file.ok()) return file.status();
    workload_file = std::move(file).value();
  }
  if (emphasis == Emphasis::inserts && (workload_file ? workload_file->workload : *workload) != "register")
    return Status(ErrorCode::configuration, "--emphasis inserts: only registers can be that");
  if (Status status = check_copies(); !status.ok()) return status;
  if (faults != "seed" && faults != "none") {
    auto file = read_faults(faults);
    if (!file.ok()) return file.status();
    faults_of_file = std::move(file).value();
    Scenario any = copies.empty() ? Scenario::of_seed(1) : Scenario::with_copies(1);
    if (durable) any.make_durable();
    const Status status = any.use_faults(faults_of_file, faults, skip_faults);
    if (!status.ok()) return Status(ErrorCode::configuration, faults + ": " + status.message());
  }
  return {};
}

Status ScenarioFlags::check_copies() const {
  if (copies.empty()) return {};
  const std::optional<std::string> name = workload_file ? workload_file->workload : workload;
  std::string known;
  for (const std::string_view each : kCopiesWorkloads)
    known += (known.empty() ? "" : ", ") + std::string(each);
  if (name && std::ranges::find(kCopiesWorkloads, *name) == kCopiesWorkloads.end())
    return Status(ErrorCode::configuration, "--copies: the workload is one of " + known);
  if (emphasis && *emphasis != Emphasis::none)
    return Status(ErrorCode::configuration, "--copies: there is no emphasis");
  return {};
}

Scenario ScenarioFlags::drawn(std::uint64_t seed) const {
  std::optional<std::string> name = workload_file ? workload_file->workload : workload;
  if (copies.empty()) return Scenario::of_seed(seed, std::move(name), emphasis);
  std::optional<std::uint32_t> hosts;
  if (copies != "seed") hosts = static_cast<std::uint32_t>(copies.front() - '0');
  return Scenario::with_copies(seed, hosts, std::move(name));
}

Scenario ScenarioFlags::without_faults(std::uint64_t seed) const {
  Scenario scenario = drawn(seed);
  if (workload_file) {
    workload_file->apply(scenario);
    scenario.workload_from = *workload;
  }
  scenario.resize(size);
  scenario.cluster.memory.protocol = protocol;
  scenario.cluster.memory.stages = stages;
  scenario.cluster.memory.preset = preset;
  scenario.cluster.memory.shared_read_locks = read_locks == "shared";
  if (protocol::find_protocol(protocol)->timestamps) {
    if (lock_at == "seed") {
      use_lock_times(scenario.cluster, draw_lock_times(seed));
    } else if (lock_at == "mixed") {
      use_lock_times(scenario.cluster, LockTimes::mixed);
    } else {
      scenario.cluster.worker.lock_time = txn::lock_time_of(lock_at);
    }
  }
  if (durable && copies.empty()) scenario.make_durable();
  if (timestamp_vector) scenario.cluster.memory.timestamp_vector = *timestamp_vector;
  return scenario;
}

Scenario ScenarioFlags::scenario(std::uint64_t seed) const {
  Scenario scenario = without_faults(seed);
  if (faults == "none") return scenario;
  Status status =
      scenario.use_faults(faults == "seed" ? scenario.drawn_faults() : faults_of_file, faults, skip_faults);
  // The seed's other draws may not go together with these faults.
  if (!status.ok()) {
    std::fprintf(stderr, "namsim: seed %llu runs without faults: %s\n", static_cast<unsigned long long>(seed),
                 status.message().c_str());
    return without_faults(seed);
  }
  return scenario;
}

void add_scenario_flags(CLI::App& command, ScenarioFlags& flags) {
  command.add_option("--workload", flags.workload,
                     "What clients do, instead of what the seed draws: a file, or " + workload_names());
  std::vector<std::string> protocols;
  for (const protocol::ProtocolTraits& traits : protocol::protocol_traits())
    protocols.emplace_back(traits.name);
  command.add_option("--protocol", flags.protocol, "The database's concurrency control")
      ->check(CLI::IsMember(protocols))
      ->capture_default_str();
  const auto take_stages = [&flags](const std::string& text) {
    const auto code = protocol::StageCode::parse(text);
    if (!code) throw CLI::ValidationError("--stages", "not a stage: " + text);
    flags.stages = *code;
  };
  command
      .add_option_function<std::string>("--stages", take_stages,
                                        "Which stages are two-sided, as of nam-memoryd --stages")
      ->default_str(flags.stages.text());
  const auto take_preset = [&flags](const std::string& name) {
    const protocol::Preset& preset = *protocol::find_preset(name);
    flags.preset = name;
    flags.protocol = preset.protocol;
    flags.stages = preset.stage_code();
  };
  command
      .add_option_function<std::string>("--preset", take_preset,
                                        "Protocol and stages at once, as of nam-memoryd --preset")
      ->check(CLI::IsMember(protocol::preset_names()))
      ->excludes("--protocol", "--stages");
  command.add_option("--read-locks", flags.read_locks, "As of nam-memoryd --read-locks")
      ->check(CLI::IsMember({"none", "shared"}))
      ->capture_default_str();
  command
      .add_option("--lock-at", flags.lock_at,
                  "As of nam-computed --lock-at, under protocols that have it; mixed: every second compute\n"
                  "server otherwise than the others; seed: what the seed draws")
      ->check(CLI::IsMember({"seed", "auto", "commit", "fetch", "mixed"}))
      ->capture_default_str();
  command.add_flag("--durable", flags.durable,
                   "Memory servers keep a database on their disks, and open it when they start again");
  command
      .add_option("--copies", flags.copies,
                  "Each region has so many hosts, its primary included, with databases on disks and a "
                  "configuration store; seed: as many as the seed draws")
      ->check(CLI::IsMember({"seed", "1", "2", "3"}));
  const auto take_spread = [&flags](const std::string& name) {
    flags.timestamp_vector = layout::find_vector_spread(name);
  };
  command
      .add_option_function<std::string>(
          "--timestamp-vector", take_spread,
          "As of nam-memoryd --timestamp-vector, instead of what the seed draws")
      ->check(CLI::IsMember(
          std::vector<std::string>(layout::kVectorSpreadNames.begin(), layout::kVectorSpreadNames.end())));
  std::string emphases;
  for (const std::string_view name : kEmphases)
    emphases += (emphases.empty() ? "" : ", ") + std::string(name);
  const auto take = [&flags](const std::string& name) {
    const auto* const found = std::find(kEmphases.begin(), kEmphases.end(), name);
    if (found == kEmphases.end()) throw CLI::ValidationError("--emphasis", "no emphasis: " + name);
    flags.emphasis = static_cast<Emphasis>(found - kEmphases.begin());
  };
  command.add_option_function<std::string>(
      "--emphasis", take, "What the options are narrowed to, instead of what the seed draws: " + emphases);
  command.add_option("--faults", flags.faults, "What goes wrong: a file, what the seed draws, or none")
      ->capture_default_str();
  command.add_option("--skip-faults", flags.skip_faults, "Positions of faults to leave out, from 0")
      ->delimiter(',');
  for (const Size::Field& field : Size::fields()) {
    command
        .add_option(std::string("--") + field.name, flags.size.*field.value,
                    std::string(field.what) + ", instead of what the seed draws")
        ->check(CLI::Range(field.smallest, field.largest))
        ->group("Size");
  }
}

}  // namespace namdb::sim

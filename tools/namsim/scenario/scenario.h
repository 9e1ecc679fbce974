// One whole simulated run, decided by a seed: a cluster and its options, a workload and its clients, compute
// servers that die, and the verdict. Every option is drawn from the seed, can be printed, and can be set to a
// smaller value, so that a failure can be shrunk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/namsim/cluster/cluster.h"
#include "tools/namsim/history/check.h"
#include "tools/namsim/scenario/emphasis.h"
#include "tools/namsim/scenario/faults.h"
#include "tools/namsim/workloads/workloads.h"

namespace namdb::sim {

// The numbers that a run can be shrunk by.
struct Size {
  std::optional<std::uint64_t> memory_servers;
  std::optional<std::uint64_t> computes;      // at the start; each that dies is replaced
  std::optional<std::uint64_t> clients;       // of a compute server, at most
  std::optional<std::uint64_t> transactions;  // of a client, at most
  std::optional<std::uint64_t> keys;
  std::optional<std::uint64_t> kills;
  friend bool operator==(const Size&, const Size&) = default;

  struct Field {
    const char* name;  // as a flag
    const char* what;
    std::optional<std::uint64_t> Size::* value;
    std::uint64_t smallest;
    std::uint64_t largest;
  };
  // In the order in which shrinking tries them.
  static std::span<const Field> fields();
};

struct Scenario {
  std::uint64_t seed = 1;
  std::string workload = "register";
  Size size;  // every field has a value
  WorkloadOptions workload_options;
  fabric::sim::SimOptions network;
  ClusterOptions cluster;
  Emphasis emphasis = Emphasis::none;
  bool emphasis_given = false;                // not drawn: flags() says it
  std::uint64_t limit_ns = 600 * kSecond_ns;  // of virtual time, for the clients to end
  std::uint64_t think_ns = 0;                 // at most, between two transactions of a client
  std::uint64_t memory_pauses = 0;            // of memory servers, one after the other
  std::uint64_t memory_pause_ns = 0;
  Faults faults;
  // Where they come from and which of them are left out, for flags(): "none", "seed" or a file.
  std::string faults_from = "none";
  std::vector<std::size_t> skipped_faults;
  std::string workload_from;  // a file, if `workload` was read from one
  // Hosts of each region, its primary included; 0: there is no configuration store. Then the run is
  // copies_scenario.h's, in which clients go on until it is over.
  std::uint32_t hosts = 0;
  // Draws the decisions of the run: the number of clients, the times and victims of kills.
  Random draw{0};

  // Every option by the seed; the workload and the emphasis too, unless they are given.
  static Scenario of_seed(std::uint64_t seed, std::optional<std::string> workload = {},
                          std::optional<Emphasis> emphasis = {});
  // These faults, without those at the positions; sets the options that are among them. Error configuration
  // when no cluster can be that way.
  Status use_faults(Faults all, std::string from, std::vector<std::size_t> skipped = {});
  // The same of a cluster whose regions have copies, with as many hosts as given or drawn, 1 to 3. The
  // workload is one of kCopiesWorkloads, and there is no emphasis.
  static Scenario with_copies(std::uint64_t seed, std::optional<std::uint32_t> hosts = {},
                              std::optional<std::string> workload = {});
  // Its memory server keeps a database on a disk. Before use_faults().
  void make_durable();
  // The faults of this seed.
  Faults drawn_faults() const {
    if (hosts != 0) return draw_copies_faults(seed);
    return cluster.durable ? draw_durable_faults(seed) : draw_faults(seed);
  }
  // Takes over the values that `other` has.
  void resize(const Size& other);
  // "--seed 7 --workload bank --keys 3 ...": the flags of namsim run that give this run again.
  std::string flags() const;
  // The drawn options of network, memory servers and workers, for people.
  std::string describe() const;

 private:
  // Softens options, drawn or set by faults, under which no transaction of the workload could commit.
  void fit_workload();
  Status make_up_for_clocks();
};

struct Verdict {
  std::string anomaly;  // empty: all was as it must be
  std::uint64_t transactions = 0;
  std::uint64_t committed = 0;
  // Equal for equal runs: of every event, all generators, the regions at rest and the history.
  std::uint64_t fingerprint = 0;
  std::uint64_t virtual_ns = 0;
  FaultCounts happened{};
  std::uint64_t lives = 1;  // of the data: memory servers that crash begin another
  history::History history{history::Model::registers};
};

// Any of the combinations, all one-sided more often.
protocol::StageCode draw_stages(std::uint64_t seed);

// When compute servers lock what they write, under protocols with timestamps: all at commit, all at the
// fetch, or every second one otherwise than the others.
enum class LockTimes : std::uint8_t { commit, fetch, mixed };
// From a generator of its own, as draw_timestamp_vector().
LockTimes draw_lock_times(std::uint64_t seed);
void use_lock_times(ClusterOptions& cluster, LockTimes times);

// From a generator of its own: the seed's other draws stay as they were. Whole more often.
layout::VectorSpread draw_timestamp_vector(std::uint64_t seed);

// The guarantee of the protocol of that name.
history::Level promised_level(std::string_view protocol);

// Runs it, checks the history at the level, and that the clients finish, every row can be written afterwards,
// no version was lost and the workload's own invariant holds.
Verdict run_scenario(const Scenario& scenario, const history::Level& level);

// The same, and of every kSeedsOfTwice seeds one is run twice: it is an anomaly if the fingerprints differ.
inline constexpr std::uint64_t kSeedsOfTwice = 20;
Verdict run_and_compare(const Scenario& scenario, const history::Level& level);

}  // namespace namdb::sim

// The crash table: a small fixed run (crash_workload.h: commits, transactions that are undone, and
// checkpoints, on a durable cluster) that ends at each of its moments. A moment is
// between two events of the simulated world: before each operation of the fabric and of the disk, and after
// each of its parts. Then the rest of the cluster goes on, what died starts again, and the rows must be those
// of whole commits, with all that were acknowledged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "tools/namsim/cluster/interposer.h"
#include "tools/namsim/scenario/crash_workload.h"

namespace namdb::sim {

// The processes that end at the moment.
enum class CrashVictim : std::uint8_t {
  owner,        // a compute server, in the middle of its transactions; its peer goes on
  memory,       // a memory server, another one by the moment; the compute servers find it again
  all,          // every process
  all_machines  // every process, and the disk has lost its power
};
inline constexpr CrashVictim kCrashVictims[] = {CrashVictim::owner, CrashVictim::memory, CrashVictim::all,
                                                CrashVictim::all_machines};
std::string_view name_of(CrashVictim victim);

struct Crash {
  static constexpr std::uint64_t kOften_ns = 300 * kMicrosecond_ns;

  std::string_view protocol;
  CrashVictim victim = CrashVictim::owner;
  std::uint64_t moment = 0;  // events after the clients began
  // Not 0: at the moment the clients end their transactions and begin no others. So long after, another table
  // is created, whose checkpoint finds no changed row. The victim ends so long after that.
  std::uint64_t quiet_ns = 0;
  // In step with heartbeats, checkpoints begin when all commits are finished. kOften_ns: also between.
  std::uint64_t checkpoint_interval_ns = kMillisecond_ns;
  // So many events after it began to open, what died of the memory servers ends once more in the same way;
  // 0: it does not.
  std::uint64_t again = 0;
  std::uint64_t seed = 1;
  std::uint32_t memory_servers = 1;
  CrashClients clients = CrashClients::plain;
  // "--protocol occ --victim memory --moment 212", for messages.
  std::string text() const;
};

struct CrashVerdict {
  std::string anomaly;        // empty: all was as it must be
  bool crashed = false;       // the moment came
  std::uint64_t moments = 0;  // that there are; of a run that was not crashed
  std::uint64_t acknowledged = 0;
  std::uint64_t answered_early = 0;
  std::uint64_t told = 0;           // that early answers may be lost
  std::uint64_t unknown = 0;        // attempts without an answer
  std::uint64_t unknown_there = 0;  // those of them that happened
  std::uint64_t checkpoints = 0;    // finished before the crash
  std::uint64_t fingerprint = 0;
};

// Never crashed, `moments` and `checkpoints` are of the whole run. Two equal crashes give equal verdicts.
CrashVerdict run_crash(const Crash& crash, Interposer* interposer = nullptr);
CrashVerdict run_without_crash(std::string_view protocol, CrashClients clients = CrashClients::plain,
                               std::uint32_t memory_servers = 1);

}  // namespace namdb::sim

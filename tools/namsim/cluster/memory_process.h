// A memory server's process in a simulated cluster, and what its machine's disk has when the next one begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/fabric/sim/node.h"
#include "common/fabric/sim/server.h"
#include "common/reactor/task.h"
#include "memory/log/testing/fault_disk.h"
#include "memory/opening/checkpoints.h"
#include "memory/opening/durable_database.h"
#include "memory/server/server.h"
#include "tools/namsim/cluster/zeroed_memory.h"

namespace namdb::sim {

// One memory server's process.
struct MemoryProcess {
  fabric::sim::SimNode* node = nullptr;
  memory::testing::FaultDisk* disk = nullptr;  // the machine's: it outlives the process
  ZeroedWords words;
  std::unique_ptr<memory::MemoryServer> server;
  std::unique_ptr<fabric::Service> interposed;  // null without an interposer
  std::unique_ptr<fabric::sim::SimServerFabric> fabric;
  // Of a durable cluster, null before it is opened. Below what they use.
  std::unique_ptr<memory::Disk> interposed_disk;  // null without an interposer that has one
  std::unique_ptr<memory::DurableDatabase> database;
  std::unique_ptr<memory::SweepLog> interposed_log;  // likewise
  std::unique_ptr<memory::Checkpoints> checkpoints;
  std::unique_ptr<reactor::Gate> gate;
  std::optional<Status> opened;  // it serves, or why it does not
  Status failure;                // of its disk: the process has no use any more
};

// The disk that a memory server's next process finds: a new one; that of a killed process, with all bytes
// that had arrived there; or that of a machine that lost its power, with all durable bytes and some of the
// others.
enum class DiskAfter : std::uint8_t { replaced, killed, power_lost };

}  // namespace namdb::sim

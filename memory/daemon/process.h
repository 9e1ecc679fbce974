// The daemon's process has two lives: with its folder's region (region_life.h), and without (vacant_life.h).
// Here are the parts that last through both, and functions that both share.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/registry.h"
#include "common/placement/configuration_store.h"
#include "common/reactor/reactor.h"
#include "common/reactor/signals.h"
#include "common/reactor/task.h"
#include "memory/log/file_disk.h"
#include "memory/placement/place_record.h"
#include "memory/process/flags.h"

namespace namdb::memory {

class WarmRegion;

// The arguments that the process was started with.
struct CommandLine {
  int argc;
  char** argv;
};

// The parts that last as long as the process.
struct Process {
  reactor::Reactor* reactor;
  const fabric::Transport* transport;
  Flags* flags;
  CommandLine command_line;
  FileDisk* disk;
  PlaceKeeper* keeper;           // null at level `memory`
  std::uint64_t* away_since_ns;  // when the region that has come was paused where it was; 0: it was not
  placement::ConfigurationStore* store;  // null: there is none
  // A copy's region in memory, from the life without the region for the life with it.
  std::unique_ptr<WarmRegion>* warm;
};

// Each logs the error, and gives the exit code.
int refuse(const Status& status);
int disk_failed(const Status& failure);

// Until a signal comes: then `stopping` is true, and `stop` is called; or until they are cancelled.
reactor::Task<void> await_end(reactor::Signals* signals, bool* stopping, std::function<void()> stop = {});

// Never 0. Error configuration: the system has no randomness.
Result<std::uint64_t> random_word();

// The transport's server side, with a local path beside it unless `listen_local` is empty.
std::unique_ptr<fabric::ServerFabric> make_fabric(reactor::Reactor& reactor,
                                                  const fabric::Transport& transport,
                                                  const fabric::ServerRegion& region, fabric::Service& server,
                                                  const std::string& listen_local);

}  // namespace namdb::memory

// The flags that `load` and `run` share: where the compute servers are, or how to be one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/nambench/engine/engine_host.h"
#include "tools/support/client/connection.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace namdb::support {
class ServerThread;
}  // namespace namdb::support

namespace namdb::nambench {

struct Wire {
  support::Endpoint endpoint;
  std::vector<std::uint16_t> ports;

  std::vector<support::Endpoint> endpoints() const;
};
void add_wire(CLI::App& command, Wire& wire);

struct EngineFlags {
  bool engine = false;
  bool in_process = false;
  std::string fabric = "shm";
  std::uint64_t region_mib = 1024;
  std::uint32_t memory_servers = 1;  // in this process
  std::string protocol = "si";       // of memory servers in this process, as nam-memoryd's flags
  std::string stages = "one-sided";
  std::string preset;  // instead of both
  std::uint64_t location_cache_mib = 64;
  EngineHostOptions host;

  // Error invalid_parameter_value: flags that do not go together.
  Status check() const;
  // Memory servers in this process, if that is wanted, each on a thread; then the worker.
  Result<std::unique_ptr<EngineHost>> open(std::vector<std::unique_ptr<support::ServerThread>>& servers);
};
void add_engine(CLI::App& command, EngineFlags& flags, bool with_in_process);
// --without, into `list`.
CLI::Option* add_without(CLI::App& command, std::string& list);

}  // namespace namdb::nambench

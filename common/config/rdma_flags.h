// The flags of both daemons for RDMA (--fabric verbs).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace namdb::config {

struct RdmaFlags {
  std::string device;  // empty: the one that the addresses lead to, and so for its port and GID
  std::optional<std::uint8_t> port;
  std::optional<std::uint32_t> gid_index;
  std::optional<std::uint8_t> traffic_class;
  std::uint8_t acknowledge_timeout = 14;
  std::uint8_t retries = 6;
};

// `flags` outlives the app.
void add_rdma_flags(CLI::App& app, RdmaFlags& flags);

// After parsing: the reason why the flags do not fit that fabric, or empty if they do.
std::string wrong_rdma_flags(const RdmaFlags& flags, const std::string& fabric);

}  // namespace namdb::config

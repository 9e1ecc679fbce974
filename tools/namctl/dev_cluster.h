// A cluster of daemons on this machine, started and stopped in the background: `namctl dev up` and `dev
// down`.
//
// Guarantees: `up` returns when every compute server accepts clients; or it fails with the reason, and leaves
// no daemon running that it started. It starts only daemons that are not running: a second call does nothing,
// and a call after a daemon died starts that daemon again. But with durability `memory` and several memory
// servers all are restarted together when one died, and are empty then: a server's data is of no use without
// the others'. Signals go only to processes that an up of the same folder started. Two calls on one folder
// wait for each other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/error.h"
#include "tools/namctl/dev_options.h"

namespace namdb::namctl {

Result<DevCluster> dev_up(const DevOptions& options, const Progress& progress);
// How many daemons were stopped. One that does not end within the time is killed. With `discard` all data of
// the cluster is removed, and its options are forgotten.
Result<std::uint32_t> dev_down(const std::filesystem::path& data, std::uint32_t timeout_s, bool discard,
                               const Progress& progress);
// Which daemons run; an error when no cluster was ever started there.
Result<DevCluster> dev_state(const std::filesystem::path& data);

// "psql ..." as a person would type it.
std::string psql_line(std::uint16_t sql_port);

}  // namespace namdb::namctl

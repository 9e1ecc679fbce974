// The settings of a cluster of `namctl dev up`, and the command lines of its daemons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "tools/namctl/dev_options.h"

namespace namdb::namctl {

std::string sql_address(const ClusterFile& cluster, std::uint32_t server);
// Where the daemons are that stand beside this program; an error when it is not there.
Result<std::string> daemon_program(const char* name);
// The workloads' procedures of this build; it may not be there.
std::filesystem::path workloads_library();
bool any_runs(const DevCluster& cluster);
// Whether a memory server has written a database into its folder.
bool has_data(const std::filesystem::path& data, const ClusterFile& settings);

// The settings to run with: those of the folder's cluster, changed by the options that are given. An error
// when that cluster runs and they are others, or when its data does not go with them.
Result<ClusterFile> settle(const DevOptions& options, const std::optional<DevCluster>& present);
// Chooses the addresses of a cluster of which nothing runs.
Result<std::vector<std::string>> choose_memory_addresses(const std::filesystem::path& data,
                                                         const ClusterFile& settings,
                                                         const DevOptions& options);

// A socket in the folder for each host.
Result<std::vector<std::string>> choose_sockets(const std::filesystem::path& data,
                                                const ClusterFile& settings);

std::vector<std::string> memory_command(const std::string& program, const DevOptions& options,
                                        const ClusterFile& settings, std::uint32_t host);
std::vector<std::string> compute_command(const std::string& program, const DevOptions& options,
                                         const ClusterFile& settings, std::uint32_t server);

}  // namespace namdb::namctl

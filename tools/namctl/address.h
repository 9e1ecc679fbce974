// Addresses of a local cluster: which are free, which answer, and where sockets may lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "common/base/error.h"

namespace namdb::namctl {

// Whether a process could listen on that port of the loopback address now.
bool port_is_free(std::uint16_t port);
// Whether something accepts connections at unix:PATH or 127.0.0.1:PORT.
bool answers(const std::string& address);
// Where the socket `name` of the cluster lies: in DIR/run, or, where that path is too long for a socket, in a
// folder of the user's own under /tmp. Errors: configuration.
Result<std::filesystem::path> socket_path(const std::filesystem::path& data, const std::string& name);

}  // namespace namdb::namctl

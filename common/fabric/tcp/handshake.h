// What both sides of a new connection say before the first request (frames.h). Everything received is outside
// input; a peer that is not what it should be gets a Status that says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/fabric/tcp/cluster_key.h"
#include "common/fabric/tcp/link.h"
#include "common/reactor/task.h"

namespace namdb::fabric::tcp {

// As the client: gives the server's welcome. Errors: connection_failure, protocol_violation,
// invalid_authorization, and what the server's service refused with.
reactor::Task<Result<std::string>> greet_server(Link& link, std::optional<ClusterKey> key, std::string hello,
                                                std::uint64_t deadline_ns);

// As the server: gives the client's hello. The client is still to be answered.
reactor::Task<Result<std::string>> greet_client(Link& link, std::optional<ClusterKey> key,
                                                std::uint64_t deadline_ns);
void answer(Link& link, const std::string& bytes);
void refuse(Link& link, const Status& status);

}  // namespace namdb::fabric::tcp

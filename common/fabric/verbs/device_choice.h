// How addresses and RDMA devices belong together. Rdma_cm finds device, port and GID by the local address to
// which a connection or a listener is bound. So a choice by name is first turned into such an address, and
// the result is compared with the choice.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/error.h"
#include "common/fabric/verbs/options.h"
#include "common/reactor/socket_address.h"

namespace namdb::fabric::verbs {

// HOST:PORT. Errors (configuration).
Result<reactor::SocketAddress> resolve(const std::string& address, bool to_listen);

// The HOST to bind to, of AF_INET or AF_INET6, for the chosen device, port and GID; of a choice without a
// GID the first one of that family. Empty where no device is chosen, or where GIDs are not addresses
// (InfiniBand). Errors (configuration): there is no such device, port or GID.
Result<std::string> host_of(const DeviceChoice& choice, int family);

// Errors (configuration): the bound identifier leads to a device, port or GID that was not chosen. `address`
// is for the message.
Status check(const DeviceChoice& choice, const rdma_cm_id& id, const std::string& address);

// Where the port's table has the GID for packets that can be routed (RoCE v2, or InfiniBand).
std::optional<std::uint32_t> gid_index_of(ibv_context* context, std::uint8_t port, const ibv_gid& gid);

// As addresses are written, which RoCE's GIDs are.
std::string gid_text(const ibv_gid& gid);

}  // namespace namdb::fabric::verbs

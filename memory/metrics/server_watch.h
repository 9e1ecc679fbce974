// The watch over a memory server that serves (common/metrics/daemon_watch.h). One reactor's thread.
#pragma once

#include "common/fabric/fabric.h"
#include "common/metrics/daemon_watch.h"
#include "memory/server/server.h"

namespace namdb::memory {

// Both outlive the watch. It is well as long as its reactor turns.
metrics::DaemonWatch::Subject watched(const MemoryServer& server, const fabric::ServerFabric& fabric);

}  // namespace namdb::memory

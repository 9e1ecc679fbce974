// Bytes and descriptors over the unix socket, before a channel exists.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/shm/descriptor.h"
#include "common/reactor/reactor.h"
#include "common/reactor/task.h"

namespace namdb::fabric::shm {

// Sends all bytes, at least one, and passes the descriptors, at most 3, along with the first. The descriptors
// stay open and the caller's. Errors: connection_failure.
reactor::Task<Status> send_all(reactor::Reactor* reactor, int socket, std::string bytes,
                               std::vector<int> descriptors);

// Receives exactly so many bytes; descriptors that come along are added to `descriptors`.
reactor::Task<Status> receive_all(reactor::Reactor* reactor, int socket, char* bytes,
                                  std::size_t length_bytes, std::vector<Descriptor>* descriptors);

// True if the descriptor is an eventfd. A peer's descriptor is written to only if it is.
bool is_eventfd(int descriptor);

}  // namespace namdb::fabric::shm

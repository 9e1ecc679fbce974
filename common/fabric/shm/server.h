// The server side of the shared-memory transport. The memory server creates the region as a memfd; a peer
// that may connect gets the descriptor over the unix socket and maps it.
//
// A peer may connect if its user is the server's or root. Only its owner can reach the socket's file (0600)
// and its directory (0700, created if it is missing).
//
// A connection that has not said hello within a second is dropped, and there are few of these
// (unauthenticated_peers.h).
//
// Fencing. A peer that has mapped the region can write to it as long as it runs. So to fence a peer in
// another process, the server sends a SIGKILL through the pidfd that it opened when the peer connected, and
// waits until the pidfd reports that all threads of the process have ended. That ends all channels of the
// process. A channel whose socket closes without goodbye, or that breaks the protocol, is treated the same.
// Only a channel that said goodbye is released without a kill (its last instruction on the region came
// before). A peer in the server's own process (tests) is asked to close, and waited for: its reactor must
// run. With `fence_patience_ns` other processes, too, are asked first, and killed when that time is over.
// This is for peers that are fenced because they ended a connection to another memory server: they will soon
// say goodbye by themselves.
//
// close() asks all peers to close first, and fences those that have not done so after a second.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/fabric/fabric.h"
#include "common/fabric/refusal_log.h"
#include "common/fabric/registry.h"
#include "common/fabric/served_region.h"
#include "common/fabric/shm/descriptor.h"
#include "common/fabric/shm/mapping.h"
#include "common/fabric/shm/pipe.h"
#include "common/fabric/unauthenticated_peers.h"
#include "common/reactor/poll_source.h"
#include "common/reactor/reactor.h"
#include "common/reactor/socket.h"
#include "common/reactor/socket_listener.h"
#include "common/reactor/wake_descriptor.h"

namespace namdb::fabric::shm {

class LoopbackChannel;

class ShmServerFabric final : public ServerFabric, public reactor::PollSource {
 public:
  // The region's mapping and memfd stay the caller's and outlive this object. From listen() on the memfd
  // cannot shrink, if it was created so that seals can be added.
  ShmServerFabric(reactor::Reactor& reactor, const ServerRegion& region, Service& service,
                  std::uint64_t fence_patience_ns = 0);
  // Needs close() before.
  ~ShmServerFabric() override;

  std::string_view name() const override { return "shm"; }
  // `address` is unix:PATH.
  reactor::Task<Status> listen(std::string address) override;
  reactor::Task<void> fence(PeerId peer) override;
  Channel& loopback() override;
  void grow(std::size_t length_bytes) override;
  void describe(Facts& facts) const override;
  reactor::Task<void> close() override;

  bool poll() override;
  bool prepare_sleep() override;
  void cancel_sleep() override;

 private:
  class Peer;

  reactor::Task<void> accept_peers();
  reactor::Task<void> admit(Descriptor socket);
  // Leaves the seat, and says that it is over with the time limit, when the client has said hello.
  reactor::Task<Status> shake_hands(Descriptor* socket, PeerId id, std::unique_ptr<Peer>* peer,
                                    UnauthenticatedPeers::Seat* seat, bool* over);
  // Shuts the socket down if the handshake takes too long.
  reactor::Task<void> limit_handshake(std::shared_ptr<bool> over, int socket);
  reactor::Task<void> handle_call(PeerId id, FrameHeader header, std::string request);
  // The peer's socket has ended: makes sure that it is harmless, then reports it.
  reactor::Task<void> retire(PeerId id);

  reactor::Reactor& reactor_;
  ServedRegion served_;
  reactor::WakeDescriptor wake_;
  std::unique_ptr<reactor::SocketListener> listener_;
  std::map<PeerId, std::unique_ptr<Peer>> peers_;
  std::unique_ptr<LoopbackChannel> loopback_;
  std::uint64_t fence_patience_ns_;
  bool closed_ = false;
  UnauthenticatedPeers unauthenticated_;
  RefusalLog refusals_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t killed_ = 0;
};

}  // namespace namdb::fabric::shm

// The server's end of one connection: gives calls to the service, each as a task. Where the peer sends
// datagrams, a call that comes again is not run again, but answered again. A connection may carry several
// peers (wire.h): all end with it, and each may leave before. Reactor's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/served_region.h"
#include "common/fabric/verbs/datagrams.h"
#include "common/fabric/verbs/link.h"
#include "common/fabric/verbs/region_keys.h"
#include "common/fabric/verbs/wire.h"
#include "common/reactor/task.h"

namespace namdb::fabric::verbs {

// The state of calls that all connections of a server share, beside the region. Destroyed after them.
struct CallsServed {
  std::unique_ptr<DatagramPort> datagrams;  // null: the device has none
  std::uint64_t doubled = 0;                // calls that came again
};

// The key and token of a peer that has passed the handshake.
struct Admission {
  std::unique_ptr<PeerKey> key;
  std::uint64_t token = 0;
};

class ServerConnection final : private LinkHandler, private DatagramUser {
 public:
  // `peer` is member 0.
  ServerConnection(ConnectionOwner& owner, ServedRegion& served, CallsServed& calls, PeerId peer,
                   std::unique_ptr<Link> link, Admission admission);
  // No call runs any more.
  ~ServerConnection();

  void start() { link_->start(*this); }
  // Nothing more is executed or sent. `reason` goes to the log. From within a completion, too.
  void close(const std::string& reason, bool is_fault);
  // After close(): nothing of the peer reaches the region any more when this returns.
  void destroy();

  std::size_t running_calls() const { return running_calls_; }
  // All that have not left.
  std::vector<PeerId> peers() const;
  // After destroy(): those whose calls have ended are taken out, to be reported as disconnected.
  std::vector<PeerId> take_idle_peers();
  // Whether it is one of them, and whether it has said that it leaves: then nothing of it is on its way any
  // more.
  bool carries(PeerId peer) const;
  bool is_leaving(PeerId peer) const;
  // Asks the peer to leave.
  void evict(PeerId peer);

 private:
  struct Member {
    PeerId peer = 0;
    std::size_t running_calls = 0;
    bool leaving = false;
  };
  struct CallContext {
    std::uint64_t id;
    MessageKind kind;
    MemberId member;
    std::uint16_t method;
    std::string request;
    std::string reply;
  };

  // The last call in a slot.
  struct Answered {
    std::uint32_t uses = 0;
    bool running = false;
    // Whether it came by the connection: the client has given up on datagrams for it, and asks only once.
    bool by_connection = false;
    MessageKind kind = MessageKind::reply;
    // Whether the answer was sent as a datagram: then it is kept, for it may have been lost.
    bool kept = false;
    std::string reply;
  };

  void on_message(const MessageHeader& header, std::string payload) override;
  void on_datagram(const MessageHeader& header, std::string payload) override;
  bool on_tick(std::uint64_t) override { return false; }
  void on_datagrams_broken() override {}
  void accept_datagrams(const std::string& address);
  // True if it is to be run; otherwise it has come before, and is answered as it was, by datagram if it came
  // as one.
  bool is_new(std::uint64_t number, bool by_datagram);
  void start_call(const MessageHeader& header, std::string payload);
  reactor::Task<Status> run(CallContext* call);
  Status join(MemberId id, std::string_view hello, std::string& welcome);
  reactor::Task<void> leave(MemberId id);
  void answer(CallContext& call, MessageKind kind);
  void on_lost(Status status) override;
  reactor::Task<void> run_call(std::unique_ptr<CallContext> call);

  ConnectionOwner& owner_;
  ServedRegion& served_;
  CallsServed& calls_;
  PeerId peer_;
  std::map<MemberId, Member> members_;
  std::unique_ptr<Link> link_;
  Admission admission_;
  bool uses_datagrams_ = false;
  std::vector<Answered> answered_;  // by slot, where datagrams are used
  bool closed_ = false;
  std::size_t running_calls_ = 0;
  std::size_t running_call_bytes_ = 0;
  std::vector<std::unique_ptr<CallContext>> free_calls_;
};

}  // namespace namdb::fabric::verbs

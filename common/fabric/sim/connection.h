// The simulated network: it carries operations and calls from post() to completion, according to the contract
// in fabric.h and no kinder. All decisions are drawn from the world's generator when an operation is posted
// or its connection is cut; the events then only carry them out:
//
//  * An operation's words move at up to tear_steps instants, each word at one of them, in any order.
//  * start(WRITE) is after the end of every earlier WRITE of the connection; start(READ) after the end of
//    every earlier WRITE and atomic; start(atomic) after the end of every earlier atomic; with `fence` also
//    after the end of every earlier READ and atomic. Otherwise operations of a connection, and of one batch,
//    happen in any order. In particular an atomic may overtake an earlier WRITE.
//  * A WRITE's source is read when the words land; the destination of a READ or an atomic may hold garbage,
//    or some of the words, until the completion.
//  * A cut decides the fate of operations in flight. A suffix of the WRITEs and a suffix of the atomics are
//    dropped (an operation behind a fence happens only if the atomics before it do). The others still happen,
//    before the server reports the peer as disconnected. The client learns of the cut at a time of its own.
//
// One connection is one client channel and its peer at the server. Connections live as long as the network.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/sim/event_queue.h"
#include "common/fabric/sim/node.h"
#include "common/fabric/sim/options.h"
#include "common/fabric/sim/scheduler.h"
#include "common/fabric/sim/served_node.h"

namespace namdb::fabric::sim {

class Connection;
struct BatchEvent;

// One posted operation.
struct OperationEvent final : Event {
  Connection* connection;
  BatchEvent* batch;
  Operation operation;
  std::uint64_t sequence;   // posting order within the connection
  std::size_t slot;         // in Connection::in_flight_
  std::uint64_t end_ns;     // of the effect
  std::uint64_t gap_ns;     // between steps
  std::uint64_t tear_seed;  // which word moves in which step
  std::uint32_t steps;
  std::uint32_t steps_allowed;  // less than steps for the WRITE that a cut stopped in the middle
  std::uint32_t step;           // the next one; == steps: only the landing is left
  bool late;                    // what comes back goes through `words` and lands with the completion
  bool dropped;
  bool detached;            // after a cut: `words` is the source, nothing local is touched
  bool stale;               // a split atomic, and another atomic changed its word in between
  std::uint64_t old_value;  // atomics
  std::vector<std::uint64_t> words;
  void fire() override;
};

// One posted batch, until its completion at the client.
struct BatchEvent final : Event {
  Connection* connection;
  Batch* batch;      // null when the client was told already
  std::size_t slot;  // in Connection::batches_
  std::uint64_t completion_ns;
  bool broken;  // an operation was dropped: completes only with the connection's error
  bool fired;
  void fire() override;
};

// One call: to the server, in its handler, back.
struct CallEvent final : Event {
  enum class Phase { request, handler, reply };
  Connection* connection;
  Call* call;        // null when the client was told already
  std::size_t slot;  // in Connection::calls_
  Phase phase;
  bool dropped;
  bool fired;  // dropped, and not in the queue any more
  std::uint64_t arrive_ns;
  std::uint16_t method;
  std::string request;
  std::string reply;
  Status status;
  void fire() override;
};

class Connection {
 public:
  enum class State { open, cut, drained };

  Connection(Network& network, SimNode& client, ServedNode& server, PeerId peer, bool loopback);

  void post(Batch& batch);
  void post(Call& call);
  // Ends the connection; the reason is what the client's pending and later posts complete with.
  void cut(Status reason);
  // The client's channel goes away, now: pending posts complete with an error, no local memory is touched any
  // more, the connection is cut.
  void detach_client();
  // A handler has ended; the reply travels to the client.
  void reply_later(CallEvent& call);
  // The server has executed or dropped everything.
  void finish();
  // The server did not accept: there was never a channel.
  void refuse();
  void set_delay(std::uint64_t request_ns, std::uint64_t reply_ns) {
    request_delay_ns_ = request_ns;
    reply_delay_ns_ = reply_ns;
  }
  // The client learned of the end: later posts complete with an error.
  bool client_failed() const { return client_failed_; }

  PeerId peer() const { return peer_; }
  SimNode& client() { return client_; }
  ServedNode* server() { return server_; }
  State state() const { return state_; }

 private:
  friend class Network;
  friend struct BatchEvent;
  friend struct CallEvent;
  friend struct OperationEvent;

  // Once the client noticed the cut, and once nothing of the connection reaches the server any more.
  struct NoticeEvent final : Event {
    Connection* connection;
    void fire() override;
  };
  struct DrainedEvent final : Event {
    Connection* connection;
    void fire() override;
  };

  Status validate(const Operation& operation) const;
  // Draws when and in which pieces the operation happens.
  OperationEvent& plan(const Operation& operation, BatchEvent& batch);
  void cut_in_flight(bool server_gone, std::uint64_t& last_effect_ns);
  void end(Status reason, bool server_gone);
  // Completes all that is pending with the connection's error, at once.
  void fail_pending();
  void server_died();
  // The client node was killed: nothing completes any more, but waiting tasks stay reachable.
  void abandon_client();

  Network& network_;
  Scheduler& scheduler_;
  SimNode& client_;
  ServedNode* server_;  // null once drained, or the server is gone
  PeerId peer_;
  State state_ = State::open;
  bool client_failed_ = false;
  Status failure_;
  std::uint64_t draw_request_ns() const {
    return request_.draw(scheduler_.random()) * factor_ + request_delay_ns_;
  }
  std::uint64_t draw_reply_ns() const { return reply_.draw(scheduler_.random()) * factor_ + reply_delay_ns_; }

  Latency request_;
  Latency reply_;
  std::uint64_t factor_ = 1;
  std::uint64_t request_delay_ns_ = 0;
  std::uint64_t reply_delay_ns_ = 0;
  std::uint64_t sequence_ = 0;
  std::uint64_t writes_end_ns_ = 0;
  std::uint64_t atomics_end_ns_ = 0;
  std::uint64_t reads_end_ns_ = 0;
  std::vector<OperationEvent*> in_flight_;  // not yet taken effect, READs not yet landed
  std::vector<BatchEvent*> batches_;        // not yet completed at the client
  std::vector<CallEvent*> calls_;           // not yet completed at the client
  NoticeEvent notice_;
  DrainedEvent drained_;
};

// A client's wish to connect, on its way to the server and back. Lives in the frame of connect().
struct ConnectEvent final : Event, Completion {
  enum class Phase { request, handler, reply };
  Network* network;
  SimNode* client;
  std::string address;
  std::string hello;
  Phase phase = Phase::request;
  ServedNode* server = nullptr;
  Connection* connection = nullptr;
  std::string welcome;
  Status result;
  void fire() override;
  void reply_later();
};

class Network {
 public:
  explicit Network(Scheduler& scheduler) : scheduler_(scheduler) {}

  Scheduler& scheduler() { return scheduler_; }
  Connection& connect(SimNode& client, ServedNode& server, bool loopback);
  ServedNode* find_server(const std::string& address) const;
  void add_server(const std::string& address, ServedNode& server) { servers_[address] = &server; }
  void remove_server(ServedNode& server);
  std::size_t cut_between(SimNode& a, SimNode& b);
  void node_died(SimNode& node);
  // The server object goes away cleanly: only its loopback can be left.
  void server_closed(ServedNode& server);
  // Gives the buffers of killed nodes back to the system.
  void discard_pools();
  void delay(SimNode& a, SimNode& b, std::uint64_t request_ns, std::uint64_t reply_ns);
  void block(SimNode& a, SimNode& b, bool blocked);
  bool blocked(const SimNode& a, const SimNode& b) const;

  ObjectPool<OperationEvent> operations;
  ObjectPool<BatchEvent> batches;
  ObjectPool<CallEvent> calls;
  // Every connect that is under way.
  std::vector<ConnectEvent*> connects;
  // Local buffers by node.
  std::vector<std::pair<const SimNode*, LocalPool*>> pools;
  // Atomics between their fetch and their store.
  std::vector<OperationEvent*> split_atomics;

 private:
  Scheduler& scheduler_;
  PeerId next_peer_ = 1;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::map<std::string, ServedNode*, std::less<>> servers_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint64_t, std::uint64_t>> delays_;
  std::set<std::pair<std::uint32_t, std::uint32_t>> blocked_;
};

}  // namespace namdb::fabric::sim

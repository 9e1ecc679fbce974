// DatagramPort: one unreliable queue pair of a device, over which calls that fit into a packet may go between
// a process and all its peers, instead of over each peer's own reliable one. A datagram may be lost, doubled,
// or overtake another; the port's users handle that (client_channel.h, server_connection.h). Peers know each
// other by a token that their reliable connection brought; datagrams of others are dropped. Reactor's thread.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/facts.h"
#include "common/fabric/queue.h"
#include "common/fabric/verbs/completion_handler.h"
#include "common/fabric/verbs/descriptor_watch.h"
#include "common/fabric/verbs/device.h"
#include "common/fabric/verbs/wire.h"
#include "common/reactor/executor.h"

namespace namdb::fabric::verbs {

class Endpoint;

// The port's user for one peer.
class DatagramUser {
 public:
  // From within completions, as with messages. `payload` is outside input.
  virtual void on_datagram(const MessageHeader& header, std::string payload) = 0;
  // Every few milliseconds once want_ticks() was called, until this is false.
  virtual bool on_tick(std::uint64_t now_ns) = 0;
  // The port is of no use any more. Not the place to leave it.
  virtual void on_datagrams_broken() = 0;

 protected:
  ~DatagramUser() = default;
};

struct DatagramCounters {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t dropped = 0;  // not sent for lack of room, or received from strangers
};

class DatagramPort final : private reactor::TurnHook, private CompletionHandler {
 public:
  static constexpr std::uint64_t kTick_ns = 5 * kMillisecond_ns;

  explicit DatagramPort(Device& device) : device_(device) {}
  DatagramPort(const DatagramPort&) = delete;
  DatagramPort& operator=(const DatagramPort&) = delete;
  // No user is left.
  ~DatagramPort() override;

  // `lose_every`: for tests, one in so many datagrams is lost and another one doubled; 0: none. Errors
  // (limit_exceeded): the device has no more queue pairs.
  Status create(std::uint8_t port, std::uint32_t send_queue_depth, std::uint32_t lose_every);
  // The address that peers send to. 0 when there is no queue pair, or it is broken.
  DatagramAddress address() const;
  bool broken() const { return broken_; }

  // From now on the user hears what its peer sends with the token. `connection` is connected to the peer.
  Status join(std::uint64_t token, Endpoint& connection, const DatagramAddress& peer, DatagramUser& user);
  void leave(std::uint64_t token);
  // Whether a payload of this length can go to the peer that has joined with the token.
  bool fits(std::uint64_t token, std::size_t length_bytes) const;
  // At the end of the turn; dropped if there is no room then.
  void send(std::uint64_t token, const MessageHeader& header, std::string_view payload);
  void want_ticks();

  const DatagramCounters& counters() const { return counters_; }
  void describe(Facts& facts) const;

 private:
  struct Peer {
    DatagramUser* user;
    ibv_ah* handle;
    DatagramAddress address;
    std::size_t max_payload_bytes;
  };
  struct Outgoing {
    std::byte* buffer;
    std::uint32_t length_bytes;
    std::uint64_t token;
  };
  struct InFlight {
    std::uint64_t sequence = 0;
    std::byte* buffer = nullptr;
  };

  void on_sent(const ibv_wc& completion) override;
  void on_received(const ibv_wc& completion, std::span<const std::byte> bytes) override;
  void on_device_error(const std::string& reason) override { fail(reason); }
  void end_of_turn() override;
  void fail(const std::string& reason);
  void on_timer();
  void free_handles();

  Device& device_;
  ibv_qp* queue_pair_ = nullptr;
  std::uint32_t key_ = 0;
  std::uint32_t depth_ = 0;
  std::uint32_t max_inline_bytes_ = 0;
  std::uint32_t lose_every_ = 0;
  bool broken_ = false;
  bool scheduled_ = false;
  bool ticking_ = false;
  int timer_ = -1;
  std::optional<DescriptorWatch> timer_watch_;
  DatagramCounters counters_;
  std::map<std::uint64_t, Peer> peers_;  // by token
  std::vector<Outgoing> outgoing_;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t first_in_queue_ = 0;
  Queue<InFlight> in_flight_;
  // A handle is kept until all that was posted with it has left: the device may look at it as late as then.
  std::vector<std::pair<std::uint64_t, ibv_ah*>> old_handles_;
  std::vector<ibv_send_wr> requests_;  // being built
  std::vector<ibv_sge> places_;        // theirs
};

}  // namespace namdb::fabric::verbs

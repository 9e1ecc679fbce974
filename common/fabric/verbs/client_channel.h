// The client's end of one connection, which workers may share (communicator.h). Calls go over it or, through
// a port that it shares with others, as datagrams: those are sent again until they are answered, and over the
// connection if that does not help. Reactor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/queue.h"
#include "common/fabric/verbs/datagrams.h"
#include "common/fabric/verbs/link.h"
#include "common/fabric/verbs/wire.h"

namespace namdb::fabric::verbs {

// Shares the connection among members.
class MembersHandler {
 public:
  // The server wants the member to leave.
  virtual void on_evicted(MemberId member) = 0;
  // The connection is of no use any more. Not the place to destroy it.
  virtual void on_channel_failed(const Status& status) = 0;

 protected:
  ~MembersHandler() = default;
};

class VerbsChannel final : public Channel,
                           private LinkHandler,
                           private DatagramUser,
                           private reactor::TurnHook {
 public:
  VerbsChannel(reactor::Reactor& reactor, LocalPool& pool, std::unique_ptr<Link> link,
               const RegionAccess& access);
  ~VerbsChannel() override;
  // After construction. `port`: for datagrams, or null; outlives the channel.
  void start(DatagramPort* port);

  bool atomics_with_cpu() const override { return atomics_with_cpu_; }
  bool failed() const override { return !failure_.ok(); }
  void give_up(Status reason) override { fail(std::move(reason)); }
  LocalPool& pool() override { return pool_; }
  void describe(Facts& facts) const override;
  // The same without the channel's counters. `counted`: with the queue pair's counters.
  void describe_connection(Facts& facts, bool counted) const;
  std::size_t region_bytes() const { return region_bytes_; }
  Device& device() { return link_->endpoint().device(); }

  // --- for its sharer; the handler outlives the channel's use ---
  void share(MembersHandler& handler) { members_handler_ = &handler; }
  // As post(), for a member: a call, join or leave.
  void post_as(MemberId member, MessageKind kind, Call& call);
  // Ends it, as a loss of the connection would.
  void break_off(Status status) { fail(std::move(status)); }
  const EndpointCounters& endpoint_counters() { return link_->endpoint().counters(); }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  void on_message(const MessageHeader& header, std::string payload) override;
  void on_lost(Status status) override;
  void end_of_turn() override { finish(); }
  void on_datagram(const MessageHeader& header, std::string payload) override;
  bool on_tick(std::uint64_t now_ns) override;
  void on_datagrams_broken() override;

  struct Posted {
    Call* call = nullptr;
    MessageKind kind = MessageKind::call;
    MemberId member = 0;
  };
  struct Slot {
    Call* call = nullptr;  // null when the slot is free
    MessageKind kind = MessageKind::call;
    MemberId member = 0;
    std::uint32_t uses = 0;
    std::uint32_t tries = 0;      // as a datagram
    std::uint64_t resend_ns = 0;  // when it is sent again; never once it went over the connection
  };
  // Sends what the window allows.
  void send_calls();
  void transmit(std::uint32_t slot);
  std::uint64_t number_of(std::uint32_t slot) const { return std::uint64_t{slots_[slot].uses} << 32 | slot; }
  void answer(std::uint32_t slot, MessageKind kind, std::string payload);
  void fail(Status status);
  // After a failure: lets go of the queue pair, then completes all that is pending.
  void finish();

  reactor::Reactor& reactor_;
  LocalPool& pool_;
  std::unique_ptr<Link> link_;
  bool atomics_with_cpu_;
  std::size_t region_bytes_;
  MembersHandler* members_handler_ = nullptr;
  Status failure_;
  bool finished_ = false;
  Queue<Posted> waiting_;  // for the window
  std::size_t running_ = 0;
  std::size_t running_bytes_ = 0;  // of their requests
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  DatagramPort* port_ = nullptr;
  std::uint64_t token_;
  DatagramAddress peer_port_;
  std::uint64_t resent_ = 0;
};

}  // namespace namdb::fabric::verbs

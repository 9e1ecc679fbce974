// A connection that the workers of a process share, and one worker's part of it. On the communicator's
// thread.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <span>
#include <string>
#include <vector>

#include "common/fabric/verbs/client_channel.h"
#include "common/fabric/verbs/parcel.h"
#include "common/reactor/mailbox.h"
#include "common/reactor/task.h"

namespace namdb::fabric::verbs {

class Member;

class SharedConnection final : private MembersHandler {
 public:
  SharedConnection(std::string address, std::unique_ptr<VerbsChannel> channel);
  // No member is left. Not from within a completion.
  ~SharedConnection();

  const std::string& address() const { return address_; }
  VerbsChannel& channel() { return *channel_; }
  // Whether another member can join.
  bool usable() const { return !channel_->failed() && !ids_.all(); }
  std::size_t take_id();
  void give_back_id(std::size_t id) { ids_.reset(id); }
  void add(Member& member) { members_.push_back(&member); }
  void remove(Member& member) { std::erase(members_, &member); }
  std::size_t members() const { return members_.size(); }
  bool is_first(const Member& member) const { return members_.front() == &member; }

 private:
  void on_evicted(MemberId member) override;
  void on_channel_failed(const Status& status) override;

  std::string address_;
  std::unique_ptr<VerbsChannel> channel_;
  std::bitset<kMaxMembers> ids_;
  std::vector<Member*> members_;
};

// Keeps the members, and outlives them: the communicator.
class MemberOwner {
 public:
  virtual reactor::Reactor& reactor() = 0;
  // Starts a task that the owner awaits before its end.
  virtual void spawn(reactor::Task<void> task) = 0;
  // Ends the connection unless `done` becomes true in time. `what` is the reason then.
  virtual void watch(std::weak_ptr<SharedConnection> connection, std::shared_ptr<bool> done, const char* what,
                     std::uint64_t patience_ns) = 0;
  // A watched `done` has become true.
  virtual void changed() = 0;
  // Destroys the member.
  virtual void remove(Member& member) = 0;

 protected:
  ~MemberOwner() = default;
};

// One worker's channel as the communicator sees it. Posts copies of the worker's batches and calls on the
// shared channel: the worker's own are touched only to read what they ask for, and to store a call's reply.
class Member final : private reactor::TurnHook {
 public:
  Member(MemberOwner& owner, std::shared_ptr<SharedConnection> connection, std::size_t id,
         ParcelInbox* channel, reactor::Mailbox* inbox);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  ~Member() override;

  std::size_t id() const { return id_; }
  // Posts all of it; the parcel comes back.
  void take(Parcel* parcel);
  // Nothing of the worker's is touched any more when `closed` is released, and all has completed. The member
  // is gone then.
  void close(std::binary_semaphore* closed);
  // Sends the connection's facts to the worker's channel.
  void send_facts();
  // It posts nothing more, and leaves when its posted requests have taken effect.
  void fail(const Status& status);

 private:
  class RelayedBatch;
  struct RelayedCall;

  void end_of_turn() override;
  void schedule();
  void post(Batch& batch);
  void post(Call& call);
  static reactor::Task<void> relay(std::unique_ptr<RelayedCall> relayed);
  static reactor::Task<void> leave(std::shared_ptr<SharedConnection> connection, std::size_t id);
  Status refuse(std::span<const Operation> operations);
  void finish(Batch* batch, Call* call, const Status& status);
  void deliver();

  MemberOwner& owner_;
  std::shared_ptr<SharedConnection> connection_;
  std::size_t id_;
  ParcelInbox* channel_;
  reactor::Mailbox* inbox_;
  Status failure_;
  bool scheduled_ = false;
  bool left_ = false;
  std::binary_semaphore* closed_ = nullptr;
  std::shared_ptr<bool> drained_ = std::make_shared<bool>(false);
  std::size_t in_flight_ = 0;  // batches
  std::vector<std::unique_ptr<RelayedBatch>> free_batches_;
  std::vector<RelayedCall*> running_calls_;
  std::unique_ptr<Parcel> done_;                // to be delivered
  std::vector<std::unique_ptr<Parcel>> spare_;  // empty
};

}  // namespace namdb::fabric::verbs

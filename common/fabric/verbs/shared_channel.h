// A worker's channel over a queue pair that the communicator owns. The posts of a turn are handed over at its
// end. On the worker's thread.
#pragma once

#include <memory>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/facts.h"
#include "common/fabric/verbs/parcel.h"
#include "common/reactor/mailbox.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {

class Member;

class SharedChannel final : public Channel, public ParcelInbox, private reactor::TurnHook {
 public:
  // Messages for the communicator go into its mailbox, and those for this worker come by `inbox`.
  SharedChannel(reactor::Reactor& reactor, LocalPool& pool, reactor::Mailbox& inbox,
                reactor::Mailbox& communicator);
  ~SharedChannel() override;
  // Before anything is posted.
  void open(Member* member, bool atomics_with_cpu);

  bool atomics_with_cpu() const override { return atomics_with_cpu_; }
  bool failed() const override { return !failure_.ok(); }
  void give_up(Status reason) override;
  LocalPool& pool() override { return pool_; }
  // The connection's part is what the communicator said the last time; it is asked again.
  void describe(Facts& facts) const override;

  // From the inbox.
  void take_back(Parcel* parcel) override;
  void set_facts(const Facts& facts) override { facts_ = facts; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  void end_of_turn() override;
  void hand_over(Parcel::Item item);

  reactor::Reactor& reactor_;
  LocalPool& pool_;
  reactor::Mailbox& inbox_;
  reactor::Mailbox& communicator_;
  Member* member_ = nullptr;  // the communicator's
  bool atomics_with_cpu_ = false;
  bool scheduled_ = false;
  Status failure_;
  Facts facts_;
  std::unique_ptr<Parcel> outgoing_;
  std::vector<std::unique_ptr<Parcel>> spare_;  // empty
};

}  // namespace namdb::fabric::verbs

// The channel to a memory server that was away when the others were connected: everything that is posted ends
// at once, in the error that says so.
#pragma once

#include <utility>

#include "common/fabric/fabric.h"
#include "common/fabric/facts.h"

namespace namdb::txn {

class AwayChannel final : public fabric::Channel {
 public:
  AwayChannel(reactor::Executor& executor, fabric::LocalPool& pool, Status reason)
      : fabric::Channel(executor), pool_(pool), reason_(std::move(reason)) {}

  bool atomics_with_cpu() const override { return false; }
  bool failed() const override { return true; }
  void give_up(Status /*reason*/) override {}
  fabric::LocalPool& pool() override { return pool_; }
  void describe(fabric::Facts& facts) const override { facts.say("error", reason_.message()); }

 private:
  void do_post(fabric::Batch& batch) override { end(batch); }
  void do_post(fabric::Call& call) override { end(call); }
  void end(fabric::Completion& completion) {
    completion.begin();
    completion.complete(executor(), reason_);
  }

  fabric::LocalPool& pool_;
  Status reason_;
};

}  // namespace namdb::txn

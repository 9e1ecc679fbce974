// The client's end of one connection. Reactor's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/queue.h"
#include "common/fabric/verbs/link.h"
#include "common/fabric/verbs/wire.h"

namespace namdb::fabric::verbs {

class VerbsChannel final : public Channel, private LinkHandler, private reactor::TurnHook {
 public:
  VerbsChannel(reactor::Reactor& reactor, LocalPool& pool, std::unique_ptr<Link> link,
               const RegionAccess& access);
  ~VerbsChannel() override;
  void start() { link_->start(*this); }

  bool atomics_with_cpu() const override { return atomics_with_cpu_; }
  bool failed() const override { return !failure_.ok(); }
  LocalPool& pool() override { return pool_; }
  const EndpointCounters& endpoint_counters() { return link_->endpoint().counters(); }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  void on_message(const MessageHeader& header, std::string payload) override;
  void on_lost(Status status) override;
  void end_of_turn() override { finish(); }

  // Sends what the window allows.
  void send_calls();
  void fail(Status status);
  // After a failure: lets go of the queue pair, then completes all that is pending.
  void finish();

  reactor::Reactor& reactor_;
  LocalPool& pool_;
  std::unique_ptr<Link> link_;
  bool atomics_with_cpu_;
  Status failure_;
  bool finished_ = false;
  Queue<Call*> waiting_;  // for the window
  std::size_t running_ = 0;
  std::size_t running_bytes_ = 0;  // of their requests
  std::vector<Call*> calls_;       // by id; null when the id is free
  std::vector<std::uint32_t> free_calls_;
};

}  // namespace namdb::fabric::verbs

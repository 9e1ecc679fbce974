// The memory server's own channel to its region: a queue pair of its device that is connected to another one
// of the same device, so that its atomics are atomic with those of the peers. Calls go to the service as peer
// 0. Posts before open() wait for it.
#pragma once

#include <vector>

#include "common/fabric/fabric.h"
#include "common/fabric/served_region.h"
#include "common/fabric/verbs/endpoint.h"
#include "common/reactor/reactor.h"

namespace namdb::fabric::verbs {

class LoopbackChannel final : public Channel, private EndpointHandler, private reactor::TurnHook {
 public:
  LoopbackChannel(reactor::Reactor& reactor, ServedRegion& served);
  ~LoopbackChannel() override;

  // `gid` is the address of the port on the fabric. Errors (configuration).
  Status open(Device& device, std::uint8_t port, const ibv_gid& gid, std::uint32_t region_key,
              std::uint32_t send_queue_depth);
  // Pending and later posts complete with the status. Before the device goes away.
  void close(Status status);

  bool atomics_with_cpu() const override {
    return device_ != nullptr && device_->attributes().atomic_cap == IBV_ATOMIC_GLOB;
  }
  bool failed() const override { return !failure_.ok(); }
  LocalPool& pool() override { return pool_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override { served_.run_own(call); }

 private:
  struct Chunk {
    std::byte* base;
    std::size_t length_bytes;
  };

  void on_message(const MessageHeader&, std::string) override {}
  void on_broken(Status status) override;
  void end_of_turn() override;
  void submit(Batch& batch);
  Status connect(Endpoint& from, Endpoint& to, std::uint8_t port, const ibv_gid& gid);

  reactor::Reactor& reactor_;
  ServedRegion& served_;
  Device* device_ = nullptr;
  std::vector<Chunk> chunks_;
  LocalPool pool_;
  std::unique_ptr<Endpoint> requester_;
  std::unique_ptr<Endpoint> responder_;
  std::vector<Batch*> waiting_;
  Status failure_;
  bool finish_scheduled_ = false;
};

}  // namespace namdb::fabric::verbs

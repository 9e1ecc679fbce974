// The memory server's own channel to its region: the same atomics that it executes its peers' requests with,
// at once. Calls go to the service as peer 0. Offsets that do not fit are the server's own error and end it.
#pragma once

#include <cstddef>
#include <span>

#include "common/fabric/fabric.h"
#include "common/reactor/executor.h"

namespace namdb::fabric::tcp {

class TcpServerFabric;

class LoopbackChannel final : public Channel {
 public:
  explicit LoopbackChannel(TcpServerFabric& server);

  bool atomics_with_cpu() const override { return true; }
  bool failed() const override { return false; }
  LocalPool& pool() override { return pool_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override;

 private:
  reactor::Task<void> run_call(Call* call);

  TcpServerFabric& server_;
  LocalPool pool_;
};

}  // namespace namdb::fabric::tcp

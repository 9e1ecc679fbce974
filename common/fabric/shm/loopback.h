// The memory server's own channel: operations on its mapping, calls to its own service (as peer 0).
#pragma once

#include "common/fabric/fabric.h"
#include "common/fabric/served_region.h"

namespace namdb::fabric::shm {

class LoopbackChannel final : public Channel {
 public:
  explicit LoopbackChannel(ServedRegion& served);

  bool atomics_with_cpu() const override { return true; }
  bool failed() const override { return failed_; }
  LocalPool& pool() override { return pool_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override { served_.run_own(call); }

 private:
  ServedRegion& served_;
  LocalPool pool_;
  bool failed_ = false;
};

}  // namespace namdb::fabric::shm

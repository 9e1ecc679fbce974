// The memory server's own channel to its region, where its CPU is the atomicity domain: it executes its
// peers' requests, or no peer swaps words. At once. Calls go to the service as peer 0. Offsets that do not
// fit are the server's own error and end it.
#pragma once

#include "common/fabric/fabric.h"
#include "common/fabric/served_region.h"

namespace namdb::fabric {

class CpuChannel final : public Channel {
 public:
  explicit CpuChannel(ServedRegion& served);

  bool atomics_with_cpu() const override { return true; }
  bool failed() const override { return false; }
  LocalPool& pool() override { return pool_; }

 protected:
  void do_post(Batch& batch) override;
  void do_post(Call& call) override { served_.run_own(call); }

 private:
  ServedRegion& served_;
  LocalPool pool_;
};

}  // namespace namdb::fabric

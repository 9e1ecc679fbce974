// The messages between a worker and the communicator, in both directions, by their mailboxes.
#pragma once

#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"
#include "common/fabric/facts.h"

namespace namdb::fabric::verbs {

// The batches and calls that one turn brought, begun; or back again, with how they ended. An item of neither
// says that the channel has failed.
struct Parcel {
  struct Item {
    Batch* batch = nullptr;
    Call* call = nullptr;
    Status status;
  };
  std::vector<Item> items;
};

// A worker's channel, as the communicator sees it. On the worker's thread.
class ParcelInbox {
 public:
  // Completes what is in the parcel, and owns it from now on.
  virtual void take_back(Parcel* parcel) = 0;
  // The connection's facts, for people.
  virtual void set_facts(const Facts& facts) = 0;

 protected:
  ~ParcelInbox() = default;
};

}  // namespace namdb::fabric::verbs

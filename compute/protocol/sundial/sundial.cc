#include "compute/protocol/sundial/sundial.h"

#include "compute/txn/worker_protocol.h"

namespace namdb::protocol {

std::unique_ptr<WorkerProtocol> make_sundial_protocol(txn::WorkerState& /*worker*/) {
  return std::make_unique<UnsharedProtocol<Sundial>>();
}

}  // namespace namdb::protocol

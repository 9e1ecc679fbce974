// The protocols that common/protocols/protocol_list.h lists, by name.
#pragma once

#include <memory>
#include <string_view>

#include "common/protocols/protocol.h"
#include "compute/txn/worker_protocol.h"

namespace namdb::protocol {

// The protocol of that name (common/protocols/protocol.h), as the worker runs it; null if there is none.
// The worker's state outlives it.
std::unique_ptr<WorkerProtocol> make_protocol(std::string_view name, txn::WorkerState& worker);

// For tests: one protocol more, as long as it lives. One at a time; made before make_protocol() is called,
// and outlived by `traits`.
class ExtraProtocol {
 public:
  ExtraProtocol(const ProtocolTraits& traits, MakeProtocol make);
  ExtraProtocol(const ExtraProtocol&) = delete;
  ExtraProtocol& operator=(const ExtraProtocol&) = delete;
  ~ExtraProtocol();

 private:
  ExtraTraits traits_;
};

}  // namespace namdb::protocol

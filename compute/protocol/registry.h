// The protocols that common/protocols/protocol_list.h lists, by name.
#pragma once

#include <string_view>

#include "common/protocols/protocol.h"
#include "compute/txn/make_control.h"

namespace namdb::protocol {

// The function that makes the concurrency control of each transaction under the protocol of that name
// (common/protocols/protocol.h); null if there is none.
MakeControl find_control(std::string_view name);

// For tests: one protocol more, as long as it lives. One at a time; made before find_control() is called, and
// outlived by `traits`.
class ExtraProtocol {
 public:
  ExtraProtocol(const ProtocolTraits& traits, MakeControl make);
  ExtraProtocol(const ExtraProtocol&) = delete;
  ExtraProtocol& operator=(const ExtraProtocol&) = delete;
  ~ExtraProtocol();

 private:
  ExtraTraits traits_;
};

}  // namespace namdb::protocol

// The rules of the protocols that common/layout/protocol_list.h lists, by name.
#pragma once

#include <string_view>

#include "common/layout/protocol.h"
#include "compute/txn/staged_transaction.h"

namespace namdb::protocol {

// What makes the rules of each transaction of the protocol of that name (common/layout/protocol.h); null if
// there is none.
MakeRules find_rules(std::string_view name);

// For tests: one protocol more, as long as it lives. One at a time; made before anybody asks, and outlived by
// `traits`.
class ExtraProtocol {
 public:
  ExtraProtocol(const layout::ProtocolTraits& traits, MakeRules make);
  ExtraProtocol(const ExtraProtocol&) = delete;
  ExtraProtocol& operator=(const ExtraProtocol&) = delete;
  ~ExtraProtocol();

 private:
  layout::ExtraProtocol traits_;
};

}  // namespace namdb::protocol

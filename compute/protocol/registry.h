// The protocols that this compute server can run: one line each in registry.cc.
#pragma once

#include <string_view>

#include "compute/protocol/stages/transaction.h"

namespace namdb::protocol {

// What makes the rules of each transaction of the protocol of that name (common/layout/protocol.h); null if
// there is none.
MakeRules find_rules(std::string_view name);

// For tests: what layout::ExtraProtocol is to the traits. The name outlives it.
class ExtraRules {
 public:
  ExtraRules(std::string_view name, MakeRules make);
  ExtraRules(const ExtraRules&) = delete;
  ExtraRules& operator=(const ExtraRules&) = delete;
  ~ExtraRules();
};

}  // namespace namdb::protocol

// How a protocol makes the rules of one transaction: a function each, make_<name>_rules, that its folder
// defines.
#pragma once

#include <memory>

#include "common/layout/protocol_list.h"

namespace namdb::protocol {

class Rules;
class StagedTransaction;

// The transaction outlives its rules.
#define NAMDB_DECLARE_RULES(name, ...) \
  std::unique_ptr<Rules> make_##name##_rules(StagedTransaction& transaction);
NAMDB_PROTOCOLS(NAMDB_DECLARE_RULES)
#undef NAMDB_DECLARE_RULES

}  // namespace namdb::protocol

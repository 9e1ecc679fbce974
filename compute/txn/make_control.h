// How a protocol makes the concurrency control of one transaction: a function each, make_<name>_control,
// which its folder defines.
#pragma once

#include <memory>

#include "common/protocols/protocol_list.h"

namespace namdb::protocol {

class ConcurrencyControl;
class TransactionState;

using MakeControl = std::unique_ptr<ConcurrencyControl> (*)(TransactionState& transaction);

// The transaction outlives its concurrency control.
#define NAMDB_DECLARE_CONTROL(name, ...) \
  std::unique_ptr<ConcurrencyControl> make_##name##_control(TransactionState& transaction);
NAMDB_PROTOCOLS(NAMDB_DECLARE_CONTROL)
#undef NAMDB_DECLARE_CONTROL

}  // namespace namdb::protocol

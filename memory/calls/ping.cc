// PING (common/calls/hot_calls.h).
#include "memory/calls/methods.h"

namespace namdb::memory::handlers {

Status ping(const Call& /*call*/) {
  return Status();
}

}  // namespace namdb::memory::handlers

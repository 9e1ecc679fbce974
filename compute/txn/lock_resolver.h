// Reports of locks that transactions meet: a transaction reports the lock and goes on (waits or aborts). A
// lock that is met again and again is checked in the background: if its slot is closed, it is undone.
#pragma once

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"
#include "compute/api/table.h"

namespace namdb::txn {

class LockResolver {
 public:
  virtual ~LockResolver() = default;
  // `word` was seen locked at `address`: a record's header word (then `body_bytes` is that of its table), a
  // bucket chain's lock word (0), or one of a record's reader words (kReaderWord).
  static constexpr std::uint32_t kReaderWord = ~std::uint32_t{0};
  virtual void note(layout::GlobalAddress address, layout::HeaderWord word, std::uint32_t body_bytes) = 0;
};

}  // namespace namdb::txn

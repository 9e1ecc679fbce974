// The bucket chains whose locks a commit holds, as the validation of its reads needs them. A lock of its own
// does not conflict: the chain counts as it was before it was locked.
#pragma once

#include <optional>

#include "common/layout/global_address.h"
#include "common/layout/stamp.h"

namespace namdb::protocol {

class HeldChains {
 public:
  // The lock word of the chain of that main bucket before it was locked; nullopt: it is not held.
  virtual std::optional<layout::HeaderWord> taken_from(layout::GlobalAddress main) const = 0;
  // Whether the commit inserts no row into any chain.
  virtual bool empty() const = 0;

 protected:
  HeldChains() = default;
  HeldChains(const HeldChains&) = delete;
  HeldChains& operator=(const HeldChains&) = delete;
  ~HeldChains() = default;
};

}  // namespace namdb::protocol

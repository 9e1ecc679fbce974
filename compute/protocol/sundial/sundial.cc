#include "compute/protocol/sundial/sundial.h"

#include "compute/txn/make_control.h"

namespace namdb::protocol {

std::unique_ptr<ConcurrencyControl> make_sundial_control(TransactionState& transaction) {
  return std::make_unique<Sundial>(transaction);
}

}  // namespace namdb::protocol

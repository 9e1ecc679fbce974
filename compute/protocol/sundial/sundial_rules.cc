#include "compute/protocol/sundial/sundial_rules.h"

#include "compute/txn/make_rules.h"

namespace namdb::protocol {

std::unique_ptr<Rules> make_sundial_rules(StagedTransaction& transaction) {
  return std::make_unique<SundialRules>(transaction);
}

}  // namespace namdb::protocol

#include "common/fabric/sim/graveyard.h"

#include <vector>

namespace namdb::fabric::sim {

void bury_pointer(const void* object) {
  static auto& graveyard = *new std::vector<const void*>();
  graveyard.push_back(object);
}

}  // namespace namdb::fabric::sim

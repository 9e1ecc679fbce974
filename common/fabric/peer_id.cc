#include <atomic>

#include "common/fabric/fabric.h"

namespace namdb::fabric {

PeerId next_peer_id() {
  static std::atomic<PeerId> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace namdb::fabric

// A memory server's knowledge of the timestamp vector: the commits that it has seen published. Server 0 reads
// the words that it has itself (slots.h). Of all others, memory servers learn from copies that workers send
// with their heartbeats. The answer "not yet" is always safe.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <cstdint>
#include <string_view>

#include "common/layout/stamp.h"

namespace namdb::memory {

class Visibility {
 public:
  virtual ~Visibility() = default;
  // True if the commit is known to be published.
  virtual bool published(layout::Stamp stamp) const = 0;
};

class CopiedVisibility final : public Visibility {
 public:
  // The words of one snapshot of the vector, raw, and where it is partitioned a word for each slot that it
  // lacks and that is not retired (HeartbeatRequest::vector_copy). False when the bytes cannot be one.
  bool learn(std::string_view vector_words);
  bool published(layout::Stamp stamp) const override;

 private:
  absl::flat_hash_map<std::uint32_t, std::uint32_t> counters_;  // highest counter seen, by slot
  // Slot ids ascend and a leased slot stands in copies from its first moment on. So a slot that a copy
  // lacks, while it has a later one, is closed and retired: all its commits are published.
  absl::flat_hash_set<std::uint32_t> last_copy_;
  std::uint32_t last_slot_ = 0;  // the greatest one of the last copy
};

}  // namespace namdb::memory

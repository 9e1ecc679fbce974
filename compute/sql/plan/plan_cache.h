// The plans that sessions of one worker hold, by the statement's text and the types of its parameters: a
// session that prepares what another one has prepared shares its plan, and nothing is parsed. The cache keeps
// no plan alive. Belongs to its worker's executor.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/types/span.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compute/sql/plan/plan.h"

namespace namdb::sql {

class PlanCache {
 public:
  // Null when no session has it. The caller checks whether it is of the current catalog.
  std::shared_ptr<const Plan> find(std::string_view text, absl::Span<const Oid> parameters) const;
  void add(std::string_view text, absl::Span<const Oid> parameters, const std::shared_ptr<const Plan>& plan);

 private:
  using Key = std::pair<std::string, std::vector<Oid>>;
  using KeyView = std::pair<std::string_view, absl::Span<const Oid>>;
  // A look-up neither copies the text nor allocates.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const KeyView& key) const { return absl::HashOf(key); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const KeyView& left, const KeyView& right) const { return left == right; }
  };
  absl::flat_hash_map<Key, std::weak_ptr<const Plan>, Hash, Equal> plans_;
  std::size_t sweep_at_ = 64;
};

}  // namespace namdb::sql

#include "tools/namsim/mutants/mutants.h"

namespace namdb::sim {

std::vector<MutantCase> all_mutants() {
  std::vector<MutantCase> all;
  for (const auto& family :
       {snapshot_mutants(), version_mutants(), search_mutants(), lock_mutants(), journal_mutants(),
        publish_mutants(), slot_mutants(), deciding_mutants(), collection_mutants(), reuse_mutants(),
        conflict_mutants(), growth_mutants(), paused_mutants(), serializable_mutants(), index_mutants(),
        partitioned_vector_mutants(), durability_mutants(), stage_mutants()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace namdb::sim

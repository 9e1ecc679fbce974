#include "compute/protocol/registry.h"

#include <algorithm>
#include <array>

#include "compute/protocol/locking/locking_rules.h"
#include "compute/protocol/locking/waitdie_rules.h"
#include "compute/protocol/multiversion/multiversion_rules.h"
#include "compute/protocol/optimistic/optimistic_rules.h"
#include "compute/protocol/snapshot_isolation/snapshot_rules.h"
#include "compute/protocol/sundial/sundial_rules.h"

namespace namdb::protocol {
namespace {

template <typename R>
std::unique_ptr<Rules> make(StagedTransaction& transaction) {
  return std::make_unique<R>(transaction);
}

struct Entry {
  std::string_view name;
  MakeRules make;
};

constexpr std::array kProtocols = {
    Entry{"si", &make<SnapshotRules>},       Entry{"occ", &make<OptimisticRules>},
    Entry{"nowait", &make<NoWaitRules>},     Entry{"waitdie", &make<WaitDieRules>},
    Entry{"mvcc", &make<MultiversionRules>}, Entry{"sundial", &make<SundialRules>},
};

Entry extra{};

}  // namespace

MakeRules find_rules(std::string_view name) {
  if (extra.make != nullptr && extra.name == name) return extra.make;
  const auto* const found = std::ranges::find(kProtocols, name, &Entry::name);
  return found == kProtocols.end() ? nullptr : found->make;
}

ExtraRules::ExtraRules(std::string_view name, MakeRules make) {
  extra = {name, make};
}

ExtraRules::~ExtraRules() {
  extra = {};
}

}  // namespace namdb::protocol

#include "compute/protocol/registry.h"

#include <algorithm>
#include <array>

#include "common/layout/protocol_list.h"
#include "compute/txn/make_rules.h"

namespace namdb::protocol {
namespace {

struct Entry {
  std::string_view name;
  MakeRules make;
};

#define NAMDB_ENTRY(protocol, ...) Entry{#protocol, &make_##protocol##_rules},
constexpr std::array kProtocols = {NAMDB_PROTOCOLS(NAMDB_ENTRY)};
#undef NAMDB_ENTRY

Entry extra{};

}  // namespace

MakeRules find_rules(std::string_view name) {
  if (extra.make != nullptr && extra.name == name) return extra.make;
  const auto* const found = std::ranges::find(kProtocols, name, &Entry::name);
  return found == kProtocols.end() ? nullptr : found->make;
}

ExtraProtocol::ExtraProtocol(const layout::ProtocolTraits& traits, MakeRules make) : traits_(traits) {
  extra = {traits.name, make};
}

ExtraProtocol::~ExtraProtocol() {
  extra = {};
}

}  // namespace namdb::protocol

#include "compute/protocol/registry.h"

#include <algorithm>
#include <array>

#include "common/protocols/protocol_list.h"

namespace namdb::protocol {
namespace {

struct Entry {
  std::string_view name;
  MakeProtocol make;
};

#define NAMDB_ENTRY(protocol, ...) Entry{#protocol, &make_##protocol##_protocol},
constexpr std::array kProtocols = {NAMDB_PROTOCOLS(NAMDB_ENTRY)};
#undef NAMDB_ENTRY

Entry extra{};

}  // namespace

std::unique_ptr<WorkerProtocol> make_protocol(std::string_view name, txn::WorkerState& worker) {
  if (extra.make != nullptr && extra.name == name) return extra.make(worker);
  const auto* const found = std::ranges::find(kProtocols, name, &Entry::name);
  return found == kProtocols.end() ? nullptr : found->make(worker);
}

ExtraProtocol::ExtraProtocol(const ProtocolTraits& traits, MakeProtocol make) : traits_(traits) {
  extra = {traits.name, make};
}

ExtraProtocol::~ExtraProtocol() {
  extra = {};
}

}  // namespace namdb::protocol

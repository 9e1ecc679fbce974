#include "compute/protocol/registry.h"

#include <algorithm>
#include <array>

#include "common/protocols/protocol_list.h"

namespace namdb::protocol {
namespace {

struct Entry {
  std::string_view name;
  MakeControl make;
};

#define NAMDB_ENTRY(protocol, ...) Entry{#protocol, &make_##protocol##_control},
constexpr std::array kProtocols = {NAMDB_PROTOCOLS(NAMDB_ENTRY)};
#undef NAMDB_ENTRY

Entry extra{};

}  // namespace

MakeControl find_control(std::string_view name) {
  if (extra.make != nullptr && extra.name == name) return extra.make;
  const auto* const found = std::ranges::find(kProtocols, name, &Entry::name);
  return found == kProtocols.end() ? nullptr : found->make;
}

ExtraProtocol::ExtraProtocol(const ProtocolTraits& traits, MakeControl make) : traits_(traits) {
  extra = {traits.name, make};
}

ExtraProtocol::~ExtraProtocol() {
  extra = {};
}

}  // namespace namdb::protocol

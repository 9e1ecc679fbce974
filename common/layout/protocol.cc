#include "common/layout/protocol.h"

#include <algorithm>
#include <array>

namespace namdb::layout {
namespace {

constexpr std::array kProtocols = {
    ProtocolTraits{.name = kDefaultProtocol,
                   .description = "snapshot isolation, with a timestamp vector and old versions (NAM-DB)"},
    ProtocolTraits{.name = "occ",
                   .description = "optimistic: reads are validated at commit (DrTM+H)",
                   .serializable = true,
                   .single_version = true},
    ProtocolTraits{.name = "nowait",
                   .description = "two-phase locking: who meets a lock aborts (RCC)",
                   .serializable = true,
                   .single_version = true},
    ProtocolTraits{.name = "waitdie",
                   .description = "two-phase locking: the older one waits, the younger one aborts (RCC)",
                   .serializable = true,
                   .single_version = true},
    ProtocolTraits{.name = "mvcc",
                   .description = "ordered by timestamps, with the last versions in the record (RCC)",
                   .serializable = true,
                   .timestamps = true,
                   .strict = false,
                   .by_clocks = true},
    ProtocolTraits{.name = "sundial",
                   .description = "logical leases, renewed at commit; the timestamp is found then (SUNDIAL)",
                   .serializable = true,
                   .single_version = true,
                   .timestamps = true,
                   .strict = false},
};

}  // namespace

std::span<const ProtocolTraits> protocol_traits() {
  return kProtocols;
}

const ProtocolTraits* find_protocol(std::string_view name) {
  const auto* const found = std::ranges::find(kProtocols, name, &ProtocolTraits::name);
  return found == kProtocols.end() ? nullptr : found;
}

}  // namespace namdb::layout

#include "common/fabric/registry.h"

#include <algorithm>

namespace namdb::fabric {

void TransportRegistry::add(Transport transport) {
  NAMDB_CHECK(!find(transport.name).ok());
  transports_.push_back(std::move(transport));
}

Result<const Transport*> TransportRegistry::find(std::string_view name) const {
  std::string known;
  for (const Transport& transport : transports_) {
    if (transport.name == name) return &transport;
    known += (known.empty() ? "" : ", ") + transport.name;
  }
  return Status(ErrorCode::configuration, "no transport is called '" + std::string(name) + "'",
                "there are: " + known);
}

Result<const Transport*> TransportRegistry::for_address(std::string_view address) const {
  std::string known;
  for (const Transport& transport : transports_) {
    if (transport.accepts(address)) return &transport;
    known += (known.empty() ? "" : ", ") + transport.address_form + " (" + transport.name + ")";
  }
  return Status(ErrorCode::configuration, "no transport takes the address '" + std::string(address) + "'",
                "addresses are: " + known);
}

}  // namespace namdb::fabric

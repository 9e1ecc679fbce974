// Transports by name. Concrete transports are named only in composition roots, which fill a registry; all
// else asks it for `shm`, `tcp` or `verbs`, or for the one that an address belongs to. The fabrics that an
// entry makes live on the executor that the entry was made for.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/fabric/fabric.h"

namespace namdb::fabric {

// A memory server's region, as a transport needs it. `descriptor` is its memfd (shm passes it to peers), or
// -1. `capacity_bytes` is the address space that is reserved for growth, at least `length_bytes`.
struct ServerRegion {
  std::byte* base = nullptr;
  std::size_t length_bytes = 0;
  std::size_t capacity_bytes = 0;
  int descriptor = -1;
};

struct Transport {
  std::string name;
  // The form of this transport's addresses, for messages: "unix:PATH".
  std::string address_form;
  std::function<bool(std::string_view address)> accepts;
  std::function<std::unique_ptr<ClientFabric>()> make_client;
  std::function<std::unique_ptr<ServerFabric>(const ServerRegion& region, Service& service)> make_server;
};

class TransportRegistry {
 public:
  // Names are unique.
  void add(Transport transport);
  // Errors (configuration) name the transports that there are.
  Result<const Transport*> find(std::string_view name) const;
  Result<const Transport*> for_address(std::string_view address) const;
  const std::vector<Transport>& transports() const { return transports_; }

 private:
  std::vector<Transport> transports_;
};

}  // namespace namdb::fabric
